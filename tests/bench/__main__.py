"""`python -m tests.bench`: runs the measurements that are asked for, and shows the table."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from rich.console import Console

from tests.bench import report
from tests.bench.command_line import measure_command_line
from tests.bench.cycle import Cycle
from tests.bench.deciding import measure_decide
from tests.bench.fleets.environments import measure_environments
from tests.bench.measure import Measurements, measure_restart
from tests.bench.pull_requests import measure_pull_requests
from tests.bench.rows import KEYS, Row
from tests.bench.scale.dashboard import measure_dashboard
from tests.bench.scale.page import write_scale
from tests.bench.scale.rows import GROWTH, measure_scale
from tests.bench.scale.streams import measure_streams
from tests.bench.stage import QUICK, Size, Stage, control_plane_stage, sandbox_stage, watching
from tests.support.cluster.control_plane import HOW_TO_GET_THEM, assets

_Make = Callable[[Size], AbstractContextManager[Stage]]
_ALONE = frozenset(("decide", "forge", "command-line", "dashboard", "environments"))
"""They need no cluster that was filled for them."""
_ON_A_CLUSTER = frozenset(KEYS) - _ALONE - {"unchanged", "scale"}
_ON_ONE_STAGE = frozenset(KEYS) - _ALONE - {"scale"}
"""They share a stage with other rows; `scale` makes one for each number of apps."""
_CONTROL_PLANE_APPS = 1_200
"""The real one is filled by an agent, app by app: ten thousand would take most of an hour."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report; 0 even where a budget is missed: the table says so."""
    options = _options(arguments)
    console = Console(stderr=options.output == "json")
    rows = list(_measure(options, console))
    if options.output == "json":
        sys.stdout.write(report.as_json(rows) + "\n")
    else:
        report.print_table(rows, Console(width=max(console.width, 160)))
    if options.write_docs:
        _write_docs(rows)
    return 0


def _write_docs(rows: Sequence[Row]) -> None:
    """Put each table into the page that has rows: the others stay as they are."""
    scale = [row for row in rows if row.key == "scale"]
    others = [row for row in rows if row.key != "scale"]
    if scale:
        write_scale(scale, report.PAGE)
    if others:
        report.write_page(others)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=KEYS, default=KEYS, metavar="ROW", help=", ".join(KEYS))
    parser.add_argument("--apps", type=int, help="how many apps, instead of 10,000 and 1,200 on a control plane")
    parser.add_argument("--cluster", choices=("sandbox", "control-plane", "both"), default="both")
    parser.add_argument("--quick", action="store_true", help="few apps, few repeats: to see that it works")
    parser.add_argument("--write-docs", action="store_true", help="put all of it into docs/reference/performance.md")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    return parser.parse_args(arguments)


def _measure(options: argparse.Namespace, console: Console) -> Iterator[Row]:
    only = frozenset(options.only)
    size = QUICK if options.quick else Size()
    if "decide" in only:
        yield from measure_decide()
    if "forge" in only:
        yield from measure_pull_requests(24 if options.quick else 1_000)
    if "command-line" in only:
        yield from measure_command_line(1 if options.quick else 5)
    if "dashboard" in only:
        yield from measure_dashboard(options.apps or size.apps, 20 if options.quick else 200)
    if "environments" in only:
        yield from measure_environments(4 if options.quick else 10)
    if options.cluster != "control-plane" and only - _ALONE:
        apps = options.apps or size.apps
        if only & _ON_ONE_STAGE:
            yield from _on_sandbox(size.with_apps(apps, only), only, console)
        if "scale" in only:
            yield from measure_scale(sandbox_stage, replace(size, apps=apps))
    if options.cluster != "sandbox" and only & _ON_A_CLUSTER:
        if assets() is None:
            console.print(f"no control plane: {HOW_TO_GET_THEM}", style="yellow")
            return
        apps = options.apps or min(size.apps, _CONTROL_PLANE_APPS)
        yield from _on_stage(control_plane_stage, size.with_apps(apps, only), only, console)


def _on_sandbox(size: Size, only: frozenset[str], console: Console) -> Iterator[Row]:
    cpu: dict[int, float] = {}
    if "unchanged" in only:
        for apps in (size.apps // 100, size.apps // 10):
            smaller = size.with_apps(max(apps, size.changes), {"change"})
            for _ in _on_stage(sandbox_stage, smaller, frozenset({"change"}), console, cpu):
                pass
    wanted = only | ({"change"} if "unchanged" in only else frozenset())
    yield from _on_stage(sandbox_stage, size, wanted, console, cpu)
    if "unchanged" in only:
        least, most = min(cpu), max(cpu)
        detail = ", ".join(f"{cpu[apps]:.1f} ms with {apps:,} apps" for apps in sorted(cpu))
        work = f"cost of one change: {most:,} apps against {least:,}"
        yield Row(
            "unchanged", work, cpu[most] / cpu[least], "×", GROWTH, "sandbox", most, f"CPU of the agent: {detail}"
        )


def _on_stage(
    make: _Make, size: Size, only: frozenset[str], console: Console, cpu: dict[int, float] | None = None
) -> Iterator[Row]:
    """All rows of one stage. ``cpu`` takes the agent's milliseconds for one change, by the number of apps."""
    started = time.monotonic()
    with make(size) as stage:
        console.print(f"{stage.cluster.name}: {size.apps:,} apps in {time.monotonic() - started:.0f} s", style="dim")
        begun = time.monotonic()
        with stage.agent() as agent, watching(stage) as seen:
            measurements = Measurements(stage, size, agent, seen)
            cold = list(measurements.cold_start(begun))
            yield from (cold if "cold-start" in only else ())
            if "idle" in only:
                yield from measurements.idle()
            if "change" in only:
                row, spent = measurements.change()
                if cpu is not None:
                    cpu[size.apps] = statistics.median(spent)
                yield row
            if "streams" in only:
                yield from measure_streams(stage, size, agent, measurements)
            if "cycle" in only:
                clone = stage.remote.clone(stage.folder / "clone")
                yield from Cycle(stage, agent, seen, clone).rows(stage.unchanged(size.cycles))
            if only & {"switch", "revert"}:
                yield from measurements.switch()
            if "revert" in only:
                yield from measurements.revert()
            if "thousand" in only:
                yield from measurements.thousand()
        if "restart" in only:
            yield from measure_restart(stage, stage.unchanged(1)[0])


if __name__ == "__main__":
    sys.exit(main())

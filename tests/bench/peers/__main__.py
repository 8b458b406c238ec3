"""gitops-bg beside Argo Rollouts and Flagger: the same cycle, on one control plane, in one run. Asserts no time."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager

from rich.console import Console

from tests.bench.peers import table
from tests.bench.peers.argo_rollouts import ArgoRollouts
from tests.bench.peers.contender import Contender, Sizes
from tests.bench.peers.flagger import Flagger
from tests.bench.peers.given import ARGO_ROLLOUTS, FLAGGER
from tests.bench.peers.limits import measure_limits
from tests.bench.peers.measuring import Figure, measure
from tests.bench.peers.ours import GitopsBg
from tests.bench.peers.users import Pods
from tests.bench.stage import Size, Stage, control_plane_stage
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.cluster.control_plane import HOW_TO_GET_THEM, assets

_PEERS = ((ARGO_ROLLOUTS, ArgoRollouts, 1), (FLAGGER, Flagger, 4))
"""With how many times fewer cycles: Flagger takes more than a minute for one."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and show; 1 where there is no control plane to do it on."""
    options = _options(arguments)
    console = Console(stderr=options.output == "json")
    if assets() is None:
        console.print(f"no control plane: {HOW_TO_GET_THEM}", style="yellow")
        return 1
    size = Sizes(1, 1, 4) if options.quick else Sizes(options.cycles, options.releases, options.crowd)
    pods = Pods()
    with control_plane_stage(Size(apps=size.cycles + size.crowd, auto=size.crowd), pods) as stage:
        comparison = _compare(stage, size, pods, console)
    if options.output == "json":
        sys.stdout.write(table.as_json(comparison) + "\n")
    else:
        table.print_table(comparison, Console(width=max(console.width, 160)))
    if options.write_docs:
        table.write_page(comparison)
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.peers", description=__doc__)
    parser.add_argument("--cycles", type=int, default=20, help="how often an app goes around; a quarter for Flagger")
    parser.add_argument("--releases", type=int, default=40, help="how many an app gets in use; a quarter for Flagger")
    parser.add_argument("--crowd", type=int, default=100, help="how many apps change at once")
    parser.add_argument("--quick", action="store_true", help="one cycle, one release, four apps: to see that it works")
    parser.add_argument("--write-docs", action="store_true", help="put the table into docs/architecture/peers/speed.md")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    return parser.parse_args(arguments)


def _compare(stage: Stage, size: Sizes, pods: Pods, console: Console) -> table.Comparison:
    """One after the other, so that none takes the machine from another; what has run leaves its objects behind."""
    cluster = stage.cluster
    assert isinstance(cluster, ControlPlaneCluster)
    columns: dict[str, dict[str, Figure]] = {}
    missing = []

    def take(running: AbstractContextManager[Contender]) -> None:
        began = time.monotonic()
        with running as contender:
            columns[contender.name] = measure(contender, cluster, pods)
        console.print(f"{contender.name}: {time.monotonic() - began:.0f} s", style="dim")

    for peer, make, share in _PEERS:
        folder = peer.folder()
        if folder is None:
            columns[peer.name] = {}
            missing.append(peer.how_to_get_it)
        else:
            take(make.run(cluster, folder, size.part(share)))
    take(GitopsBg.run(stage, cluster, size))
    limits = measure_limits(stage, times=max(5, size.cycles), crowd=size.crowd)
    return table.Comparison(columns, limits, size.crowd, missing)


if __name__ == "__main__":
    sys.exit(main())

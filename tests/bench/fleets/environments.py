"""What environments cost, as counts: of one agent for one change, among ten environments against three."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.rows import Row
from tests.support.agent.fleet import chain, fleet_of, tick_of, travel_of
from tests.support.cluster.clusters import SandboxCluster

_FEW = 3


def measure_environments(many: int) -> Iterator[Row]:
    """One agent for each environment, in this process; a push goes through all of them."""
    few, more = _cost(_FEW), _cost(many)
    idle = f"git and API server together, the last of {many} environments"
    yield Row("environments", "idle tick: questions asked", len(more[0]), "", 1, "sandbox", 1, idle)
    for place, where in ((0, "the first environment"), (-1, "the last environment")):
        (git, api), (git_few, api_few) = more[1][place], few[1][place]
        detail = f"{git} processes of git and {api} requests, against {git_few} and {api_few}"
        work = f"one change in {where}: {many} environments against {_FEW}"
        yield Row("environments", work, (git + api) / (git_few + api_few), "×", 1.1, "sandbox", 1, detail)


def _cost(length: int) -> tuple[list[str], list[tuple[int, int]]]:
    """What the last agent asks when nothing has changed; and of each agent, how many processes and requests a change
    takes, but for those that depend on how busy the machine is.
    """
    with tempfile.TemporaryDirectory(prefix="gitops-bg-bench-") as name:
        folder = Path(name)
        with SandboxCluster.run(folder) as shared, fleet_of(shared, folder, *chain(length)) as fleet:
            fleet.wait_live(fleet.last, "v1")
            fleet.rest()
            idle = tick_of(fleet, fleet.last)
            costs = travel_of(fleet, "v2").values()
        return idle, [tuple(_total(each, kind) for kind in ("git ", "api ")) for each in costs]  # type: ignore[misc]


def _total(asked: dict[str, int], kind: str) -> int:
    return sum(times for what, times in asked.items() if what.startswith(kind))

"""How long `decide` takes for one app. No cluster, no Git: the function is pure."""

from __future__ import annotations

import timeit
from collections.abc import Iterator

from gitops_bg.core.engine import decide
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import Stage
from gitops_bg.core.world import World
from tests.bench.rows import Row
from tests.core import worlds

_REPEATS = 7


def measure_decide(calls: int = 500) -> Iterator[Row]:
    """A converged app that has been through three versions; and one with a candidate whose pods are coming up."""
    settled = (worlds.archived(1), worlds.legacy(2), worlds.active(3))
    yield _row("decide() on a converged app", worlds.world(*settled), calls)
    rising = (worlds.archived(1), worlds.active(2), worlds.rising(3))
    yield _row("… on an app in a rollout", worlds.world(*rising, live=2, names_=2), calls)


def _row(work: str, world: World, calls: int) -> Row:
    record = _settled(world)

    def once() -> object:
        return decide(world.spec, world.desired, world.observed, record, world.now)

    assert Stage.ACTIVE in {version.stage for version in record.versions}
    best = min(timeit.repeat(once, number=calls, repeat=_REPEATS)) / calls * 1e6
    return Row("decide", work, best, "µs", 200, detail=f"best mean of {_REPEATS} times {calls} calls")


def _settled(world: World) -> Record:
    """The record that another decision leaves as it is: an app is decided far more often than it changes."""
    record, before = world.record, None
    while record != before:
        record, before = decide(world.spec, world.desired, world.observed, record, world.now).record, record
    return record

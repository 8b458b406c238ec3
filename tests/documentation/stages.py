"""The stages of a version for people: the table of the engine (`core.model.version`) with the steps that use each way.

Which step goes which way is compared with what the steps really do (`observed`) in every world that exploration comes
to. docs/architecture/stages.md is made from it.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple
from unittest import mock

from gitops_bg.core import engine
from gitops_bg.core.model.version import NEXT, Stage, StageEvent
from gitops_bg.core.world import World
from tests.exploration.apps.passes import FOR_PEOPLE
from tests.exploration.search import explore
from tests.exploration.seed import Memory
from tests.exploration.seeds import SEEDS

DEPTH = 2
"""Events from each seed: enough for each row, in two seconds."""

NOWHERE = "–"
"""The record does not know the version: not yet, or no more."""


class Change(NamedTuple):
    """One version went from one stage to another, in one step."""

    origin: str
    goal: str
    step: str


class Row(NamedTuple):
    """All the ways from one stage to another."""

    origin: str
    goal: str
    steps: tuple[str, ...]
    when: str
    """In words, for people."""

    @property
    def events(self) -> tuple[StageEvent, ...]:
        """What happens to the version, by the table of the engine."""
        return tuple(event for (origin, event), goal in NEXT.items() if (_shown(origin), _shown(goal)) == self[:2])

    @property
    def changes(self) -> frozenset[Change]:
        """What exploration may see of it."""
        return frozenset(Change(self.origin, self.goal, step) for step in self.steps)


def _shown(stage: Stage | None) -> str:
    return NOWHERE if stage is None else str(stage)


def ways() -> frozenset[tuple[str, str]]:
    """From where to where the engine lets a version go."""
    return frozenset((_shown(origin), _shown(goal)) for (origin, _), goal in NEXT.items() if origin is not goal)


TABLE = (
    Row(
        NOWHERE,
        Stage.CANDIDATE,
        ("choose_candidate", "follow_main", "restore_record"),
        "The target names a new snapshot, or `primary.yaml` names one that the record does not know, or a ReplicaSet "
        "of a lost record is found that never served. It gets a number, a color and a rollout.",
    ),
    Row(
        NOWHERE,
        Stage.LEGACY,
        ("restore_record",),
        "The record is gone, and a ReplicaSet is found of which the ledger knows that it served.",
    ),
    Row(
        Stage.CANDIDATE,
        Stage.ACTIVE,
        ("settle_traffic", "recover_traffic"),
        "Every active Service shows it, after a switch that was decided; or, where the record is gone, each showed it "
        "all along.",
    ),
    Row(
        Stage.CANDIDATE,
        Stage.ARCHIVED,
        ("archive",),
        "It was superseded, cancelled or aborted, and its delay is over. One whose pods never came up goes at once.",
    ),
    Row(
        Stage.ACTIVE,
        Stage.LEGACY,
        ("settle_traffic", "settle_adoption"),
        "Live traffic left it: another version was promoted, or traffic went back. It stays warm. Or it was released, "
        "and the app is adopted anew.",
    ),
    Row(
        Stage.LEGACY,
        Stage.ACTIVE,
        ("settle_traffic", "recover_traffic"),
        "Traffic came back to it, through no gate but pods where nothing speaks against it; or, where the record is "
        "gone, a Service shows that traffic was there.",
    ),
    Row(
        Stage.LEGACY,
        Stage.CANDIDATE,
        ("choose_candidate", "follow_main", "answer_main"),
        "Git names it again, and no way back leads there: an old tag is pushed, a bad version is named, somebody "
        "retries it. A new rollout, through every gate.",
    ),
    Row(
        Stage.LEGACY,
        Stage.ARCHIVED,
        ("archive",),
        "Its `scaleDownDelaySeconds` are over and requests cannot reach it any more, or it is beyond "
        "`scaleDownDelayRevisionLimit`. Its ReplicaSet stays, at 0 pods.",
    ),
    Row(
        Stage.ARCHIVED,
        Stage.LEGACY,
        (
            "follow_main",
            "answer_main",
            "answer_requests",
            "process_results",
            "follow_triggers",
            "decide_switch",
        ),
        "Traffic is to go back to it: it is scaled up first.",
    ),
    Row(
        Stage.ARCHIVED,
        Stage.CANDIDATE,
        ("choose_candidate", "follow_main", "answer_main"),
        "As from legacy: Git names it again, and no way back leads there.",
    ),
    Row(
        Stage.ARCHIVED,
        NOWHERE,
        ("forget",),
        "It is one of the oldest beyond `revisionHistoryLimit`, and nothing names it: its ReplicaSet is deleted. That "
        "it served, or was bad, is still known by its digest.",
    ),
)


@cache
def observed() -> frozenset[Change]:
    """Every change of a stage that a step makes, within `DEPTH` events of every seed of exploration."""
    seen: set[Change] = set()
    steps = tuple(step if step in FOR_PEOPLE else _watched(step, seen) for step in engine.STEPS)
    with mock.patch.object(engine, "STEPS", steps):
        memory = Memory()
        for seed in SEEDS:
            explore(seed, DEPTH, memory=memory)
    return frozenset(seen)


def _watched(step: Callable[[World], World], seen: set[Change]) -> Callable[[World], World]:
    def watched(world: World) -> World:
        after = step(world)
        if after.record.versions is not world.record.versions:
            seen.update(_changes(world, after, step.__name__))
        return after

    return watched


def _changes(before: World, after: World, step: str) -> Iterator[Change]:
    old = {version.digest: str(version.stage) for version in before.record.versions}
    new = {version.digest: str(version.stage) for version in after.record.versions}
    for digest in old.keys() | new.keys():
        origin, goal = old.get(digest, NOWHERE), new.get(digest, NOWHERE)
        if origin != goal:
            yield Change(origin, goal, step)

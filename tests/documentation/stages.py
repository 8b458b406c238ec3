"""The stages of a version as a table: from where to where, by which steps of `decide`, and what makes it so.

The engine has no such table: each step says what it changes. So this one is pinned, and compared with what the steps
really do (`observed`) in every world that exploration comes to. docs/architecture/stages.md is made from it.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple
from unittest import mock

from gitops_bg.core import engine
from gitops_bg.core.model.version import Stage
from gitops_bg.core.world import World
from tests.exploration.passes import FOR_PEOPLE
from tests.exploration.search import explore
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
    label: str
    """In two or three words, for the picture."""

    @property
    def changes(self) -> frozenset[Change]:
        """What exploration may see of it."""
        return frozenset(Change(self.origin, self.goal, step) for step in self.steps)


TABLE = (
    Row(
        NOWHERE,
        Stage.CANDIDATE,
        ("choose_candidate", "follow_primary", "restore_memory"),
        "The target names a new snapshot, or `primary.yaml` names one that the record does not know, or a ReplicaSet "
        "of a lost record is found that never served. It gets a number, a colour and a rollout.",
        "pushed",
    ),
    Row(
        NOWHERE,
        Stage.LEGACY,
        ("restore_memory",),
        "The record is gone, and a ReplicaSet is found of which the ledger knows that it served.",
        "found again",
    ),
    Row(
        Stage.CANDIDATE,
        Stage.ACTIVE,
        ("settle_switch", "take_up"),
        "Every active Service shows it, after a switch that was decided; or, where the record is gone, showed it all "
        "along.",
        "promoted",
    ),
    Row(
        Stage.CANDIDATE,
        Stage.ARCHIVED,
        ("archive",),
        "It was superseded, cancelled or aborted, and its delay is over. One whose pods never came up goes at once.",
        "not wanted",
    ),
    Row(
        Stage.ACTIVE,
        Stage.LEGACY,
        ("settle_switch",),
        "Live traffic left it: another version was promoted, or traffic went back. It stays warm.",
        "left by traffic",
    ),
    Row(
        Stage.LEGACY,
        Stage.ACTIVE,
        ("settle_switch", "take_up"),
        "Traffic came back to it, through no gate but pods where nothing speaks against it; or, where the record is "
        "gone, was there.",
        "rolled back to",
    ),
    Row(
        Stage.LEGACY,
        Stage.CANDIDATE,
        ("choose_candidate", "follow_primary", "answer_retry", "answer_older_retry"),
        "Git names it again, and no way back leads there: an old tag is pushed, a bad version is named, somebody "
        "retries it. A new rollout, through every gate.",
        "wanted again",
    ),
    Row(
        Stage.LEGACY,
        Stage.ARCHIVED,
        ("archive",),
        "Its `scaleDownDelaySeconds` are over and requests cannot reach it any more, or it is beyond "
        "`scaleDownDelayRevisionLimit`. Its ReplicaSet stays, at 0 pods.",
        "delay is over",
    ),
    Row(
        Stage.ARCHIVED,
        Stage.LEGACY,
        (
            "follow_primary",
            "follow_target_revert",
            "answer_request",
            "take_hook_answers",
            "advance_analyses",
            "watch_active",
            "decide_switch",
        ),
        "Traffic is to go back to it: it is scaled up first.",
        "to go back to",
    ),
    Row(
        Stage.ARCHIVED,
        Stage.CANDIDATE,
        ("choose_candidate", "follow_primary", "answer_retry", "answer_older_retry"),
        "As from legacy: Git names it again, and no way back leads there.",
        "wanted again",
    ),
    Row(
        Stage.ARCHIVED,
        NOWHERE,
        ("forget",),
        "It is one of the oldest beyond `revisionHistoryLimit`, and nothing names it: its ReplicaSet is deleted. That "
        "it served, or was bad, is still known by its digest.",
        "forgotten",
    ),
)


@cache
def observed() -> frozenset[Change]:
    """Every change of a stage that a step makes, within `DEPTH` events of every seed of exploration."""
    seen: set[Change] = set()
    steps = tuple(step if step in FOR_PEOPLE else _watched(step, seen) for step in engine.STEPS)
    with mock.patch.object(engine, "STEPS", steps):
        for seed in SEEDS:
            explore(seed, DEPTH)
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

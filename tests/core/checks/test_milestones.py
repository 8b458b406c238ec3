"""How far a rollout got and when, and that each stage is measured once: push → available → … → settled."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from gitops_bg.core.checks.milestones import RolloutStage, passed, reached
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import Record, Rollout, RolloutOutcome
from tests.core.simulation import Simulation, deployed, manual
from tests.core.worlds import EARLIER, NOW, active, digest, world

MINUTE = timedelta(minutes=1)


def told(world: Simulation, minutes: int = 0) -> list[tuple[str, float]]:
    """Let time go on and everything happen; the stages that ended meanwhile."""
    before = world.record
    world.later(minutes=minutes)
    world.settle()
    return [(one.stage.value, one.seconds) for one in passed(before, world.record)]


def test_rollout_passes_its_milestones_one_after_the_other() -> None:
    world = deployed(manual())
    world.push("2")
    begun = world.record
    world.settle()
    assert [one.stage for one in passed(begun, world.record)] == [RolloutStage.AVAILABLE]
    assert told(world, minutes=30) == [], "it waits for people"
    world.merge()
    said = dict(told(world))
    assert list(said) == ["promoted", "switched", "settled", "total"]
    assert said["promoted"] >= 1800
    assert said["total"] >= said["promoted"]
    assert told(world, minutes=60) == [], "each is told once"


def test_book_says_when_and_by_which_commit() -> None:
    world = deployed(manual())
    world.push("2")
    world.settle()
    world.later(minutes=30)
    world.merge()
    world.settle()
    book = world.record.rollouts[-1]
    moments = [book.started_at, book.available_at, book.promoted_at, book.switched_at, book.settled_at]
    assert all(moments)
    assert moments == sorted(moments)
    assert book.commit == world.primary_source.commit


def test_rollout_that_is_given_up_gets_no_further() -> None:
    world = deployed(manual())
    world.push("2")
    world.settle()
    world.ask(OperatorCommand.ABORT)
    world.settle()
    book = world.record.rollouts[-1]
    assert book.available_at
    assert (book.promoted_at, book.switched_at, book.settled_at) == (None, None, None)


def test_rollback_measures_nothing() -> None:
    world = deployed(manual())
    world.push("2")
    world.settle()
    world.merge()
    world.settle()
    world.revert_promotion()
    assert told(world, minutes=1) == []


ROLLOUT = Rollout(7, 2, digest(2), EARLIER)
STEPS = {
    "nothing": ({}, []),
    "available": ({"available_at": EARLIER + 2 * MINUTE}, [("available", 120)]),
    "several at once": (
        {"available_at": EARLIER + 2 * MINUTE, "promoted_at": EARLIER + 5 * MINUTE},
        [("available", 120), ("promoted", 180)],
    ),
    "merged before it was available": (
        {"available_at": EARLIER + 5 * MINUTE, "promoted_at": EARLIER + 2 * MINUTE},
        [("available", 300), ("promoted", 0)],
    ),
    "a retry of what is up already": ({"available_at": EARLIER - MINUTE}, [("available", 0)]),
    "all of it": (
        {
            "available_at": EARLIER + 1 * MINUTE,
            "promoted_at": EARLIER + 2 * MINUTE,
            "switched_at": EARLIER + 4 * MINUTE,
            "settled_at": EARLIER + 8 * MINUTE,
        },
        [("available", 60), ("promoted", 60), ("switched", 120), ("settled", 240), ("total", 480)],
    ),
}


@pytest.mark.parametrize("case", STEPS)
def test_stages_of(case: str) -> None:
    moments, expected = STEPS[case]
    after = Record(rollouts=(replace(ROLLOUT, **moments),))
    assert [(one.stage, one.seconds) for one in passed(Record(), after)] == expected
    assert list(passed(after, after)) == []


def test_the_stages_of_a_rollout_add_up_to_its_total() -> None:
    done = STEPS["all of it"][0]
    records = [Record(rollouts=(replace(ROLLOUT, **dict(list(done.items())[:count])),)) for count in range(5)]
    said = [one for before, after in pairwise(records) for one in passed(before, after)]
    total = next(one for one in said if one.stage is RolloutStage.TOTAL)
    assert sum(one.seconds for one in said) == 2 * total.seconds
    assert {one.rollout for one in said} == {7}


SERVES = active(2, rollout=7, available_since=EARLIER + 2 * MINUTE, activated_at=EARLIER + 4 * MINUTE)
ROUTED = replace(SERVES, routed_at=EARLIER + 6 * MINUTE)
DONE = replace(ROLLOUT, finished_at=EARLIER + 5 * MINUTE, outcome=RolloutOutcome.PROMOTED)
REACHED = {
    "all that can be seen now": (
        (ROUTED, DONE),
        (EARLIER + 2 * MINUTE, NOW, EARLIER + 4 * MINUTE, EARLIER + 6 * MINUTE),
    ),
    "settled only once the verdict is in, too": (
        (ROUTED, replace(DONE, finished_at=EARLIER + 9 * MINUTE)),
        (EARLIER + 2 * MINUTE, NOW, EARLIER + 4 * MINUTE, EARLIER + 9 * MINUTE),
    ),
    "not settled as long as the endpoints have not followed": (
        (SERVES, DONE),
        (EARLIER + 2 * MINUTE, NOW, EARLIER + 4 * MINUTE, None),
    ),
    "what was reached stays": (
        (replace(ROUTED, available_since=NOW), replace(DONE, available_at=EARLIER, settled_at=EARLIER + 7 * MINUTE)),
        (EARLIER, None, None, EARLIER + 7 * MINUTE),
    ),
    "nothing more for one that ended badly, whatever becomes of its version": (
        (ROUTED, replace(DONE, outcome=RolloutOutcome.ABORTED)),
        (None, None, None, None),
    ),
    "nothing for an attempt whose version is tried again": (
        (replace(ROUTED, rollout=8), DONE),
        (None, None, None, None),
    ),
    "nothing for a version that is forgotten": ((active(3, rollout=7), DONE), (None, None, None, None)),
}


@pytest.mark.parametrize("case", REACHED)
def test_a_rollout_has_reached(case: str) -> None:
    (serving, rollout), expected = REACHED[case]
    after = reached(world(serving), rollout)
    assert (after.available_at, after.promoted_at, after.switched_at, after.settled_at) == expected

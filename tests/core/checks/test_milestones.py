"""What an agent measures of a rollout between two records, each stage once: push → available → … → settled."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from gitops_bg.core.model.decision import RolloutStage, StageEnd
from gitops_bg.core.model.record import Record, Rollout
from gitops_bg.core.status.events import app_events
from tests.core.simulation import APP, Simulation, deployed, manual
from tests.core.worlds import EARLIER, NOW, digest

MINUTE = timedelta(minutes=1)


def passed(before: Record, after: Record) -> list[StageEnd]:
    return [one.fact for one in app_events(APP, before, after, NOW) if isinstance(one.fact, StageEnd)]


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
    assert passed(after, after) == []


def test_the_stages_of_a_rollout_add_up_to_its_total() -> None:
    done = STEPS["all of it"][0]
    records = [Record(rollouts=(replace(ROLLOUT, **dict(list(done.items())[:count])),)) for count in range(5)]
    said = [one for before, after in pairwise(records) for one in passed(before, after)]
    total = next(one for one in said if one.stage is RolloutStage.TOTAL)
    assert sum(one.seconds for one in said) == 2 * total.seconds

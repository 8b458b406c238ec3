"""Rollback hooks are asked about what serves until its analysis after promotion is over, and their yes leads back."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from gitops_bg.core.model.decision import Phase
from gitops_bg.core.model.hooks import Hook
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.spec import AppSpec
from tests.core.simulation import Simulation, deployed, manual, template
from tests.core.transitions.test_analysis import GOOD, OPEN, PLAN, POST, PRE
from tests.core.transitions.test_hooks import ROLLBACK, hook, hooked, measure

ASKED = hook(ROLLBACK)
JUDGED = manual(post_promotion_analysis=PLAN)


def promoted(*hooks: Hook, spec: AppSpec = JUDGED) -> Simulation:
    """Version 2 serves, and its analysis after promotion runs."""
    world = deployed(hooked(spec, *hooks))
    world.push("2")
    world.settle()
    world.merge()
    world.settle()
    run = world.record.run(POST)
    assert world.live == "2"
    assert run is not None
    assert run.running
    return world


def about(world: Simulation) -> list[str]:
    """The versions that a rollback hook is asked about now."""
    world.later(seconds=31)
    world.settle()
    return [world.tags[call.checksum] for call in world.decide().calls]


def another_is_named(world: Simulation) -> None:
    world.push("3")
    world.settle()
    world.set_primary("3")


def another_is_named_and_does_not_come_up(world: Simulation) -> None:
    world.bad_tags.add("3")
    another_is_named(world)


def analysis_is_retried(world: Simulation) -> None:
    measure(world, OPEN)
    world.settle()
    world.retry()


def analysis_is_asked_for_anew(world: Simulation) -> None:
    measure(world, OPEN)
    world.settle()
    world.ask(OperatorCommand.PROMOTE)


def hook_was_away(world: Simulation) -> None:
    spec = world.spec
    world.spec = hooked(spec)
    world.settle()
    world.spec = spec


def app_is_suspended_and_the_hook_was_away(world: Simulation) -> None:
    hook_was_away(world)
    world.suspend()


def nothing_happened(_: Simulation) -> None:
    """It simply goes on."""


MEANWHILE = (
    nothing_happened,
    another_is_named,
    another_is_named_and_does_not_come_up,
    analysis_is_retried,
    analysis_is_asked_for_anew,
    hook_was_away,
    app_is_suspended_and_the_hook_was_away,
)


@pytest.mark.parametrize("meanwhile", MEANWHILE, ids=lambda each: each.__name__)
def test_rollback_hook_is_asked_about_what_serves_and_its_yes_leads_back(meanwhile: Callable[[Simulation], None]):
    world = promoted(ASKED)
    meanwhile(world)
    world.settle()
    assert "2" in about(world)
    assert world.live == "2"
    calls = [call for call in world.decide().calls if call.checksum == template("2").digest]
    world.answer({call.hook.name: 200 for call in calls})
    world.settle()
    assert world.live == "1"
    assert "2" in world.held


def test_hook_that_was_added_while_the_analysis_runs_is_asked():
    world = promoted()
    world.spec = hooked(world.spec, ASKED)
    world.settle()
    assert about(world) == ["2"]


def test_nobody_is_asked_about_what_traffic_leaves_anyway():
    world = promoted(ASKED)
    world.pods_fail("1", 0)
    world.bad_tags.add("1")
    world.set_primary("1", "revert")
    assert about(world) == []
    assert world.live == "2", "the way back has no pods yet"


def test_who_promotes_another_version_while_the_analysis_is_paused_has_seen_it():
    world = promoted(ASKED)
    measure(world, OPEN)
    world.settle()
    assert about(world) == ["2"]
    another_is_named_and_does_not_come_up(world)
    assert about(world) == ["3"]


def test_yes_that_led_away_is_not_the_answer_once_somebody_wants_something_else():
    world = promoted(ASKED)
    world.pods_fail("1", 0)
    world.bad_tags.add("1")
    world.later(seconds=31)
    world.answer({"rollback": 200})
    world.settle()
    assert (world.live, world.decide().phase) == ("2", Phase.ROLLING_BACK)
    another_is_named_and_does_not_come_up(world)
    assert sorted(about(world)) == ["2", "3"]
    world.answer({"rollback": 403})
    world.settle()
    assert (world.live, world.decide().phase) == ("2", Phase.PROMOTING)


def test_nobody_is_asked_once_the_analysis_is_over():
    world = promoted(ASKED)
    measure(world, GOOD)
    world.later(seconds=60)
    measure(world, GOOD)
    world.spec = hooked(replace(world.spec))
    world.settle()
    world.spec = hooked(world.spec, ASKED)
    assert about(world) == []


def test_candidate_is_asked_about_beside_what_serves():
    world = promoted(ASKED, spec=manual(pre_promotion_analysis=None, post_promotion_analysis=PLAN))
    world.push("3")
    world.settle()
    assert world.record.run(PRE) is None
    assert sorted(about(world)) == ["2", "3"]

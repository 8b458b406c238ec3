"""Rollback hooks are asked about what is on its way, and about what serves until its analysis after promotion is over;
their yes leads back.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.hooks import Hook
from gitops_bg.core.model.observed import OperatorCommand
from tests.core.engine.analysis.notation import OPEN, POST, PRE, judged, measure, pass_analysis
from tests.core.engine.hooks.notation import CONFIRM_ROLLOUT, ROLLBACK, answer, called, hook, hooked, pushed
from tests.core.simulation import Simulation, automatic, deployed, manual, template
from tests.core.stories import lose_pods, push, wait

ASKED = hook(ROLLBACK)


def test_it_is_asked_from_the_first_moment_on_also_while_pods_are_unready():
    sim = deployed(hooked(automatic(), ASKED))
    sim.bad_tags.add("2")
    push(sim, "2")
    assert called(sim) == ["rollback"]
    answer(sim, {"rollback": (200, "error budget is spent")})
    assert (sim.live, sim.held) == ("1", {"2"})
    assert "error budget is spent" in sim.record.holds[0].reason
    assert "asked again" not in sim.record.holds[0].reason, "it is remembered: nobody is asked any more"


def test_a_refusal_is_the_normal_state():
    sim = pushed(hook(ROLLBACK, interval=60), spec=manual())
    for _ in range(3):
        assert called(sim) == ["rollback"]
        answer(sim, {"rollback": 403})
        sim.later(seconds=60)
    assert sim.branch == "2"
    assert "hook-refused" not in sim.events()


def test_it_takes_back_a_merged_promotion_that_has_not_arrived():
    sim = pushed(ASKED, spec=manual())
    sim.pods_fail("2")
    sim.set_primary("2")
    sim.step()
    answer(sim, {"rollback": 200})
    assert (sim.live, sim.primary, sim.held) == ("1", "1", {"2"})


def test_it_is_not_asked_about_what_is_promoted_for_good():
    sim = pushed(ASKED)
    assert sim.live == "2"
    sim.later(seconds=3600)
    assert called(sim) == []


def test_a_suspension_does_not_stop_it():
    sim = pushed(ASKED, hook(CONFIRM_ROLLOUT))
    sim.suspend()
    sim.step()
    assert called(sim) == ["rollback"]


# --- while what serves is judged ---


def promoted(*hooks: Hook) -> Simulation:
    """Version 2 serves, and its analysis after promotion runs."""
    sim = judged(hooked(manual(), *hooks))
    assert sim.record.run(POST).running
    return sim


def about(sim: Simulation) -> list[str]:
    """The versions that a rollback hook is asked about now."""
    wait(sim, seconds=31)
    return [sim.tags[call.checksum] for call in sim.decide().calls]


def another_is_named(sim: Simulation) -> None:
    push(sim, "3")
    sim.set_primary("3")


def another_is_named_and_does_not_come_up(sim: Simulation) -> None:
    sim.bad_tags.add("3")
    another_is_named(sim)


def analysis_is_retried(sim: Simulation) -> None:
    measure(sim, OPEN)
    sim.retry()


def analysis_is_asked_for_anew(sim: Simulation) -> None:
    measure(sim, OPEN)
    sim.ask(OperatorCommand.PROMOTE)


def hook_was_away(sim: Simulation) -> None:
    spec = sim.spec
    sim.spec = hooked(spec)
    sim.settle()
    sim.spec = spec


def app_is_suspended_and_the_hook_was_away(sim: Simulation) -> None:
    hook_was_away(sim)
    sim.suspend()


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
def test_it_is_asked_about_what_serves_and_its_yes_leads_back(meanwhile: Callable[[Simulation], None]):
    sim = promoted(ASKED)
    meanwhile(sim)
    sim.settle()
    assert "2" in about(sim)
    assert sim.live == "2"
    calls = [call for call in sim.decide().calls if call.checksum == template("2").digest]
    answer(sim, {call.hook.name: 200 for call in calls})
    assert (sim.live, sim.primary, "2" in sim.held) == ("1", "1", True)


def test_one_that_was_added_while_the_analysis_runs_is_asked_until_it_is_over():
    sim = promoted()
    sim.spec = hooked(sim.spec, ASKED)
    sim.settle()
    assert about(sim) == ["2"]
    pass_analysis(sim)
    assert about(sim) == []
    sim.spec = hooked(replace(sim.spec))
    sim.settle()
    sim.spec = hooked(sim.spec, ASKED)
    assert about(sim) == []


def test_nobody_is_asked_about_what_traffic_leaves_anyway():
    sim = promoted(ASKED)
    lose_pods(sim, "1")
    sim.set_primary("1", "revert")
    assert about(sim) == []
    assert sim.live == "2", "the way back has no pods yet"


def test_who_promotes_another_version_while_the_analysis_is_paused_has_seen_it():
    sim = promoted(ASKED)
    measure(sim, OPEN)
    assert about(sim) == ["2"]
    another_is_named_and_does_not_come_up(sim)
    assert about(sim) == ["3"]


def test_yes_that_led_away_is_not_the_answer_once_somebody_wants_something_else():
    sim = promoted(ASKED)
    lose_pods(sim, "1")
    sim.later(seconds=31)
    answer(sim, {"rollback": 200})
    assert (sim.live, sim.decide().phase) == ("2", Phase.ROLLING_BACK)
    another_is_named_and_does_not_come_up(sim)
    assert sorted(about(sim)) == ["2", "3"]
    answer(sim, {"rollback": 403})
    assert (sim.live, sim.decide().phase) == ("2", Phase.PROMOTING)


def test_a_candidate_is_asked_about_beside_what_serves():
    sim = promoted(ASKED)
    push(sim, "3")
    assert sim.record.run(PRE) is None
    assert sorted(about(sim)) == ["2", "3"]

"""What tests a version through the preview Service counts only while that Service leads to this version alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_bg.core.model.analysis.runs import MeasurementResult
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.hooks import HookResponse, HookType
from tests.core.simulation import Simulation, automatic, deployed, manual, template
from tests.core.transitions.test_analysis import BAD, GOOD, PLAN, PRE, analysed
from tests.core.transitions.test_hooks import PRE_ROLLOUT, called, hook, hooked

ROLLOUT = HookType.ROLLOUT


def measured() -> Simulation:
    """Version 2 waits for its promotion, its acceptance test has agreed, and its analysis runs."""
    sim = deployed(hooked(manual(pre_promotion_analysis=PLAN), hook(PRE_ROLLOUT)))
    sim.push("2")
    sim.settle()
    sim.answer({"pre-rollout": 200})
    sim.settle()
    run = sim.record.run(PRE)
    assert run is not None
    assert (run.running, sim.shown) == (True, "2")
    return sim


def answer_as_the_preview(sim: Simulation) -> None:
    """Answer every measurement as a provider that asks the preview Service: all but version 2 are good."""
    verdict = BAD if sim.shown == "2" else GOOD
    due = sim.decide().measurements
    sim.measured = tuple(MeasurementResult(each.id, verdict, sim.now, "1", f"asked {sim.shown}") for each in due)
    sim.settle()
    sim.measured = ()


def measured_digests(sim: Simulation) -> set[str]:
    runs = {each.rollout: each.digest for each in sim.record.analyses.runs}
    return {runs[each.id.rollout] for each in sim.decide().measurements}


def test_nothing_is_measured_for_a_version_that_the_preview_has_left() -> None:
    sim = measured()
    sim.set_primary("9", "somebody promotes another version")
    sim.settle()
    assert sim.shown == "9"
    assert template("2").digest not in measured_digests(sim)


def test_a_version_that_gets_the_preview_back_is_measured_anew_from_the_start() -> None:
    sim = measured()
    answered = sim.decide().measurements
    sim.set_primary("9")
    sim.settle()
    sim.measured = tuple(MeasurementResult(each.id, GOOD, sim.now, "1") for each in answered)
    sim.set_primary("1", "revert")
    sim.settle()
    run = sim.record.run(PRE)
    assert run is not None
    assert (sim.shown, run.digest, run.attempt) == ("2", template("2").digest, 2)
    assert [each.successful for each in run.metrics] == [0]


def test_a_preview_that_somebody_leads_elsewhere_is_not_measured() -> None:
    sim = deployed(manual(pre_promotion_analysis=PLAN))
    sim.push("2")
    sim.settle()
    assert measured_digests(sim) == {template("2").digest}
    sim.preview = template("1").digest
    assert measured_digests(sim) == set()


WHY_UNKNOWN = ("a push broke target.yaml", "the agent is restarted while Git is down")


def without_target(sim: Simulation, why: str) -> None:
    sim.reachable = False
    if why == WHY_UNKNOWN[0]:
        sim.seen = replace(sim.seen, target=Missing.UNREADABLE)
    else:
        sim.unseen = True


@pytest.mark.parametrize("why", WHY_UNKNOWN)
def test_a_candidate_keeps_the_preview_while_the_target_is_unknown(why: str) -> None:
    """Unknown is not absent (decision 17)."""
    sim = deployed(manual())
    sim.push("2")
    sim.settle()
    without_target(sim, why)
    sim.settle()
    assert (sim.shown, sim.pods[template("2").digest].replicas) == ("2", 3)


@pytest.mark.parametrize("why", WHY_UNKNOWN)
def test_a_bad_candidate_does_not_go_live_by_measurements_of_the_live_version(why: str) -> None:
    """Found so: the preview went back to what serves, whose good answers counted for the candidate."""
    sim = analysed(automatic(), pre=PLAN)
    sim.push("2")
    sim.settle()
    seen = sim.seen
    without_target(sim, why)
    sim.settle()
    for _ in range(3):
        answer_as_the_preview(sim)
        sim.later(seconds=60)
    sim.seen, sim.unseen, sim.reachable = seen, False, True
    sim.settle()
    assert (sim.live, sim.held) == ("1", {"2"})


# --- hooks ---


@pytest.mark.parametrize("kind", [PRE_ROLLOUT, ROLLOUT])
def test_acceptance_tests_of_a_version_are_not_asked_while_the_preview_shows_another(kind: HookType) -> None:
    one = replace(hook(kind), interval=30)
    sim = deployed(hooked(manual(), one))
    sim.push("2")
    sim.settle()
    assert called(sim) == [one.name]
    sim.answer({one.name: 503})
    sim.set_primary("9")
    sim.settle()
    sim.later(seconds=40)
    sim.settle()
    assert (sim.shown, [sim.tag(each.checksum) for each in sim.decide().calls]) == ("9", ["9"])


def test_a_version_does_not_go_live_by_acceptance_tests_of_another() -> None:
    one = replace(hook(PRE_ROLLOUT), interval=30)
    sim = deployed(hooked(manual(), one))
    sim.push("2")
    sim.settle()
    late = sim.decide().calls
    sim.set_primary("9")
    sim.settle()
    sim.answers = tuple(HookResponse(each.id, 200, sim.now) for each in late)
    sim.step()
    sim.answers = ()
    sim.set_primary("1")
    sim.settle()
    sim.set_primary("2")
    sim.settle()
    assert sim.live == "1"

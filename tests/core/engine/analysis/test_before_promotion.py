"""Analysis before promotion: when it begins, what it waits for, and the effect of each verdict."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.model.analysis import AnalysisPhase, MeasurementPlan, MeasurementResult
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import GateKind
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.observed import OperatorCommand
from tests.core.engine.analysis.notation import (
    BAD,
    BROKEN,
    GOOD,
    OPEN,
    PLAN,
    PRE,
    analysed,
    analysing,
    measure,
    pass_analysis,
    phase,
    replan,
    shut,
)
from tests.core.simulation import Simulation, automatic, manual, template
from tests.core.stories import ask, merge, name, push, resume, retry, suspend, wait
from tests.core.worlds import active, candidate, decided, legacy, world

# --- when it begins ---

JUDGED = manual(preview_service=None, pre_promotion_analysis=PLAN)
BEGINS = {
    "the candidate": (world(active(1), candidate(2), spec=JUDGED), [2]),
    "what main names, not the candidate behind it": (
        world(active(1), candidate(2), candidate(3), names_=2, spec=JUDGED),
        [2],
    ),
    "nothing while traffic goes back": (world(legacy(1), active(2), candidate(3), names_=1, spec=JUDGED), []),
    "nothing of what is to serve first": (world(candidate(1), spec=JUDGED), []),
}


@pytest.mark.parametrize("name", BEGINS)
def test_before_promotion_is_judged(name: str) -> None:
    state, rollouts = BEGINS[name]
    assert [one.id.rollout for one in decided(state).measurements] == rollouts


def test_it_begins_only_when_the_pods_are_available():
    sim = analysed(pre=PLAN)
    sim.push("2")
    sim.step()
    assert sim.decide().measurements == ()
    assert (GateKind.ANALYSIS, "pre-promotion analysis: begins when its pods are available") in shut(sim)
    sim.settle()
    assert len(sim.decide().measurements) == 1


def test_it_begins_only_when_the_preview_reaches_the_new_pods_alone():
    """W12: what is asked through the preview Service must not be answered by the old pods."""
    sim = analysed(pre=PLAN)
    sim.late_endpoints.add("web-preview")
    sim.push("2")
    while sim.shown != "2":
        assert sim.decide().measurements == ()
        sim.step()
        sim.pods_come_up()
    sim.settle()
    assert sim.decide().measurements == ()
    waiting = "pre-promotion analysis: begins when Service web-preview reaches exactly its pods"
    assert (GateKind.ANALYSIS, waiting) in shut(sim)
    assert sim.decide().phase is Phase.PROGRESSING
    sim.late_endpoints.clear()
    sim.settle()
    assert len(sim.decide().measurements) == 1


def test_without_a_preview_service_it_waits_for_available_pods_only():
    sim = analysed(automatic(preview_service=None), pre=PLAN)
    sim.bad_tags.add("2")
    push(sim, "2")
    assert sim.decide().measurements == ()
    sim.bad_tags.clear()
    sim.settle()
    assert len(sim.decide().measurements) == 1


def test_a_version_that_is_being_promoted_keeps_the_preview_until_its_analysis_is_over():
    sim = analysed(manual(), pre=PLAN)
    sim.push("2")
    name(sim, "2")
    push(sim, "3")
    assert sim.shown == "2", "it is measured through the preview"
    pass_analysis(sim)
    assert (sim.live, sim.shown) == ("2", "3")


# --- verdicts ---


def test_a_good_one_promotes():
    sim = analysing(pre=PLAN)
    assert (sim.live, sim.primary) == ("1", "1")
    (gate,) = [gate for gate in sim.decide().gates if gate.kind is GateKind.ANALYSIS]
    assert (gate.open, gate.reason) == (False, "pre-promotion analysis: errors ✔0 ✖0 ?0 ⚠0 of 2")
    assert gate.until == sim.now + timedelta(seconds=60)
    assert sim.decide().phase is Phase.PROGRESSING
    measure(sim, GOOD)
    assert (sim.live, sim.decide().measurements) == ("1", ())
    assert sim.decide().wake_at == sim.now + timedelta(seconds=60)
    sim.later(seconds=60)
    measure(sim, GOOD)
    assert (sim.live, sim.primary) == ("2", "2")
    assert "analysed" in sim.events()
    assert sim.recorded_moves() == sim.moves


def test_the_promotion_is_offered_only_after_a_good_one():
    sim = analysing(manual(), pre=PLAN)
    assert sim.branch is None
    pass_analysis(sim)
    assert sim.branch == "2"
    merge(sim)
    assert sim.live == "2"


@pytest.mark.parametrize("verdict", [BAD, BROKEN])
def test_a_bad_one_aborts_and_holds(verdict):
    sim = analysing(pre=PLAN)
    measure(sim, verdict, "0.5 is not < 0.1")
    assert (sim.live, sim.primary, sim.held, sim.moves) == ("1", "1", {"2"}, sim.moves[:1])
    assert "0.5 is not < 0.1" in sim.record.holds[0].reason
    assert "aborted" in sim.events()
    assert sim.decide().measurements == ()
    wait(sim, seconds=31)
    assert sim.pods[template("2").digest].replicas == 0


@pytest.mark.parametrize("protected", [False, True], ids=["main takes the commit", "main refuses it"])
def test_a_bad_one_takes_back_a_promotion_that_was_merged_early(protected):
    sim = analysing(manual(), pre=PLAN)
    sim.protected = protected
    name(sim, "2")
    assert sim.live == "1"
    measure(sim, BAD)
    assert (sim.live, sim.held) == ("1", {"2"})
    assert ("diverged" in sim.events()) is protected
    assert (sim.primary, sim.branch) == (("2", "1") if protected else ("1", None))
    merge(sim)
    assert (sim.live, sim.primary, sim.held) == ("1", "1", {"2"})
    assert sim.events().count("converged") == protected


@pytest.mark.parametrize("post", [None, PLAN], ids=["before promotion only", "after it, too"])
def test_W04_retry_after_a_failed_analysis_before_promotion_measures_anew_when_pods_are_up(post):
    sim = analysing(pre=PLAN, post=post)
    first = sim.record.run(PRE)
    measure(sim, BAD)
    wait(sim, seconds=31)
    assert sim.pods[template("2").digest].replicas == 0
    sim.retry()
    sim.step()
    assert sim.decide().measurements == (), "its pods are at 0"
    sim.settle()
    again = sim.record.run(PRE)
    assert again.rollout > first.rollout
    assert again.metrics[0].counted == 0
    pass_analysis(sim)
    assert sim.live == "2"


def test_W09_retry_of_an_older_version_measures_anew():
    sim = analysing(pre=PLAN)
    pass_analysis(sim)
    push(sim, "1")
    measure(sim, BAD)
    assert (sim.live, sim.held) == ("2", {"1"})
    retry(sim)
    assert sim.live == "2"
    assert phase(sim, PRE) is AnalysisPhase.RUNNING


def test_an_inconclusive_one_pauses_until_somebody_promotes_and_then_measures_anew():
    sim = analysing(manual(), pre=PLAN)
    measure(sim, OPEN, "no data")
    assert (sim.live, sim.branch, sim.held) == ("1", None, set())
    assert sim.decide().phase is Phase.PAUSED
    assert any("`gitops-bg promote shop/web` measures anew" in reason for _, reason in shut(sim))
    assert sim.decide().measurements == ()
    name(sim, "2")
    assert sim.live == "1", "a promotion is no verdict"
    pass_analysis(sim)
    assert sim.live == "2"


def test_an_inconclusive_one_pauses_again_after_each_answer():
    sim = analysed(manual(), pre=PLAN)
    sim.push("2")
    name(sim, "2")
    measure(sim, OPEN)
    assert sim.decide().measurements == ()
    ask(sim, OperatorCommand.PROMOTE)
    assert sim.record.run(PRE).attempt == 2
    measure(sim, OPEN)
    assert sim.decide().measurements == ()
    retry(sim)
    pass_analysis(sim)
    assert sim.live == "2"


def test_pods_that_fail_in_mid_run_are_waited_for_when_it_has_ended_well():
    sim = analysing(manual(), pre=PLAN)
    sim.set_primary("2")
    measure(sim, GOOD)
    sim.later(seconds=60)
    sim.bad_tags.add("2")
    sim.settle()
    measure(sim, GOOD)
    assert sim.live == "1", "its pods are gone"
    sim.bad_tags.clear()
    sim.settle()
    assert sim.live == "2"
    assert sim.recorded_moves() == sim.moves


# --- what ends it, and what does not ---


@pytest.mark.parametrize("verdict", [None, OPEN])
def test_an_abort_ends_it_in_the_same_pass(verdict):
    sim = analysing(pre=PLAN)
    if verdict:
        measure(sim, verdict)
    sim.ask(OperatorCommand.ABORT)
    assert sim.step().measurements == ()
    assert sim.record.run(PRE) is None
    sim.settle()
    assert (sim.live, sim.held) == ("1", {"2"})


def test_a_superseded_candidate_is_measured_no_more_and_its_result_has_no_say():
    sim = analysing(pre=PLAN)
    (due,) = sim.decide().measurements
    sim.push("3")
    sim.step()
    sim.measured = (MeasurementResult(due.id, BAD, sim.now),)
    sim.settle()
    assert (sim.live, sim.held) == ("1", set())
    assert [one.id.rollout for one in sim.decide().measurements] == [sim.record.version(template("3").digest).rollout]


def test_a_template_that_breaks_in_mid_run_changes_nothing_for_the_run_and_holds_up_the_next():
    sim = analysing(pre=PLAN)
    measure(sim, GOOD)
    replan(sim, pre_promotion_analysis=MeasurementPlan(unknown="there is no AnalysisTemplate errors"))
    assert sim.record.run(PRE).metrics[0].counted == 1
    sim.later(seconds=60)
    measure(sim, GOOD)
    assert sim.live == "2"
    push(sim, "3")
    assert (sim.live, sim.decide().measurements) == ("2", ())
    assert any("there is no AnalysisTemplate errors" in reason for _, reason in shut(sim))


def test_a_suspension_in_mid_measurement_is_followed_by_the_same_measurement():
    """What was under way may be asked again; it counts once, under the name it had."""
    sim = analysing(pre=PLAN)
    (before,) = sim.decide().measurements
    suspend(sim)
    assert sim.decide().measurements == ()
    resume(sim)
    (after,) = sim.decide().measurements
    assert after.id == before.id


def test_a_clock_that_jumps_back_delays_a_measurement_by_its_interval_at_most():
    sim = analysing(pre=PLAN)
    measure(sim, GOOD)
    wait(sim, hours=-1)
    (run,) = sim.record.analyses.runs
    assert (sim.decide().measurements, run.running) == ((), True)
    sim.later(seconds=60)
    measure(sim, GOOD)
    assert sim.live == "2"


# --- waits that begin with its end ---


def test_the_countdown_begins_with_its_end():
    sim = analysing(automatic(auto_promotion_seconds=30), pre=PLAN)
    assert (GateKind.PAUSE, "the pause of 30 s begins when its analysis has ended") in shut(sim)
    pass_analysis(sim)
    assert sim.live == "1"
    assert sim.decide().wake_at == sim.now + timedelta(seconds=30)
    wait(sim, seconds=30)
    assert sim.live == "2"


def test_the_expiry_begins_with_its_end():
    sim = analysing(manual(expire_after_seconds=30), pre=PLAN)
    wait(sim, seconds=100)
    assert sim.held == set(), "nobody could promote it yet"
    pass_analysis(sim)
    assert sim.decide().wake_at == sim.now + timedelta(seconds=30)
    wait(sim, seconds=30)
    assert sim.held == {"2"}


# --- measured through the preview ---


def answer_as_the_preview(sim: Simulation) -> None:
    """Answer every measurement as a provider that asks the preview Service: all but version 2 are good."""
    verdict = BAD if sim.shown == "2" else GOOD
    due = sim.decide().measurements
    sim.measured = tuple(MeasurementResult(each.id, verdict, sim.now, "1", f"asked {sim.shown}") for each in due)
    sim.settle()
    sim.measured = ()


def measured_tags(sim: Simulation) -> set[str]:
    runs = {each.rollout: each.digest for each in sim.record.analyses.runs}
    return {sim.tag(runs[each.id.rollout]) for each in sim.decide().measurements}


def test_a_version_that_the_preview_has_left_is_measured_anew_from_the_start_once_it_is_back() -> None:
    sim = analysing(manual(), pre=PLAN)
    answered = sim.decide().measurements
    name(sim, "9", "somebody promotes another version")
    assert sim.shown == "9"
    assert "2" not in measured_tags(sim)
    sim.measured = tuple(MeasurementResult(each.id, GOOD, sim.now, "1") for each in answered)
    name(sim, "1", "revert")
    run = sim.record.run(PRE)
    assert (sim.shown, sim.tag(run.digest), run.attempt) == ("2", "2", 2)
    assert [each.successful for each in run.metrics] == [0]


def test_a_preview_that_somebody_leads_elsewhere_is_not_measured_and_what_it_answered_does_not_count() -> None:
    sim = analysing(manual(), pre=PLAN)
    assert measured_tags(sim) == {"2"}
    answered = sim.decide().measurements
    sim.preview = template("1").digest
    assert measured_tags(sim) == set()
    sim.measured = tuple(MeasurementResult(each.id, BAD, sim.now, "1") for each in answered)
    sim.settle()
    run = sim.record.run(PRE)
    assert (sim.preview, sim.held) == (template("2").digest, set())
    assert (run.attempt, [each.failed for each in run.metrics]) == (2, [0])


@pytest.mark.parametrize("why", ["a push broke target.yaml", "the agent is restarted while Git is down"])
def test_while_the_target_is_unknown_the_candidate_keeps_the_preview_and_is_judged_itself(why: str) -> None:
    """Unknown is not absent (decision 17). Found so: the preview went back to what serves, whose good answers counted
    for the candidate.
    """
    sim = analysing(automatic(), pre=PLAN)
    seen, sim.reachable = sim.seen, False
    if why == "a push broke target.yaml":
        sim.seen = replace(sim.seen, target=Missing.UNREADABLE)
    else:
        sim.unseen = True
    sim.settle()
    assert (sim.shown, sim.pods[template("2").digest].replicas) == ("2", 3)
    for _ in range(3):
        answer_as_the_preview(sim)
        sim.later(seconds=60)
    sim.seen, sim.unseen, sim.reachable = seen, False, True
    sim.settle()
    assert (sim.live, sim.held) == ("1", {"2"})

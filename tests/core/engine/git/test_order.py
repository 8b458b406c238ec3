"""Decisions have their own order: a state of Git from before our decision cannot answer it, however new it is to us."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisStage, MeasurementResult
from gitops_bg.core.model.journal import STAMPS, AwaitsPoll, PollCount
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.spec import Retry
from gitops_bg.core.model.statements import Cause, Hold, Override, Says
from tests.core.records import overriding
from tests.core.simulation import Simulation, automatic, deployed, manual, template
from tests.core.test_invariants import analysed, crash
from tests.core.worlds import NOW, active, candidate, decided, digest, legacy, primary, world

WAITS = AwaitsPoll((("agent", 3),))
LOOKS = {
    "the same look": (PollCount("agent", 3, 3), WAITS),
    "one that had begun": (PollCount("agent", 3, 4), WAITS),
    "the next one": (PollCount("agent", 4, 4), None),
    "one of another process: its next, too": (PollCount("other", 9, 10), AwaitsPoll((("agent", 3), ("other", 10)))),
    "none: an operator without Git": (PollCount(), WAITS),
}


@pytest.mark.parametrize("name", LOOKS)
def test_look(name: str) -> None:
    looks, awaits = LOOKS[name]
    hold = Hold(digest(2), "5xx", NOW, Cause.ABORTED, awaits=WAITS)
    pending = Override(digest(2), digest(1), "5xx", "ada", NOW, awaits=WAITS)
    state = world(active(1), legacy(2), names_=2, desired={"looks": looks}, record={"holds": (hold,)})
    record = decided(state.with_record(overriding(state.record, pending))).record
    assert record.held(digest(2)).awaits == record.override.awaits == awaits
    assert record.git.primary == digest(2), "what the look shows is no answer"


def test_a_promotion_that_nobody_had_seen_when_its_version_was_aborted_ends_no_override_either() -> None:
    """Found so: it ended the override of before, and lifted the hold that awaited this very look."""
    hold = Hold(digest(3), "5xx", NOW, Cause.ABORTED, awaits=WAITS)
    pending = Override(digest(2), digest(1), "5xx", "ada", NOW)
    looks, record = PollCount("agent", 4, 4), {"holds": (hold,), "override": pending}
    state = world(active(1), legacy(2), candidate(3), names_=3, desired={"looks": looks}, record=record)
    after = decided(state).record
    assert (after.override, after.held(digest(3))) == (pending, replace(hold, awaits=None))


def test_processes_that_take_note_of_a_decision_in_turn_come_to_rest() -> None:
    """Found so: each one's stamp replaced the other's, so that no look ever followed the decision."""
    noted = WAITS.stamped(PollCount("other", 9, 10))
    assert noted.stamped(PollCount("agent", 3, 3)) == noted == noted.stamped(PollCount("other", 10, 11))
    assert not noted.is_over(PollCount("other", 10, 11)), "that look had begun before"
    assert noted.is_over(PollCount("agent", 4, 4)), "whoever looks first"
    assert noted.is_over(PollCount("other", 11, 11))


def test_a_decision_made_without_git_waits_for_the_next_look_of_whoever_takes_note() -> None:
    assert AwaitsPoll().stamped(PollCount("agent", 3, 4)) == AwaitsPoll((("agent", 4),))
    assert not AwaitsPoll().is_over(PollCount())


def test_a_process_that_begins_again_and_again_leaves_no_endless_record() -> None:
    awaits = WAITS
    for number in range(STAMPS + 5):
        awaits = awaits.stamped(PollCount(f"process {number}", 1, 1))
    assert len(awaits.stamps) == STAMPS
    assert not awaits.is_over(PollCount(f"process {number}", 1, 1))


def third_waits_second_live() -> Simulation:
    """v2 serves, v1 is warm, v3 is offered."""
    sim = deployed(manual())
    for tag in "23":
        sim.push(tag)
        sim.settle()
        if tag == "2":
            sim.merge()
            sim.settle()
    return sim


def away(sim: Simulation) -> None:
    sim.unseen, sim.reachable = True, False


def back(sim: Simulation) -> None:
    sim.unseen, sim.reachable = False, True


def test_a_merge_that_nobody_had_seen_does_not_end_the_emergency_after_it() -> None:
    """Found so: a third version in primary.yaml was taken for an answer to the rollback."""
    sim = third_waits_second_live()
    away(sim)
    sim.merge()
    sim.ask(OperatorCommand.ROLLBACK)
    sim.settle()
    assert sim.live == "1"
    back(sim)
    sim.settle()
    assert (sim.live, sim.primary) == ("1", "1"), "the agent commits the rollback over it"


def test_a_merge_after_the_first_look_ends_the_emergency() -> None:
    sim = third_waits_second_live()
    sim.protected = True
    sim.ask(OperatorCommand.ROLLBACK)
    sim.settle()
    assert (sim.live, sim.record.override.awaits, sim.record.git.primary) == (
        "1",
        None,
        digest(2),
    )
    sim.set_primary("3")
    sim.settle()
    assert (sim.live, sim.record.override) == ("3", None)


def test_who_takes_back_the_commit_of_an_emergency_answers_to_it_before_traffic_has_arrived() -> None:
    pending = Override(digest(2), digest(1), "5xx", "ada", NOW)
    committed = world(legacy(1), active(2), names_=1, record={"override": pending})
    record = decided(committed).record
    assert record.git.primary == digest(1)
    taken_back = replace(committed, desired=replace(committed.desired, primary=primary(2)), record=record)
    assert decided(taken_back).record.override is None


def test_an_abort_counts_for_what_was_taken_back_in_the_same_look_as_it_was_retried() -> None:
    """Found so by exploration: the revert had put the hold already, so the abort put none, and the retry lifted it."""
    sim = deployed(manual())
    sim.push("2")
    sim.settle()
    sim.pods_fail("2")
    sim.set_primary("2")
    sim.step()
    sim.set_primary("1")
    sim.retry()
    sim.ask(OperatorCommand.ABORT)
    sim.settle()
    assert (sim.held, sim.live) == ({"2"}, "1")


@pytest.mark.parametrize("reachable", [True, False])
def test_a_retry_that_is_older_than_the_abort_does_not_lift_its_hold(reachable: bool) -> None:
    sim = deployed(automatic(auto_promotion_seconds=600))
    sim.push("2")
    sim.settle()
    if not reachable:
        away(sim)
    sim.retry()
    sim.ask(OperatorCommand.ABORT)
    sim.settle()
    back(sim)
    sim.settle()
    assert (sim.held, sim.live) == ({"2"}, "1")
    sim.retry()
    sim.settle()
    assert (sim.held, sim.record.operator.retry) == (set(), 2), "one after it does"


@pytest.mark.parametrize(("after", "held"), [(0, {"2"}), (-1, {"2"}), (1, set())], ids=["unsaid", "before", "since"])
def test_a_retry_that_says_which_decision_it_answers_needs_no_look_at_main_in_between(
    after: int, held: set[str]
) -> None:
    sim = deployed(manual())
    sim.push("2")
    sim.settle()
    before = sim.record.sequence
    sim.ask(OperatorCommand.ABORT)
    sim.step()
    assert sim.held == {"2"}
    said = {0: 0, -1: before, 1: sim.record.sequence}[after]
    sim.spec = replace(sim.spec, retry=Retry(template("2").digest, 1, "ada", said))
    sim.settle()
    assert sim.held == held


def test_a_merge_that_is_older_than_a_failed_analysis_does_not_lift_the_hold() -> None:
    sim = deployed(analysed(manual()))
    sim.push("2")
    sim.settle()
    due = sim.decide().measurements
    assert due
    seen, sim.reachable = sim.desired(), False
    sim.set_primary("2")
    sim.measured = tuple(MeasurementResult(one.id, AnalysisPhase.FAILED, sim.now) for one in due)
    sim.step()
    sim.measured = ()
    assert (sim.held, sim.seen) == ({"2"}, seen)
    sim.reachable = True
    sim.settle()
    assert (sim.live, sim.held, sim.primary) == ("1", {"2"}, "1")
    sim.set_primary("2")
    sim.settle()
    assert sim.record.objection(template("2").digest).lifted is Says.NAMED, "a later one asks for a promotion"


def test_who_merges_in_time_what_then_expires_is_not_too_late() -> None:
    sim = deployed(manual(expire_after_seconds=30))
    sim.push("2")
    sim.settle()
    sim.reachable = True
    sim.later(seconds=31)
    sim.step()
    assert sim.held == {"2"}
    sim.set_primary("2")
    sim.settle()
    assert sim.live == "2"


def test_a_retry_by_hand_of_a_digest_without_a_hold_counts_as_ever() -> None:
    sim = deployed(manual())
    sim.push("2")
    sim.settle()
    sim.spec = replace(sim.spec, retry=Retry(template("2").digest, 1, "ada"))
    sim.settle()
    assert "retried" in sim.events()


# --- what was said is not lost ---


def judged(phase: AnalysisPhase, deaths: list[int]) -> Simulation:
    """v2's analysis answers, and the agent dies after so many writes of each pass; what was measured stays at hand."""
    sim = deployed(analysed(automatic()))
    sim.push("2")
    sim.settle()
    due = sim.decide().measurements
    assert due
    sim.measured = tuple(MeasurementResult(one.id, phase, sim.now) for one in due)
    for writes in deaths:
        crash(writes)(sim)
    sim.step()
    sim.measured = ()
    return sim


@pytest.mark.parametrize("deaths", [[0], [1], [2], [0, 1], [1, 1, 1]], ids=str)
def test_a_verdict_outlives_a_pass_that_dies_before_it_wrote_to_git(deaths: list[int]) -> None:
    sim = judged(AnalysisPhase.FAILED, deaths)
    sim.settle()
    assert (sim.live, sim.held, sim.events().count("aborted")) == ("1", {"2"}, 1)


@pytest.mark.parametrize("deaths", [[0], [1], [2], [0, 1], [1, 1, 1]], ids=str)
def test_a_good_answer_outlives_a_pass_that_dies_before_it_wrote_to_git(deaths: list[int]) -> None:
    sim = judged(AnalysisPhase.SUCCESSFUL, deaths)
    (metric,) = next(run for run in sim.record.analyses.runs if run.stage is AnalysisStage.PRE).metrics
    assert metric.successful == 1, "counted once"


def test_an_analysis_that_is_due_waits_for_a_preview_service_that_is_gone_and_begins_with_its_return() -> None:
    sim = deployed(analysed(manual()))
    sim.push("2")
    while not (version := sim.record.version(template("2").digest)) or version.available_since is None:
        sim.step()
        sim.pods_come_up()
    sim.preview = None
    decision = sim.decide()
    assert decision.measurements == ()
    assert any("apply the preview Service" in str(action) for action in decision.actions)
    assert any("begins when Service web-preview reaches" in gate.reason for gate in decision.gates)
    sim.settle()
    assert (sim.shown, bool(sim.decide().measurements)) == ("2", True)


def test_an_analysis_under_way_goes_on_where_the_preview_service_is_deleted() -> None:
    """What is measured meanwhile counts: a preview that answers nobody is an answer about the preview."""
    sim = deployed(analysed(manual()))
    sim.push("2")
    sim.settle()
    started = sim.record.run(AnalysisStage.PRE)
    sim.preview = None
    sim.settle()
    assert sim.shown == "2"
    assert sim.record.run(AnalysisStage.PRE) == started


MERGED_BEFORE = {
    "given up: traffic stays, and Git is told": (Cause.ABORTED, digest(1)),
    "expired: who merged in time was not too late": (Cause.EXPIRED, None),
}


@pytest.mark.parametrize("name", MERGED_BEFORE)
def test_a_promotion_that_was_merged_before_its_version_was(name: str) -> None:
    cause, back = MERGED_BEFORE[name]
    hold = Hold(digest(2), "5xx", NOW, cause, awaits=WAITS)
    state = world(
        active(1), candidate(2), names_=2, desired={"looks": PollCount("agent", 4, 4)}, record={"holds": (hold,)}
    )
    override = decided(state).record.override
    assert (override.to_digest if override else None) == back
    assert override is None or override.reason == "5xx; primary.yaml had named it before"

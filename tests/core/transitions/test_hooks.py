"""Hooks in the engine: when each type is called, what its answer means, and that none delays a rollback."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gitops_bg.core.checks.hooks.queries import describe, goes_forward
from gitops_bg.core.checks.hooks.timing import delivery_deadlines, query_deadlines
from gitops_bg.core.checks.situations import FLAGGER_PHASES, flagger_phase
from gitops_bg.core.model.analysis.metrics import AnalysisPhase, AnalysisStage, Metric, Plan
from gitops_bg.core.model.analysis.runs import AnalysisRun, MeasurementResult
from gitops_bg.core.model.decision import GateKind, Phase
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.hooks import (
    Answer,
    Hook,
    HookResponse,
    HookRun,
    HookType,
    OpenGate,
    OutboxMessage,
    Severity,
    due_at,
    expires_at,
    id_of,
    key_of,
    take,
)
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import Event, LedgerEntry, Outbox, Record
from gitops_bg.core.model.spec import AppSpec, Suspension
from gitops_bg.core.plan.deliveries import message_id
from gitops_bg.core.transitions.notifications.notifications import enqueue
from gitops_bg.core.transitions.verdicts.hook_gates import begin_hooks, take_hook_answers
from gitops_bg.core.world import World
from tests.core.simulation import START, Simulation, automatic, deployed, manual, template
from tests.core.worlds import NOW, active, candidate, digest, legacy, pods, rising, world

CONFIRM_ROLLOUT, PRE_ROLLOUT, ROLLOUT = HookType.CONFIRM_ROLLOUT, HookType.PRE_ROLLOUT, HookType.ROLLOUT
CONFIRM_PROMOTION, ROLLBACK = HookType.CONFIRM_PROMOTION, HookType.ROLLBACK
POST_ROLLOUT, EVENT, ALERT = HookType.POST_ROLLOUT, HookType.EVENT, HookType.ALERT


def hook(type_: HookType, **changes: Any) -> Hook:
    return replace(Hook(str(type_), type_), **changes)


def hooked(spec: AppSpec, *hooks: Hook) -> AppSpec:
    return replace(spec, strategy=replace(spec.strategy, hooks=hooks))


def pushed(*hooks: Hook, spec: AppSpec | None = None) -> Simulation:
    """Version 1 is live, version 2 was pushed, and nothing is left to do until a hook answers."""
    world = deployed(hooked(spec or automatic(), *hooks))
    world.push("2")
    world.settle()
    return world


def measure(world: Simulation, phase: AnalysisPhase) -> None:
    """Everything that is to be measured now comes out so; a pass."""
    world.measured = tuple(MeasurementResult(one.id, phase, world.now) for one in world.decide().measurements)
    world.step()
    world.measured = ()


def called(world: Simulation) -> list[str]:
    return [call.hook.name for call in world.decide().calls]


def shut(world: Simulation) -> list[str]:
    return [gate.reason for gate in world.decide().gates if not gate.open]


# --- one hook on its own ---


def run_of(type_: HookType, **changes: Any) -> HookRun:
    return replace(HookRun("h", type_, "v1:x", 1, START), **changes)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_is_good_204_too(status):
    assert take(run_of(PRE_ROLLOUT), hook(PRE_ROLLOUT), HookResponse("", status, START)).accepted == 1


@pytest.mark.parametrize("status", [199, 300, 301, 400, 403, 404, 409, 500, 501, 505])
def test_an_answer_that_is_no_2xx_is_a_refusal(status):
    after = take(run_of(PRE_ROLLOUT), hook(PRE_ROLLOUT), HookResponse("", status, START, "no"))
    assert (after.answer, after.refused, after.text) == (Answer.REFUSED, 1, "no")


@pytest.mark.parametrize("status", [0, 429, 502, 503, 504])
def test_no_answer_counts_neither_way(status):
    after = take(run_of(PRE_ROLLOUT), hook(PRE_ROLLOUT), HookResponse("", status, START))
    assert (after.answer, after.refused, after.accepted, after.tries) == (Answer.UNANSWERED, 0, 0, 1)


def test_no_answer_is_asked_again_with_growing_pauses():
    one, pauses, now = run_of(PRE_ROLLOUT), [], START
    for _ in range(7):
        one = take(one, hook(PRE_ROLLOUT), HookResponse("", 0, now))
        due = due_at(one, hook(PRE_ROLLOUT))
        pauses.append((due - now).total_seconds())
        now = due
    assert pauses == [1, 2, 4, 8, 16, 30, 30]


@pytest.mark.parametrize(("status", "asked_again"), [(500, True), (505, True), (501, False), (403, False)])
def test_retries_ask_again_before_a_5xx_counts_as_flagger_does(status, asked_again):
    after = take(run_of(PRE_ROLLOUT), hook(PRE_ROLLOUT, retries=2), HookResponse("", status, START))
    assert (after.refused, after.tries) == ((0, 1) if asked_again else (1, 0))


@pytest.mark.parametrize("status", [200, 403])
def test_an_answer_ends_the_patience_with_a_backend_that_was_down(status):
    silent = run_of(PRE_ROLLOUT, tries=3, unanswered_since=START, answer=Answer.UNANSWERED)
    after = take(silent, hook(PRE_ROLLOUT), HookResponse("", status, START))
    assert (after.tries, after.unanswered_since) == (0, None)


def test_a_refusal_that_is_asked_again_ends_it_too_and_is_counted_as_a_try():
    silent = run_of(PRE_ROLLOUT, tries=1, unanswered_since=START, answer=Answer.UNANSWERED)
    after = take(silent, hook(PRE_ROLLOUT, retries=2), HookResponse("", 500, START))
    assert (after.tries, after.unanswered_since) == (2, None)


KEYS = {
    "confirm-promotion.h.1767225600000.0": {},
    "confirm-promotion.h.1767225600000.3": {"accepted": 1, "refused": 2},
    "final.h.1767225600000.3": {"accepted": 1, "refused": 2, "final": True},
    "final.h.1767225600001.0": {"since": START + timedelta(milliseconds=1), "final": True},
}


@pytest.mark.parametrize("key", KEYS)
def test_each_call_has_a_key_of_its_own_which_every_try_of_it_has(key):
    run = run_of(CONFIRM_PROMOTION, **KEYS[key])
    assert key_of(run, "5eed") == f"5eed.1.{key}"
    assert id_of(replace(run, tries=2), "5eed") == f"5eed.1.{key}.2"


def test_retries_end():
    one = run_of(PRE_ROLLOUT)
    for _ in range(3):
        one = take(one, hook(PRE_ROLLOUT, retries=2), HookResponse("", 500, START))
    assert (one.refused, one.tries) == (1, 0)


@pytest.mark.parametrize(
    ("type_", "one", "seconds"),
    [
        (CONFIRM_ROLLOUT, {}, 600),  # from when it was asked first
        (PRE_ROLLOUT, {}, None),  # its backend is not down
        (PRE_ROLLOUT, {"unanswered_since": START}, 600),
        (ROLLBACK, {"unanswered_since": START}, None),  # asked for as long as there is something to roll back
    ],
)
def test_the_deadline_of_each_type(type_, one, seconds):
    ends = expires_at(run_of(type_, **one), hook(type_, deadline=600), None)
    assert ends == (None if seconds is None else START + timedelta(seconds=seconds))


# --- confirm-rollout ---


class TestConfirmRollout:
    def test_the_candidate_stays_at_0_until_it_says_yes(self):
        world = pushed(hook(CONFIRM_ROLLOUT))
        assert called(world) == ["confirm-rollout"]
        assert world.pods[template("2").digest].replicas == 0
        assert world.decide().phase is Phase.WAITING
        world.answer({"confirm-rollout": 200})
        world.settle()
        assert world.live == "2"

    def test_a_refusal_is_asked_again_after_the_interval_and_aborts_nothing(self):
        world = pushed(hook(CONFIRM_ROLLOUT, interval=60))
        for _ in range(5):
            assert called(world) == ["confirm-rollout"]
            world.answer({"confirm-rollout": (403, "change freeze")})
            assert called(world) == []
            world.settle()
            assert world.decide().wake_at == world.now + timedelta(seconds=60)
            world.later(seconds=60)
        assert (world.live, world.held) == ("1", set())
        assert any("change freeze" in reason for reason in shut(world))
        assert world.events().count("hook-refused") == 1

    def test_time_that_it_took_is_not_the_rollouts(self):
        world = pushed(hook(CONFIRM_ROLLOUT), spec=replace(automatic(), progress_deadline_abort=True))
        world.later(seconds=6000)
        world.settle()
        assert (world.held, world.events().count("failed")) == (set(), 0)
        world.bad_tags.add("2")
        world.answer({"confirm-rollout": 200})
        world.settle()
        world.later(seconds=599)
        world.settle()
        assert world.held == set()
        world.later(seconds=2)
        world.settle()
        assert world.held == {"2"}

    def test_it_is_asked_once_only_after_it_said_yes(self):
        world = pushed(hook(CONFIRM_ROLLOUT), spec=manual())
        world.answer({"confirm-rollout": 204})
        world.settle()
        world.later(seconds=3600)
        assert called(world) == []

    def test_a_merge_does_not_go_around_it(self):
        world = pushed(hook(CONFIRM_ROLLOUT), spec=manual())
        world.set_primary("2")
        world.settle()
        assert (world.live, world.pods[template("2").digest].replicas) == ("1", 0)
        world.answer({"confirm-rollout": 200})
        world.settle()
        assert world.live == "2"

    def test_its_deadline_leaves_it_shut_and_a_retry_asks_anew(self):
        world = pushed(hook(CONFIRM_ROLLOUT, deadline=600))
        world.answer({"confirm-rollout": 403})
        world.later(seconds=600)
        world.settle()
        assert called(world) == []
        assert any("within 600 s" in reason for reason in shut(world))
        assert "hook-expired" in world.events()
        world.retry()
        world.settle()
        assert called(world) == ["confirm-rollout"]

    def test_a_newer_target_is_asked_about_in_its_place(self):
        world = pushed(hook(CONFIRM_ROLLOUT))
        world.push("3")
        world.settle()
        assert {call.checksum for call in world.decide().calls} == {template("3").digest}


# --- pre-rollout, rollout ---


class TestPreRollout:
    def test_it_is_called_when_the_pods_are_available_and_no_sooner(self):
        world = deployed(hooked(automatic(), hook(PRE_ROLLOUT)))
        world.push("2")
        world.step()
        world.step()
        assert called(world) == []
        world.settle()
        assert called(world) == ["pre-rollout"]

    def test_a_yes_lets_the_promotion_go_on(self):
        world = pushed(hook(PRE_ROLLOUT))
        assert world.live == "1"
        world.answer({"pre-rollout": 202})
        world.settle()
        assert world.live == "2"

    def test_a_refusal_aborts_and_holds_with_the_body_as_the_reason(self):
        world = pushed(hook(PRE_ROLLOUT))
        world.answer({"pre-rollout": (500, "smoke test: 3 of 9 failed")})
        world.settle()
        assert (world.live, world.held) == ("1", {"2"})
        assert "smoke test: 3 of 9 failed" in world.record.holds[0].reason

    def test_refusals_within_the_limit_are_asked_again(self):
        world = pushed(hook(PRE_ROLLOUT, failure_limit=1, interval=10))
        world.answer({"pre-rollout": 500})
        world.settle()
        assert world.held == set()
        world.later(seconds=10)
        world.answer({"pre-rollout": 500})
        world.settle()
        assert world.held == {"2"}

    def test_a_backend_that_is_down_neither_promotes_nor_rolls_back(self):
        world = pushed(hook(PRE_ROLLOUT, deadline=600))
        for _ in range(100):
            world.answer({"pre-rollout": (0, "connection refused")})
            world.later(seconds=30)
        world.settle()
        assert (world.live, world.held, called(world)) == ("1", set(), [])
        assert any("gave no answer within 600 s" in reason for reason in shut(world))
        world.retry()
        world.settle()
        world.answer({"pre-rollout": 200})
        world.settle()
        assert world.live == "2"

    def test_an_abort_after_a_refusal_of_a_merged_version_brings_main_back(self):
        world = pushed(hook(PRE_ROLLOUT), spec=manual())
        world.set_primary("2")
        world.settle()
        world.answer({"pre-rollout": 500})
        world.settle()
        assert (world.live, world.primary, world.held) == ("1", "1", {"2"})


class TestRollout:
    def test_it_begins_after_pre_rollout_and_counts_its_iterations(self):
        world = pushed(hook(PRE_ROLLOUT), hook(ROLLOUT, iterations=3, interval=60))
        assert called(world) == ["pre-rollout"]
        world.answer({"pre-rollout": 200})
        for _ in range(3):
            world.settle()
            assert (called(world), world.live) == (["rollout"], "1")
            world.answer({"rollout": 200})
            world.later(seconds=60)
        world.settle()
        assert world.live == "2"

    def test_too_many_refusals_among_good_answers_abort(self):
        world = pushed(hook(ROLLOUT, iterations=9, failure_limit=1, interval=60))
        for status in (200, 500, 200, 500):
            world.answer({"rollout": status})
            world.settle()
            world.later(seconds=60)
        assert world.held == {"2"}

    def test_it_goes_on_as_long_as_the_analysis_beside_it(self):
        metric = Metric("errors", "web", interval=60, count=5)
        world = pushed(hook(ROLLOUT, interval=60), spec=automatic(pre_promotion_analysis=Plan((metric,))))
        for _ in range(5):
            assert called(world) == ["rollout"]
            measure(world, AnalysisPhase.SUCCESSFUL)
            world.answer({"rollout": 200})
            world.settle()
            world.later(seconds=60)
        world.settle()
        assert (world.live, called(world)) == ("2", [])

    def test_the_analysis_begins_after_pre_rollout(self):
        world = pushed(hook(PRE_ROLLOUT), spec=automatic(pre_promotion_analysis=Plan((Metric("errors", "web"),))))
        assert world.decide().measurements == ()
        world.answer({"pre-rollout": 200})
        assert [one.metric.name for one in world.decide().measurements] == ["errors"]


# --- confirm-promotion ---


class TestConfirmPromotion:
    def test_it_gates_the_commit_and_is_asked_again_when_traffic_would_move(self):
        world = pushed(hook(CONFIRM_PROMOTION))
        assert world.primary == "1"
        first = world.answer({"confirm-promotion": 200})
        world.settle()
        assert (world.primary, world.live) == ("2", "1")
        second = world.answer({"confirm-promotion": 200})
        world.settle()
        assert world.live == "2"
        assert (first[0].phase, second[0].phase) == ("Progressing", "Promoting")
        assert first[0].key != second[0].key

    def test_a_no_at_the_last_moment_keeps_traffic_where_it_is(self):
        world = pushed(hook(CONFIRM_PROMOTION, interval=60))
        world.answer({"confirm-promotion": 200})
        world.settle()
        world.answer({"confirm-promotion": (403, "market hours")})
        world.settle()
        assert world.live == "1"
        assert any("market hours" in reason for reason in shut(world))
        world.later(seconds=60)
        world.answer({"confirm-promotion": 200})
        world.settle()
        assert world.live == "2"

    def test_it_gates_the_offer_of_the_promotion_branch(self):
        world = pushed(hook(CONFIRM_PROMOTION), spec=manual())
        assert world.branch is None
        world.answer({"confirm-promotion": 200})
        world.settle()
        assert world.branch == "2"

    def test_a_backend_that_goes_away_shuts_it(self):
        world = pushed(hook(CONFIRM_PROMOTION), spec=manual())
        world.answer({"confirm-promotion": 200})
        world.settle()
        world.later(seconds=30)
        world.answer({"confirm-promotion": (0, "connection refused")})
        assert any("connection refused" in reason for reason in shut(world))

    def test_it_is_asked_last_after_the_other_hooks_and_the_analysis(self):
        plan = Plan((Metric("errors", "web"),))
        world = pushed(hook(CONFIRM_PROMOTION), hook(ROLLOUT), spec=automatic(pre_promotion_analysis=plan))
        world.answer({"rollout": 200})
        world.settle()
        assert called(world) == []
        measure(world, AnalysisPhase.SUCCESSFUL)
        world.settle()
        assert called(world) == ["confirm-promotion"]


# --- rollback ---


class TestRollback:
    def test_it_is_asked_from_the_first_moment_on_also_while_pods_are_unready(self):
        world = deployed(hooked(automatic(), hook(ROLLBACK)))
        world.bad_tags.add("2")
        world.push("2")
        world.settle()
        assert called(world) == ["rollback"]
        world.answer({"rollback": (200, "error budget is spent")})
        world.settle()
        assert (world.live, world.held) == ("1", {"2"})
        assert "error budget is spent" in world.record.holds[0].reason
        assert "asked again" not in world.record.holds[0].reason, "it is remembered: nobody is asked any more"

    def test_a_refusal_is_the_normal_state(self):
        world = pushed(hook(ROLLBACK, interval=60), spec=manual())
        for _ in range(3):
            assert called(world) == ["rollback"]
            world.answer({"rollback": 403})
            world.settle()
            world.later(seconds=60)
        assert world.branch == "2"
        assert "hook-refused" not in world.events()

    def test_it_takes_back_a_merged_promotion_that_has_not_arrived(self):
        world = pushed(hook(ROLLBACK), spec=manual())
        world.pods_fail("2")
        world.set_primary("2")
        world.step()
        world.answer({"rollback": 200})
        world.settle()
        assert (world.live, world.primary, world.held) == ("1", "1", {"2"})

    def test_it_is_asked_while_the_analysis_after_promotion_runs_and_takes_traffic_back(self):
        plan = Plan((Metric("errors", "web", interval=60, count=5),))
        world = pushed(hook(ROLLBACK), spec=automatic(post_promotion_analysis=plan))
        assert world.live == "2"
        world.later(seconds=60)
        assert called(world) == ["rollback"]
        world.answer({"rollback": 200})
        world.settle()
        assert (world.live, world.primary, world.held) == ("1", "1", {"2"})

    def test_it_is_not_asked_about_what_is_promoted_for_good(self):
        world = pushed(hook(ROLLBACK))
        assert world.live == "2"
        world.later(seconds=3600)
        assert called(world) == []

    def test_a_suspension_does_not_stop_it(self):
        world = pushed(hook(ROLLBACK), hook(CONFIRM_ROLLOUT))
        world.suspend()
        world.step()
        assert called(world) == ["rollback"]


# --- post-rollout, event ---


def _without_analysis(world):
    world.spec = replace(world.spec, strategy=replace(world.spec.strategy, post_promotion_analysis=None))


ENDS_OF_ANALYSES = {
    "somebody promoted it in full": lambda world: world.ask(OperatorCommand.PROMOTE_FULL),
    "the analysis left the file": _without_analysis,
}


class TestPostRollout:
    def test_it_hears_of_a_promotion(self):
        world = pushed(hook(POST_ROLLOUT))
        (call,) = world.decide().calls
        assert (call.phase, call.checksum, world.live) == ("Succeeded", template("2").digest, "2")

    def test_it_hears_of_an_abort(self):
        world = pushed(hook(POST_ROLLOUT), hook(PRE_ROLLOUT))
        world.answer({"pre-rollout": 500})
        world.settle()
        assert [(call.phase, call.checksum) for call in world.decide().calls] == [("Failed", template("2").digest)]

    def test_it_hears_of_success_when_the_analysis_after_promotion_has_ended(self):
        plan = Plan((Metric("errors", "web"),))
        world = pushed(hook(POST_ROLLOUT), spec=automatic(post_promotion_analysis=plan))
        assert (world.live, called(world)) == ("2", [])
        measure(world, AnalysisPhase.SUCCESSFUL)
        assert [(call.hook.name, call.phase) for call in world.decide().calls] == [("post-rollout", "Succeeded")]

    @pytest.mark.parametrize("end", ENDS_OF_ANALYSES.values(), ids=ENDS_OF_ANALYSES)
    def test_it_hears_once_of_a_success_whose_analysis_ended_early(self, end):
        world = pushed(hook(POST_ROLLOUT), spec=automatic(post_promotion_analysis=Plan((Metric("errors", "web"),))))
        assert called(world) == []
        end(world)
        world.settle()
        assert [(call.phase, call.checksum) for call in world.decide().calls] == [("Succeeded", template("2").digest)]
        world.answer({"post-rollout": 200})
        world.settle()
        assert called(world) == []

    @pytest.mark.parametrize("phase", [AnalysisPhase.FAILED, AnalysisPhase.INCONCLUSIVE])
    def test_it_hears_of_no_success_that_is_none_yet(self, phase):
        world = pushed(hook(POST_ROLLOUT), spec=automatic(post_promotion_analysis=Plan((Metric("errors", "web"),))))
        measure(world, phase)
        assert "Succeeded" not in [call.phase for call in world.decide().calls]

    def test_every_hook_is_called_when_an_earlier_one_fails(self):
        world = pushed(hook(POST_ROLLOUT, name="one"), hook(POST_ROLLOUT, name="two"))
        assert called(world) == ["one", "two"]
        world.answer({"one": 500})
        assert called(world) == ["two"]

    def test_no_answer_is_told_again_until_the_deadline_and_then_said_once(self):
        world = pushed(hook(POST_ROLLOUT, deadline=600))
        key = world.decide().calls[0].key
        for _ in range(30):
            assert {call.key for call in world.decide().calls} <= {key}
            world.answer({"post-rollout": 503})
            world.later(seconds=30)
        world.settle()
        assert (called(world), world.events().count("hook-undelivered")) == ([], 1)

    def test_it_stands_in_the_way_of_nothing(self):
        world = pushed(hook(POST_ROLLOUT))
        world.push("3")
        world.settle()
        assert world.live == "3"


class TestEvents:
    def test_every_ledger_event_and_every_change_of_phase_is_told_in_order(self):
        world = deployed(hooked(automatic(), hook(EVENT)))
        told: list[str] = []
        world.push("2")
        for _ in range(20):
            world.settle()
            told.extend(dict(call.metadata)["eventMessage"] for call in world.answer({"event": 200}))
        ledger = [line.split(":")[0] for line in told if not line.startswith("phase")]
        assert ledger == ["candidate v1", "deployed v1", "candidate v2", "promoted v2"]
        phases = [line for line in told if line.startswith("phase")]
        assert (phases[0], phases[-1]) == ("phase Deploying", "phase Promoting → Healthy")

    def test_its_metadata_is_flaggers(self):
        world = deployed(hooked(automatic(), hook(EVENT)))
        (call,) = world.decide().calls
        metadata = dict(call.metadata)
        assert set(metadata) == {"eventMessage", "eventType", "timestamp"}
        assert (metadata["eventType"], metadata["timestamp"]) == ("Normal", str(int(START.timestamp() * 1000)))

    def test_trouble_is_a_warning(self):
        world = pushed(hook(EVENT), hook(PRE_ROLLOUT))
        for _ in range(20):
            world.answer({"event": 200})
        world.answer({"pre-rollout": 500})
        world.settle()
        (call,) = world.decide().calls
        assert dict(call.metadata)["eventType"] == "Warning"

    def test_a_hook_that_takes_nothing_does_not_fill_the_record(self):
        world = deployed(hooked(manual(), hook(EVENT)))
        for number in range(80):
            world.push(str(number % 7 + 2))
            world.settle()
        assert len(world.record.outbox.messages) <= 100


# --- manual gates ---


class TestManualGates:
    def test_it_is_closed_until_somebody_opens_it_and_the_ledger_says_who_and_why(self):
        world = pushed(hook(CONFIRM_PROMOTION, name="release", manual=True))
        assert (world.live, called(world)) == ("1", [])
        assert any("`gitops-bg gate open shop/web release`" in reason for reason in shut(world))
        world.ask(OperatorCommand.OPEN_GATE, gate="release")
        world.settle()
        assert world.live == "2"
        (entry,) = [entry for entry in world.entries() if entry.event == "gate-opened"]
        assert (entry.by, entry.reason, entry.to_version) == ("ada", "release: because", 2)

    def test_it_stays_open_for_the_next_version_until_somebody_closes_it(self):
        world = pushed(hook(CONFIRM_ROLLOUT, name="go", manual=True))
        world.ask(OperatorCommand.OPEN_GATE, gate="go")
        world.settle()
        world.push("3")
        world.settle()
        assert world.live == "3"
        world.ask(OperatorCommand.CLOSE_GATE, gate="go")
        world.push("4")
        world.settle()
        assert (world.live, world.pods[template("4").digest].replicas) == ("3", 0)
        assert "gate-closed" in world.events()

    def test_closing_it_does_not_shrink_what_was_let_begin(self):
        world = pushed(hook(CONFIRM_ROLLOUT, name="go", manual=True), spec=manual())
        world.ask(OperatorCommand.OPEN_GATE, gate="go")
        world.settle()
        world.ask(OperatorCommand.CLOSE_GATE, gate="go")
        world.settle()
        assert world.pods[template("2").digest].replicas == 3

    def test_a_gate_that_the_app_does_not_have_is_not_opened(self):
        world = pushed(hook(CONFIRM_PROMOTION, name="release", manual=True))
        world.ask(OperatorCommand.OPEN_GATE, gate="relaese")
        world.settle()
        assert (world.live, world.record.hook_state.open_gates) == ("1", ())


@pytest.mark.parametrize("type_", [PRE_ROLLOUT, ROLLOUT])
def test_a_candidate_awaits_its_promotion_only_once_its_hooks_have_said_yes(type_):
    world = pushed(hook(type_, iterations=1), spec=manual())
    assert world.decide().phase is Phase.PROGRESSING
    world.answer({str(type_): 200})
    world.settle()
    assert world.decide().phase is Phase.AWAITING_PROMOTION


FLAGGERS = {
    "Initialized": world(active(1)),
    "Succeeded": world(legacy(1), active(2)),
    "Initializing": world(rising(1)),
    "Progressing": world(active(1), rising(2)),
    "WaitingPromotion": world(active(1), candidate(2)),
}


@pytest.mark.parametrize("word", FLAGGERS)
def test_phase_in_flaggers_words(word):
    assert flagger_phase(FLAGGERS[word]) == word


def test_every_phase_has_a_name_of_flaggers():
    known = {"Initializing", "Waiting", "Progressing", "WaitingPromotion", "Promoting", "Succeeded", "Failed"}
    assert {phase: FLAGGER_PHASES.get(phase) in known for phase in Phase} == dict.fromkeys(Phase, True)


# --- what no hook may do ---


ALL = tuple(hook(type_) for type_ in HookType)


def test_no_hook_is_asked_about_the_first_deployment():
    world = deployed(hooked(automatic(), *ALL))
    assert {call.hook.type for call in world.decide().calls} <= {POST_ROLLOUT, EVENT, ALERT}


@pytest.mark.parametrize("answers", [{}, {str(type_): 500 for type_ in HookType if type_ is not ROLLBACK}])
def test_no_hook_stands_in_the_way_of_a_rollback(answers):
    world = pushed()
    assert world.live == "2"
    world.spec = hooked(world.spec, *ALL)
    world.ask(OperatorCommand.ROLLBACK)
    for _ in range(5):
        world.answer(answers)
        world.settle()
    assert world.live == "1"


def test_promotion_in_full_skips_the_checks_but_not_the_gates_of_people():
    world = pushed(hook(PRE_ROLLOUT), hook(ROLLOUT), hook(CONFIRM_PROMOTION))
    world.ask(OperatorCommand.PROMOTE_FULL)
    world.settle()
    assert (called(world), world.live) == (["confirm-promotion"], "1")
    for _ in range(2):
        world.answer({"confirm-promotion": 200})
        world.settle()
    assert world.live == "2"


def test_nothing_changes_while_no_hook_answers():
    world = pushed(*ALL)
    record = world.record
    world.later(seconds=5)
    decision = world.decide()
    assert (decision.record, decision.actions) == (record, ())


def test_a_pass_that_died_asks_with_the_same_id_again():
    world = pushed(hook(PRE_ROLLOUT))
    before = world.decide().calls
    assert world.decide().calls == before


def test_hooks_that_leave_the_file_hold_up_nothing():
    world = pushed(hook(PRE_ROLLOUT))
    world.spec = automatic()
    world.settle()
    assert (world.live, world.record.hook_state.runs) == ("2", ())


def test_what_is_not_taken_is_given_up_at_the_deadline_and_not_a_moment_later():
    world = pushed(hook(POST_ROLLOUT, deadline=600))
    for _ in range(20):
        assert called(world) == ["post-rollout"]
        world.later(seconds=30)
    world.settle()
    assert (called(world), world.events().count("hook-undelivered")) == ([], 1)


@pytest.mark.parametrize(("bad", "severity"), [(False, Severity.INFO), (True, Severity.ERROR)])
def test_a_phase_is_an_error_where_it_is_degraded(bad, severity):
    world = pushed(hook(HookType.EVENT), spec=replace(manual(), progress_deadline_seconds=60))
    world.answer({"event": 200})
    if bad:
        world.bad_tags.add("3")
    world.push("3")
    world.settle()
    world.later(seconds=120)
    world.settle()
    told = [one for one in world.record.outbox.messages if one.message.startswith("phase ")]
    assert told[-1].severity is severity


def test_what_a_hook_that_left_the_file_was_to_be_told_is_forgotten():
    world = pushed(hook(POST_ROLLOUT, name="stays"), hook(POST_ROLLOUT, name="goes"))
    assert called(world) == ["stays", "goes"]
    world.spec = hooked(automatic(), hook(POST_ROLLOUT, name="stays"))
    world.settle()
    assert [one.hook for one in world.record.outbox.messages] == ["stays"]


def test_gates_say_the_answer_and_when_it_is_asked_again():
    world = pushed(hook(CONFIRM_PROMOTION, interval=90))
    world.answer({"confirm-promotion": (409, "not now\nreally")})
    (gate,) = [gate for gate in world.decide().gates if gate.kind is GateKind.HOOK]
    assert gate.reason == (
        "confirm-promotion hook confirm-promotion: refused (409): not now really; asked again at 00:01:30Z"
    )


BUSY = {"answer": Answer.REFUSED, "status": 403, "refused": 1, "last_at": START}
GOOD = {"answer": Answer.ACCEPTED, "status": 200, "accepted": 1, "last_at": START}
MEASURES = AnalysisRun(AnalysisStage.PRE, digest(2), 2, started_at=START)
OPENED, OPENED_SILENTLY = (OpenGate("release", "ada", START, why) for why in ("tested by hand", ""))
RELEASE = {"name": "release", "manual": True, "deadline": 600}
SAID: dict[str, tuple[Hook, dict[str, Any] | None, dict[str, Any], str]] = {
    "not asked yet": (hook(CONFIRM_PROMOTION), None, {}, "not asked yet"),
    "asked, and silent so far": (hook(CONFIRM_PROMOTION), {}, {}, "no answer yet"),
    "refused: when it is asked again": (hook(CONFIRM_PROMOTION), BUSY, {}, "refused (403); asked again at 00:00:30Z"),
    "refused: how long it may stay shut": (
        hook(CONFIRM_PROMOTION, deadline=600),
        BUSY,
        {},
        "refused (403); asked again at 00:00:30Z, until 00:10:00Z",
    ),
    "shut for too long": (
        hook(CONFIRM_PROMOTION, deadline=600),
        {**BUSY, "expired": True},
        {},
        "refused (403); it did not open within 600 s; `gitops-bg retry shop/web` asks anew",
    ),
    "a body that fits is said whole": (
        hook(CONFIRM_PROMOTION),
        {"answer": Answer.REFUSED, "text": "x" * 300},
        {},
        f"refused: {'x' * 300}",
    ),
    "a longer one is cut": (
        hook(CONFIRM_PROMOTION),
        {"answer": Answer.REFUSED, "text": "x" * 301},
        {},
        f"refused: {'x' * 300}…",
    ),
    "rollout: how often of how many, and when again": (
        hook(ROLLOUT, iterations=3),
        GOOD,
        {},
        "accepted (200); asked again at 00:00:30Z",
    ),
    "rollout: that was the last of them": (hook(ROLLOUT), GOOD, {}, "accepted (200)"),
    "rollout: the analysis beside it still runs": (
        hook(ROLLOUT),
        GOOD,
        {"analysis": (MEASURES,)},
        "accepted (200); asked again at 00:00:30Z",
    ),
    "pre-rollout: an analysis that runs asks for no second answer": (
        hook(PRE_ROLLOUT, iterations=3),
        GOOD,
        {"analysis": (MEASURES,)},
        "accepted (200)",
    ),
}
COUNTED = {"rollout: how often of how many, and when again": " ✔1 ✖0 of 3"}


@pytest.mark.parametrize("name", SAID)
def test_what_is_said_of_a_hook(name):
    one, ran, record, said = SAID[name]
    state = world(active(1), candidate(2), spec=hooked(manual(), one), record=record)
    run = None if ran is None else HookRun(one.name, one.type, digest(2), 2, START, **ran)
    counted = COUNTED.get(name, " ✔1 ✖0 of 1") if one.type.counts_refusals else ""
    assert describe(state, one, run) == f"{one.type} hook {one.name}{counted}: {said}"


BY_HAND = {
    "closed, however long: it says how to open it": (
        (),
        "manual gate release is closed; `gitops-bg gate open shop/web release` opens it",
    ),
    "opened: by whom, and why": ((OPENED,), "manual gate release was opened by ada: tested by hand"),
    "opened by somebody who did not say why": ((OPENED_SILENTLY,), "manual gate release was opened by ada"),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_what_is_said_of_a_manual_gate(name):
    gates, said = BY_HAND[name]
    one = hook(CONFIRM_PROMOTION, **RELEASE)
    state = world(active(1), candidate(2), spec=hooked(manual(), one), record={"open_gates": gates})
    run = HookRun("release", CONFIRM_PROMOTION, digest(2), 2, START, answer=Answer.REFUSED, expired=not gates)
    assert describe(state, one, run) == said


FORWARD = {
    "the target's": (world(active(1), candidate(2)), 2, True),
    "one that the target names no longer": (world(active(1), candidate(2), wants=1), 2, False),
    "the last one, where the target cannot be read": (
        world(active(1), candidate(2), desired={"target": Missing.UNREADABLE}),
        2,
        True,
    ),
    "what serves": (world(active(1)), 1, False),
    "the first version": (world(candidate(1)), 1, False),
    "a way back": (world(legacy(1), active(2), names_=1), 1, False),
}


@pytest.mark.parametrize("name", FORWARD)
def test_hooks_are_asked_about(name):
    state, number, asked = FORWARD[name]
    assert goes_forward(state, state.record.numbered(number)) is asked


SECOND = timedelta(seconds=1)
MESSAGE = OutboxMessage("post-rollout", 1, START, "Succeeded")
ALERTED = replace(MESSAGE, hook="alert/alert")
TIMES = {
    "a message that nobody was told yet: at once": (hook(POST_ROLLOUT), MESSAGE, [START]),
    "one that was not taken: with growing pauses, until its deadline": (
        hook(POST_ROLLOUT, deadline=600),
        replace(MESSAGE, tries=3, last_at=START + 60 * SECOND),
        [START + 64 * SECOND, START + 600 * SECOND],
    ),
    "where nobody knows whom to tell: only the deadline": (
        hook(ALERT, deadline=600, unknown="there is no AlertProvider alert"),
        ALERTED,
        [START + 600 * SECOND],
    ),
    "of a hook that is gone: none": (hook(EVENT), MESSAGE, []),
}


@pytest.mark.parametrize("name", TIMES)
def test_moments_of(name):
    one, message, moments = TIMES[name]
    state = world(active(1), spec=hooked(manual(), one), record={"messages": (message,)})
    assert list(delivery_deadlines(state)) == moments


@pytest.mark.parametrize(("expired", "moments"), [(False, [START + 30 * SECOND, START + 600 * SECOND]), (True, [])])
def test_a_hook_that_expired_wakes_nobody(expired, moments):
    one = hook(CONFIRM_PROMOTION, deadline=600)
    run = HookRun(one.name, one.type, digest(2), 2, START, **BUSY, expired=expired)
    state = world(active(1), candidate(2), spec=hooked(manual(), one), record={"hooks": (run,)})
    assert list(query_deadlines(state)) == moments


def test_the_condition_has_all_of_the_body():
    world = pushed(hook(CONFIRM_PROMOTION))
    body = "x" * 4000
    world.answer({"confirm-promotion": (409, body)})
    (condition,) = [one for one in world.decide().conditions if one.type == "HooksPassed"]
    assert (condition.status, condition.reason) == (False, "Refused")
    assert body in condition.message


def test_the_condition_forgets_a_refusal_once_the_hook_said_yes_and_traffic_moved():
    world = pushed(hook(CONFIRM_PROMOTION), spec=manual())
    world.answer({"confirm-promotion": (409, "not now")})
    world.set_primary("2")  # somebody promotes all the same, and the hook is asked again
    world.settle()
    assert world.live == "1"
    world.answer({"confirm-promotion": (200, "go")})
    world.settle()
    assert world.live == "2"
    (condition,) = [one for one in world.decide().conditions if one.type == "HooksPassed"]
    assert (condition.status, condition.reason) == (True, "Passed")
    assert "not now" not in condition.message


def test_the_gate_of_its_pods_says_that_a_confirmation_comes_first():
    world = pushed(hook(CONFIRM_ROLLOUT))
    gates = {gate.kind: gate for gate in world.decide().gates}
    assert gates[GateKind.AVAILABILITY].reason == "its pods come up once every confirm-rollout hook has said yes"
    assert not gates[GateKind.AVAILABILITY].open


@pytest.mark.parametrize("type_", [PRE_ROLLOUT, ROLLOUT])
def test_hooks_that_try_the_new_version_wait_until_the_preview_reaches_it_alone(type_):
    """W12: what a hook asks through the preview Service must not be answered by the old pods."""
    world = deployed(hooked(automatic(), hook(type_)))
    world.late_endpoints.add("web-preview")
    world.push("2")
    world.settle()
    assert (world.shown, called(world), world.live) == ("2", [], "1")
    world.late_endpoints.clear()
    world.settle()
    assert called(world) == [str(type_)]


def test_version_that_is_being_promoted_keeps_the_preview_until_hooks_are_done_with_it():
    world = deployed(hooked(manual(), hook(PRE_ROLLOUT)))
    world.push("2")
    world.set_primary("2")
    world.settle()
    world.push("3")
    world.settle()
    assert (world.shown, called(world)) == ("2", [str(PRE_ROLLOUT)])
    world.answer({str(PRE_ROLLOUT): 200})
    world.settle()
    assert (world.live, world.shown) == ("2", "3")


# --- which are asked now ---

MISSING = (pods(1), pods(2, 3, 2))
CONFIRMED = manual(preview_service=None, hooks=(hook(PRE_ROLLOUT), hook(CONFIRM_PROMOTION)))
GOES = HookRun("pre-rollout", PRE_ROLLOUT, digest(2), 2, START, accepted=1, answer=Answer.ACCEPTED)
ASKED_NOW = {
    "nobody before its pods are available": (world(active(1), rising(2), spec=CONFIRMED), []),
    "first those that try it": (world(active(1), candidate(2), spec=CONFIRMED), ["pre-rollout"]),
    "then those that confirm it": (
        world(active(1), candidate(2), spec=CONFIRMED, record={"hooks": (GOES,)}),
        ["pre-rollout", "confirm-promotion"],
    ),
    "again once traffic is about to move": (
        world(active(1), candidate(2), names_=2, spec=CONFIRMED, record={"hooks": (GOES,)}),
        ["pre-rollout", "confirm-promotion, final"],
    ),
    "not while pods are missing that it needs": (
        world(active(1), candidate(2), names_=2, spec=CONFIRMED, sets=MISSING, record={"hooks": (GOES,)}),
        ["pre-rollout"],
    ),
    "nobody while the app is suspended": (
        world(active(1), candidate(2), spec=replace(CONFIRMED, suspend=Suspension("incident"))),
        [],
    ),
    "no check that somebody skips": (
        world(active(1), candidate(2), spec=CONFIRMED, record={"promote_full": digest(2)}),
        ["confirm-promotion"],
    ),
}


@pytest.mark.parametrize("name", ASKED_NOW)
def test_asked_now(name):
    state, expected = ASKED_NOW[name]
    runs = begin_hooks(state).record.hook_state.runs
    assert [f"{run.hook}, final" if run.final else run.hook for run in runs] == expected


FINAL = HookRun("confirm-promotion", CONFIRM_PROMOTION, digest(2), 2, START, final=True)


@pytest.mark.parametrize(("names", "kept"), [(2, True), (1, False)])
def test_what_was_asked_at_the_last_moment_is_forgotten_where_traffic_does_not_move(names, kept):
    state = world(active(1), candidate(2), names_=names, spec=CONFIRMED, record={"hooks": (GOES, FINAL)})
    assert (FINAL in begin_hooks(state).record.hook_state.runs) is kept


# --- what is told ---


def outbox(state: World) -> Outbox:
    return enqueue(state).record.outbox


@pytest.mark.parametrize(("versions", "about"), [((active(1),), 1), ((active(1), candidate(2)), 2)])
def test_a_change_of_phase_is_told_of_what_is_on_its_way_else_of_what_serves(versions, about):
    (message,) = outbox(world(*versions, spec=manual(hooks=(hook(EVENT),)))).messages
    assert message.checksum == digest(about)


def delivered(status: int, text: str = "no", **changes: Any) -> Record:
    """A message was answered so."""
    state = world(active(1), spec=manual(hooks=(hook(POST_ROLLOUT, **changes),)), record={"messages": (MESSAGE,)})
    answer = HookResponse(message_id(state, MESSAGE), status, NOW, text)
    return enqueue(replace(state, observed=replace(state.observed, calls=(answer,)))).record


def test_a_message_that_is_refused_is_told_again_as_often_as_the_hook_says():
    (again,) = delivered(500, retries=2).outbox.messages
    assert (again.tries, again.last_at) == (1, NOW)
    assert delivered(500).outbox.messages == ()


@pytest.mark.parametrize(("muted", "told"), [(False, ["hook-undelivered"]), (True, [])])
def test_that_a_hook_took_nothing_is_told_unless_its_author_wants_no_alert(muted, told):
    record = delivered(403, mute_alert=muted)
    assert [entry.event for entry in record.ledger] == told
    assert record.outbox.undelivered == ("post-rollout",)


def test_where_nobody_listens_nothing_is_noted_as_told():
    entry = LedgerEntry(1, NOW, Event.PROMOTED)
    record = {"ledger": (entry,), "sequence": 1}
    found = outbox(world(active(1), candidate(2), spec=manual(hooks=(hook(PRE_ROLLOUT),)), record=record))
    assert (found.notified_sequence, found.alerted, found.messages) == (0, 0, ())


def test_what_a_hook_took_again_and_what_was_told_is_noted():
    failing = {"messages": (MESSAGE,), "undelivered": ("post-rollout",)}
    state = world(active(1), spec=manual(hooks=(hook(POST_ROLLOUT),)), record=failing)
    answer = HookResponse(message_id(state, MESSAGE), 200, NOW)
    taken = enqueue(replace(state, observed=replace(state.observed, calls=(answer,))))
    assert (taken.record.outbox.messages, taken.record.outbox.undelivered) == ((), ())

    entry = LedgerEntry(1, NOW, Event.PROMOTED, to_version=1, to_digest=digest(1))
    listened = manual(hooks=(hook(ALERT),))
    told = enqueue(world(active(1), spec=listened, record={"ledger": (entry,), "sequence": 1}))
    assert (told.record.outbox.notified_sequence, len(told.record.outbox.messages)) == (1, 1)
    assert enqueue(told).record == told.record


OF_3 = replace(GOES, digest=digest(3), rollout=3)
JUDGES = {"analysis": (AnalysisRun(AnalysisStage.POST, digest(2), 2, fallback=digest(1), started_at=START),)}
SHOWN = {
    "the last that were asked, though nothing is on its way": (
        world(active(1), candidate(2, retiring=True), wants=1, spec=CONFIRMED, record={"hooks": (GOES,)}),
        [GOES],
    ),
    "not those of a rollout that another one took the place of": (
        world(active(1), candidate(2, retiring=True), candidate(3), spec=CONFIRMED, record={"hooks": (GOES, OF_3)}),
        [OF_3],
    ),
    "those of a version on its way, though another is behind it": (
        world(active(1), rising(2), candidate(3), names_=2, spec=CONFIRMED, record={"hooks": (GOES, OF_3)}),
        [GOES, OF_3],
    ),
    "those of what serves while it is judged": (
        world(legacy(1), active(2), candidate(3), spec=CONFIRMED, record={"hooks": (GOES, OF_3), **JUDGES}),
        [GOES, OF_3],
    ),
    "not those of what serves for good": (
        world(legacy(1), active(2), candidate(3), spec=CONFIRMED, record={"hooks": (GOES, OF_3)}),
        [OF_3],
    ),
}


@pytest.mark.parametrize("name", SHOWN)
def test_answers_that_are_remembered(name):
    state, runs = SHOWN[name]
    assert list(take_hook_answers(state).record.hook_state.runs) == runs


@pytest.mark.parametrize(("answer", "since"), [(Answer.REFUSED, START), (Answer.ACCEPTED, NOW)])
def test_patience_with_a_gate_begins_when_it_is_closed_again(answer, since):
    one = hook(CONFIRM_PROMOTION, **RELEASE)
    run = HookRun("release", CONFIRM_PROMOTION, digest(2), 2, START, answer=answer)
    state = world(active(1), candidate(2), spec=manual(preview_service=None, hooks=(one,)), record={"hooks": (run,)})
    (after,) = begin_hooks(state).record.hook_state.runs
    assert (after.answer, after.since) == (Answer.REFUSED, since)


def test_the_first_refusal_is_told_at_once():
    world = pushed(hook(CONFIRM_ROLLOUT))
    world.answer({"confirm-rollout": 403})
    assert world.events().count("hook-refused") == 1


ENTRY = LedgerEntry(1, NOW, Event.PROMOTED, to_version=1, to_digest=digest(1))
LINES = {
    "what happened, to which version, and why": (
        replace(ENTRY, reason="web 1"),
        ("promoted v1: web 1", digest(1)),
    ),
    "without a reason": (ENTRY, ("promoted v1", digest(1))),
    "of what was left, where nothing took its place": (
        LedgerEntry(1, NOW, Event.DELETED, from_version=2, from_digest=digest(2)),
        ("deleted", digest(2)),
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_an_event_hook_is_told(name):
    entry, line = LINES[name]
    told = {"ledger": (entry,), "sequence": 1, "notified_phase": "Healthy"}
    (message,) = outbox(world(active(1), spec=manual(hooks=(hook(EVENT),)), record=told)).messages
    assert (message.message, message.checksum) == line


def test_a_phase_without_any_version_is_told_of_none():
    (message,) = outbox(world(spec=manual(hooks=(hook(EVENT),)))).messages
    assert (message.message, message.checksum) == ("phase Invalid", "")


def test_messages_are_numbered_on_and_what_was_told_before_is_not_told_again():
    entries = tuple(replace(ENTRY, sequence=number) for number in (3, 4, 5))
    record = {"ledger": entries, "sequence": 5, "notified_sequence": 3, "notified_phase": "Healthy", "last_number": 7}
    found = outbox(world(active(1), spec=manual(hooks=(hook(EVENT),)), record=record))
    assert [message.number for message in found.messages] == [8, 9]
    assert (found.last_number, found.notified_sequence) == (9, 5)


def test_of_what_a_hook_says_as_it_refuses_a_message_three_hundred_characters_are_told():
    (entry,) = delivered(403, "x" * 301).ledger
    assert entry.reason == f"post-rollout hook post-rollout: refused (403): {'x' * 300}"

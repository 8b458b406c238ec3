"""Hooks of a group: who is asked before requests move and after, what their answers do, and who is told."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gitops_bg.core.groups.model import TransitionStep
from gitops_bg.core.model.analysis import LATEST, AnalysisPhase, AnalysisStage, MeasurementPlan, Metric
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.hooks import Hook, HookType
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.spec import Suspension
from tests.core.groups.simulation import World, store, version

PRE, POST = AnalysisStage.PRE, AnalysisStage.POST
ONCE = MeasurementPlan((Metric("smoke", "web", f'{{"url": "http://cart-{LATEST}"}}', consecutive_error_limit=0),))
SMOKE = Hook("smoke", HookType.PRE_ROLLOUT, deadline=600)
LOAD = Hook("load", HookType.ROLLOUT, iterations=2, deadline=600)
MAY_I = Hook("may-i", HookType.CONFIRM_PROMOTION)
BY_HAND = Hook("release", HookType.CONFIRM_PROMOTION, manual=True)
ALARM = Hook("alarm", HookType.ROLLBACK)
EVENTS = Hook("events", HookType.EVENT, deadline=600)
AFTER = Hook("after", HookType.POST_ROLLOUT, deadline=600)
YES, NO, WAIT = 200, 409, 503


def asked(*hooks: Hook, **changes: object) -> World:
    """The store at rest with v1, its hooks, and v2 asked for; hooks answer what `answers_with` has."""
    world = store(**changes)
    world.settle()
    world.hooks, world.active = hooks, "v2"
    return world


def gates(world: World) -> list[GateResult]:
    return [each for each in world.decide().gates if each.kind == GateKind.HOOK]


def called(world: World) -> list[str]:
    return [call.hook.name for call in world.called]


# --- by hand ---


def test_a_manual_gate_keeps_requests_until_somebody_opens_it_and_says_how() -> None:
    """As of an app, by the same request; its reason is the sentence of an app's."""
    world = asked(BY_HAND)
    assert (world.settle().phase, world.stages, world.called) == (Phase.WAITING, "v1A v2C", [])
    (gate,) = [each for each in world.decide().gates if each.kind is GateKind.MANUAL]
    assert gate.reason == "manual gate release is closed; `gitops-bg gate open shop/store release` opens it"
    assert world.told[-1] == (Event.HOOK_REFUSED, gate.reason)

    world.ask_for(OperatorCommand.OPEN_GATE, gate="release", reason="tested by QA")
    world.settle()

    assert world.stages == "v1L v2A"
    assert (Event.GATE_OPENED, "release: tested by QA") in world.told
    assert world.events.count(Event.HOOK_REFUSED) == 1
    assert [each.event for each in world.written].count(Event.GATE_OPENED) == 1


def test_a_gate_stays_open_for_later_versions_until_somebody_closes_it() -> None:
    world = asked(BY_HAND)
    world.ask_for(OperatorCommand.OPEN_GATE, gate="release")
    world.settle()
    world.ask_for(OperatorCommand.CLOSE_GATE, gate="release")
    world.settle()
    assert (Event.GATE_CLOSED, "release") in world.told
    world.versions["v3"], world.active = version(cart="/cart"), "v3"
    world.settle()
    assert world.stages == "v1L v2A v3C"
    world.active = "v1"
    world.settle()
    assert world.stages.startswith("v1A"), "no gate is asked on the way back"


def test_a_gate_that_is_closed_before_requests_move_keeps_them() -> None:
    world = asked(BY_HAND, accepts=None)
    world.ask_for(OperatorCommand.OPEN_GATE, gate="release")
    world.settle()
    assert world.record.transition is not None
    world.ask_for(OperatorCommand.CLOSE_GATE, gate="release")
    world.settle()
    world.accepts = True
    world.after(10).settle()
    assert world.record.transition is not None
    assert world.record.transition.step is TransitionStep.PREPARE


def test_a_gate_that_is_closed_in_the_very_look_that_would_move_requests_keeps_them() -> None:
    world = asked(BY_HAND)
    world.ask_for(OperatorCommand.OPEN_GATE, gate="release")
    while world.record.transition is None:
        world.step()
    world.ask_for(OperatorCommand.CLOSE_GATE, gate="release")
    world.settle()
    assert (world.stages, world.ask("/cart")) == ("v1A v2C", "cart-v1")


@pytest.mark.parametrize(
    ("changes", "opens"),
    [
        ({}, True),
        ({"gate": "other"}, False),
        ({"gate": "may-i"}, False),
        ({"age": timedelta(days=1, seconds=1)}, False),
    ],
    ids=["as asked", "a gate that nobody wrote", "a hook with an address", "a request of the day before"],
)
def test_which_request_opens_a_gate(changes: dict[str, Any], opens: bool) -> None:
    world = asked(BY_HAND, MAY_I, answers_with={"may-i": YES})
    world.ask_for(OperatorCommand.OPEN_GATE, **{"gate": "release", **changes})
    world.settle()
    assert (world.stages == "v1L v2A") is opens
    assert [each.name for each in world.record.hook_state.open_gates] == (["release"] if opens else [])
    assert world.record.operator.has_answered(world.requests[-1].id), "it is answered all the same"


def test_a_request_is_carried_out_once_also_where_the_agent_dies() -> None:
    world = asked(BY_HAND)
    world.ask_for(OperatorCommand.OPEN_GATE, gate="release")
    world.settle_with_crashes(1)
    world.ask_for(OperatorCommand.CLOSE_GATE, gate="release")
    world.settle_with_crashes(1)
    assert (world.stages, world.record.hook_state.open_gates) == ("v1L v2A", ())
    assert [each.event for each in world.written if "gate" in each.event] == ["gate-opened", "gate-closed"]


# --- before the promotion ---


@pytest.mark.parametrize("hook", [SMOKE, MAY_I, LOAD])
def test_requests_move_once_each_hook_agrees(hook: Hook) -> None:
    world = asked(hook)
    assert (world.settle().phase, world.stages) == (Phase.WAITING, "v1A v2C")
    assert gates(world)[0].reason.startswith(f"{hook.type} hook {hook.name}")
    world.answers_with[hook.name] = YES
    for _ in range(hook.iterations):
        world.after(hook.interval).settle()
    assert world.stages == "v1L v2A"
    assert not {Event.HOOK_REFUSED, Event.HOOK_EXPIRED} & {event for event, _ in world.told}


def test_hooks_are_asked_one_kind_after_the_other_and_the_analysis_between_them() -> None:
    world = asked(MAY_I, LOAD, SMOKE, before=ONCE)
    world.answers_with = {"smoke": YES, "load": YES, "may-i": YES}
    world.settle()
    assert called(world) == ["smoke", "load"]
    assert [each.id.stage for each in world.asked] == [PRE]
    world.after(30).settle()
    assert called(world) == ["smoke", "load", "load"]
    world.after(30).settle()
    assert called(world)[3:] == ["load"], "it goes on as long as the analysis"
    world.finds[PRE] = AnalysisPhase.SUCCESSFUL
    world.settle()
    assert called(world)[4:] == ["may-i"]
    assert world.stages == "v1L v2A"


def test_nothing_is_asked_until_every_service_is_healthy_nor_in_a_suspended_group() -> None:
    world = asked(SMOKE, MAY_I, answers_with={"smoke": YES, "may-i": YES})
    world.ill = {"cart-v2"}
    world.settle()
    world.ill, world.suspend = set(), Suspension("a holiday", "ada", world.now + timedelta(hours=1))
    world.settle()
    assert called(world) == []
    world.after(3600).settle()
    assert called(world) == ["smoke", "may-i"]
    assert world.stages == "v1L v2A"


@pytest.mark.parametrize("hook", [SMOKE, MAY_I, LOAD])
def test_a_clock_that_is_set_back_keeps_no_hook_from_being_asked_again(hook: Hook) -> None:
    world = asked(hook, answers_with={hook.name: WAIT})
    world.settle()
    world.after(-86_400).settle()
    world.answers_with[hook.name] = YES
    for _ in range(hook.iterations):
        world.after(60).settle()
    assert world.stages == "v1L v2A"


def test_a_hook_gets_the_version_the_former_one_and_a_key_that_a_try_keeps() -> None:
    world = asked(SMOKE, answers_with={"smoke": WAIT})
    world.settle()
    world.after(1).settle()
    first, second = world.called
    begun = int((world.now - timedelta(seconds=1)).timestamp()) * 1000
    assert (first.key, second.key) == (f"uid.1.pre-rollout.smoke.{begun}.0",) * 2
    assert first.id != second.id
    assert (first.phase, first.checksum) == ("Progressing", "v2-1")
    assert dict(first.metadata) == {"version": "v2", "formerVersion": "v1"}


def test_the_first_version_and_a_rollback_ask_nobody() -> None:
    world = store(hooks=(SMOKE, MAY_I, ALARM))
    world.settle()
    assert world.stages == "v1A v2C"
    world.hooks, world.active = (), "v2"
    world.settle()
    world.hooks, world.active = (SMOKE, MAY_I, ALARM), "v1"
    world.settle()
    assert (world.stages, called(world)) == ("v1A v2C", [])


@pytest.mark.parametrize("hook", [SMOKE, LOAD])
def test_too_many_refusals_hold_the_version_until_its_content_changes(hook: Hook) -> None:
    world = asked(hook, answers_with={hook.name: NO})
    assert (world.settle().phase, world.stages) == (Phase.HELD, "v1A v2C")
    (gate,) = gates(world)
    assert gate.reason == f"{hook.title} ✔0 ✖1 of {hook.iterations}: refused (409): {hook.name} said so"
    assert gate.remedy == "gitops-bg retry shop/store, change a file in v2/, or set active: v1 and back"
    assert [event for event, _ in world.told].count(Event.HOOK_REFUSED) == 1
    world.after(3600).settle()
    assert len(world.called) == 1, "what is decided is not asked again"
    world.answers_with[hook.name] = YES
    world.versions["v2"] = version("2 better", cart="/cart /new")
    world.settle()
    world.after(30).settle()
    assert world.stages == "v1L v2A"


@pytest.mark.parametrize(("hook", "against", "for_it"), [(SMOKE, NO, YES), (ALARM, YES, NO)])
def test_to_name_the_version_again_asks_again(hook: Hook, against: int, for_it: int) -> None:
    world = asked(hook, MAY_I, answers_with={hook.name: against})
    world.settle()
    world.active = "v1"
    world.settle()
    world.active, world.answers_with = "v2", {hook.name: for_it, "may-i": YES}
    world.settle()
    assert world.stages == "v1L v2A"
    assert len({call.key for call in world.called if call.hook == hook}) == 2


def test_a_tolerated_refusal_is_asked_again() -> None:
    world = asked(Hook("smoke", HookType.PRE_ROLLOUT, failure_limit=1), answers_with={"smoke": NO})
    assert world.settle().phase is Phase.WAITING
    assert "asked again at" in gates(world)[0].reason
    assert Event.HOOK_REFUSED in [event for event, _ in world.told]
    world.answers_with["smoke"] = YES
    world.after(30).settle()
    assert world.stages == "v1L v2A"


def test_a_confirmation_is_asked_until_it_agrees_and_again_while_other_gates_are_shut() -> None:
    world = asked(MAY_I, answers_with={"may-i": NO})
    for _ in range(3):
        assert world.after(30).settle().phase is Phase.WAITING
    assert [event for event, _ in world.told].count(Event.HOOK_REFUSED) == 1
    world.answers_with["may-i"], world.accepts = YES, False
    world.after(30).settle()
    assert world.record.transition is not None
    world.answers_with["may-i"] = NO
    world.after(30).settle()
    world.accepts = True
    world.after(30).settle()
    assert world.stages == "v1A v2C", "it has changed its mind before requests moved"
    world.after(600).settle()
    assert (world.stages, world.record.transition) == ("v1A v2C", None)


@pytest.mark.parametrize(("now_says", "stages"), [(NO, "v1A v2C"), (YES, "v1L v2A")])
def test_an_old_confirmation_does_not_count(now_says: int, stages: str) -> None:
    world = asked(MAY_I, answers_with={"may-i": YES}, accepts=False)
    world.settle()
    world.suspend = Suspension("a holiday", "ada", world.now + timedelta(minutes=5))
    world.settle()
    world.answers_with["may-i"], world.accepts = now_says, True
    world.after(300).settle()
    assert (world.stages, len(world.called)) == (stages, 2)


def test_a_confirmation_counts_for_ten_seconds_while_it_is_asked_for_again() -> None:
    world = asked(MAY_I, answers_with={"may-i": YES}, accepts=False)
    world.settle()
    world.answers_with.clear()
    open_after = []
    for seconds in (29, 10, 1):
        world.after(seconds).settle()
        open_after.append(gates(world)[0].open)
    assert open_after == [True, True, False]


def test_nobody_is_asked_once_requests_move() -> None:
    world = asked(MAY_I, answers_with={"may-i": YES})
    while world.record.transition is None or world.record.transition.step is TransitionStep.PREPARE:
        world.step()
    count, world.accepts = len(world.called), False
    world.after(60).settle()
    assert (world.record.transition is not None, len(world.called)) == (True, count)
    world.accepts = True
    world.settle()
    world.after(60).settle()
    assert (world.stages, len(world.called)) == ("v1L v2A", count)


def test_a_version_is_asked_about_once_the_other_one_is_taken_back() -> None:
    world = asked(SMOKE, answers_with={"smoke": YES}, accepts=False)
    world.versions["v3"] = version(cart="/cart")
    world.settle()
    world.active = "v3"
    world.settle()
    assert [dict(call.metadata)["version"] for call in world.called] == ["v2", "v3"]
    world.accepts = True
    world.settle()
    assert world.stages == "v1L v3A"


def test_the_end_of_a_deadline_wakes_the_group_and_is_told_once() -> None:
    world = asked(Hook("may-i", HookType.CONFIRM_PROMOTION, deadline=20), answers_with={"may-i": NO})
    assert world.settle().wake_at == world.now + timedelta(seconds=20)
    world.after(20).settle()
    assert Event.HOOK_EXPIRED in [event for event, _ in world.told]
    wake_at = world.after(600).settle().wake_at
    assert [event for event, _ in world.told].count(Event.HOOK_EXPIRED) == 1
    assert (wake_at, len(world.called)) == (None, 1)


def test_a_hook_has_its_whole_deadline_again_after_a_suspension() -> None:
    """Found so: a suspension of an hour counted, so that the hook expired unasked, and the version stayed behind."""
    world = asked(Hook("may-i", HookType.CONFIRM_PROMOTION, deadline=600), answers_with={"may-i": NO})
    world.settle()
    world.suspend = Suspension("a holiday")
    world.settle()
    world.after(3600).settle()
    world.suspend = None
    gate = next(each for each in world.decide().gates if each.kind == GateKind.HOOK)
    assert Event.HOOK_EXPIRED not in [event for event, _ in world.told]
    assert "until 13:10:00Z" in gate.reason
    world.settle()
    world.after(599).settle()
    assert Event.HOOK_EXPIRED not in [event for event, _ in world.told]


@pytest.mark.parametrize("yes", [True, False])
def test_after_a_suspension_the_hook_decides_within_its_time(yes: bool) -> None:
    world = asked(Hook("may-i", HookType.CONFIRM_PROMOTION, deadline=600, interval=60), answers_with={"may-i": NO})
    world.settle()
    world.suspend = Suspension("a holiday")
    world.settle()
    world.after(3600).settle()
    world.suspend = None
    world.settle()
    world.answers_with = {"may-i": YES if yes else NO}
    for _ in range(11):
        world.after(60).settle()
    assert world.stages == ("v1L v2A" if yes else "v1A v2C")
    assert (Event.HOOK_EXPIRED in [event for event, _ in world.told]) is not yes


def test_a_backend_that_does_not_answer_in_time_promotes_nothing_and_is_not_asked_any_more() -> None:
    world = asked(SMOKE, answers_with={"smoke": WAIT})
    world.settle()
    decision = world.decide()
    assert decision.wake_at == world.now + timedelta(seconds=1)
    world.after(601).settle()
    count = len(world.called)
    assert "it gave no answer within 600 s" in gates(world)[0].reason
    assert gates(world)[0].remedy
    assert world.after(600).settle().phase is Phase.WAITING
    assert (len(world.called), world.stages) == (count, "v1A v2C")
    assert Event.HOOK_EXPIRED in [event for event, _ in world.told]


def test_a_hook_that_leaves_the_file_is_not_waited_for() -> None:
    world = asked(MAY_I)
    world.settle()
    world.hooks = ()
    world.settle()
    assert (world.stages, world.record.hook_state.runs) == ("v1L v2A", ())


# --- back ---


def test_a_rollback_hook_that_refuses_is_no_news_as_for_an_app() -> None:
    """Found: `HookRefused`, a warning, was told of each hook that saw nothing wrong."""
    world = asked(ALARM, MAY_I, answers_with={"alarm": NO})
    world.settle()
    assert called(world) == ["alarm"]
    assert Event.HOOK_REFUSED not in [event for event, _ in world.told]


@pytest.mark.parametrize("mute", [False, True])
@pytest.mark.parametrize("hook", [SMOKE, ALARM])
def test_what_a_hook_keeps_from_its_promotion_is_aborted_as_of_an_app_also_by_a_muted_one(
    hook: Hook, mute: bool
) -> None:
    world = asked(replace(hook, mute_alert=mute), MAY_I, answers_with={hook.name: YES if hook is ALARM else NO})
    assert world.settle().phase is Phase.HELD
    told = [event for event, _ in world.told]
    assert told.count(Event.HOOK_REFUSED) == (0 if mute or hook is ALARM else 1)
    (entry,) = [each for each in world.written if each.event is Event.ABORTED]
    assert (entry.to_version, entry.by) == (2, hook.title if hook is ALARM else "")
    assert entry.reason.startswith(hook.title)


def test_that_a_muted_hook_led_back_is_told() -> None:
    world = asked(replace(ALARM, mute_alert=True), after_it=ONCE, answers_with={"alarm": NO})
    world.settle()
    world.answers_with["alarm"] = YES
    world.after(30).settle()
    assert world.stages == "v1A v2C"
    assert [event for event, _ in world.told][-3:] == [Event.ABORTED, Event.ROLLED_BACK, Event.HOLD_LIFTED]


def test_what_a_hook_says_of_the_version_on_its_way_is_no_answer_about_the_one_that_serves() -> None:
    """Found: a hook that came into the file while one version was measured and another was named asked about both by
    one id, so that a yes about the second one took requests from the first.
    """
    world = asked(after_it=ONCE, answers_with={"alarm": NO})
    world.settle()
    world.versions["v3"], world.active, world.hooks = version("2", cart="/cart"), "v3", (ALARM,)
    world.step()
    assert len({call.id for call in world.decide().calls}) == 2


def test_a_version_that_stays_though_a_hook_led_back_from_it_is_asked_about_anew() -> None:
    """Found: an old yes led back also after Git had answered by naming another version."""
    world = asked(ALARM, after_it=ONCE, answers_with={"alarm": NO}, takes_commits=False)
    world.settle()
    world.gone, world.answers_with = {"cart-v1"}, {"alarm": YES}
    world.after(30).settle()
    assert world.stages == "v1L v2A", "there is nothing to go back to"
    world.versions["v3"], world.active, world.answers_with = version("2", cart="/cart"), "v3", {"alarm": NO}
    world.settle()
    world.gone = set()
    world.after(30).settle()
    assert world.stages == "v1L v2A v3C"
    world.finds[POST] = AnalysisPhase.SUCCESSFUL
    world.after(30).settle()
    assert world.stages == "v1R v2L v3A"


def test_a_suspended_group_begins_to_ask_nobody_of_what_is_on_its_way_and_goes_on_with_who_may_lead_back() -> None:
    world = asked(ALARM, MAY_I, answers_with={"alarm": NO, "may-i": NO})
    world.suspend = Suspension("incident")
    world.settle()
    assert called(world) == []
    world.suspend = None
    world.settle()
    world.suspend = Suspension("incident")
    world.after(30).settle()
    assert called(world) == ["alarm", "may-i", "alarm"]


def test_a_rollback_hook_that_accepts_before_requests_move_keeps_the_version_where_it_is() -> None:
    world = asked(ALARM, MAY_I, answers_with={"alarm": NO})
    world.settle()
    assert [gate.reason for gate in gates(world)] == ["confirm-promotion hook may-i: no answer yet"]
    world.answers_with = {"alarm": YES, "may-i": YES}
    assert world.after(30).settle().phase is Phase.HELD
    assert world.stages == "v1A v2C"
    assert "rollback hook alarm: accepted (200): alarm said so" in [gate.reason for gate in gates(world)]


def test_a_promotion_under_way_is_taken_back_when_a_rollback_hook_accepts() -> None:
    world = asked(ALARM, answers_with={"alarm": NO})
    world.accepts = False
    world.settle()
    assert world.record.transition is not None
    world.answers_with["alarm"] = YES
    world.after(30).settle()
    world.accepts = True
    world.settle()
    assert (world.stages, world.record.transition) == ("v1A v2C", None)


@pytest.mark.parametrize("suspended", [False, True])
def test_a_rollback_hook_that_accepts_while_what_serves_is_measured_leads_back_at_once(suspended: bool) -> None:
    world = asked(ALARM, after_it=ONCE, answers_with={"alarm": NO})
    world.settle()
    assert world.stages == "v1L v2A"
    world.suspend = Suspension("incident") if suspended else None
    world.answers_with["alarm"], world.takes_commits = YES, False
    world.after(30).settle()
    assert world.stages == "v1A v2C"
    assert world.record.moves[-1].reason == "rollback hook alarm: accepted (200): alarm said so"
    world.takes_commits = True
    world.settle()
    assert world.active == "v1"


def test_a_rollback_hook_leads_back_from_what_is_measured_also_while_git_asks_for_another_version() -> None:
    world = asked(ALARM, after_it=ONCE, answers_with={"alarm": NO})
    world.versions["v3"] = version(cart="/cart")
    world.settle()
    world.versions["v3"], world.active = version("2", cart="/cart"), "v3"
    world.settle()
    assert world.stages == "v1L v2A v3C"
    about = {dict(call.metadata)["version"]: dict(call.metadata)["formerVersion"] for call in world.called}
    assert about == {"v2": "v1", "v3": "v2"}
    world.answers_with["alarm"] = YES
    world.after(30).settle()
    assert (world.stages, world.active) == ("v1A v2C", "v1")


def test_a_rollback_hook_that_comes_into_the_file_while_what_serves_is_measured_is_asked() -> None:
    world = asked(after_it=ONCE, answers_with={"alarm": YES})
    world.settle()
    world.hooks = (ALARM,)
    world.settle()
    assert (world.stages, world.active) == ("v1A v2C", "v1")


def test_a_rollback_hook_leads_back_from_what_serves_while_its_analysis_is_inconclusive() -> None:
    world = asked(ALARM, after_it=ONCE, answers_with={"alarm": NO})
    world.finds[POST] = AnalysisPhase.INCONCLUSIVE
    assert (world.settle().phase, world.stages) == (Phase.PAUSED, "v1L v2A")
    world.answers_with["alarm"] = YES
    world.after(30).settle()
    assert (world.stages, world.active) == ("v1A v2C", "v1")


def test_a_rollback_hook_that_has_accepted_is_not_asked_again() -> None:
    world = asked(ALARM, answers_with={"alarm": YES}, ill={"cart-v2"})
    assert world.settle().wake_at is None
    world.after(60).settle()
    assert called(world) == ["alarm"]


def test_a_rollback_hook_is_not_asked_once_the_analysis_is_over() -> None:
    world = asked(ALARM, after_it=ONCE, answers_with={"alarm": NO})
    world.finds[POST] = AnalysisPhase.SUCCESSFUL
    world.settle()
    before = len(world.called)
    world.after(3600).settle()
    assert len(world.called) == before


@pytest.mark.parametrize("writes", range(1, 7))
def test_an_agent_that_dies_after_any_write_comes_to_the_same_end(writes: int) -> None:
    world = asked(SMOKE, MAY_I, answers_with={"smoke": YES, "may-i": YES})
    world.settle_with_crashes(writes)
    assert world.stages == "v1L v2A"
    assert len({call.key for call in world.called}) == 2


# --- who is told ---


def deliver(world: World) -> list[tuple[str, str, str]]:
    """What was said to whom: hook, phase, event."""
    world.answers_with |= {"events": YES, "after": YES}
    world.settle()
    said = [each for each in world.called if each.hook.type in (HookType.EVENT, HookType.POST_ROLLOUT)]
    return [(each.hook.name, each.phase, dict(each.metadata).get("eventMessage", "")) for each in said]


def test_a_promotion_is_not_told_again_where_a_clock_that_was_ahead_is_set_back() -> None:
    world = asked(AFTER)
    world.after(86_400)
    told = deliver(world)
    world.after(-86_400)
    assert deliver(world) == told == [("after", "Succeeded", "")]
    assert world.record.moves[-1].at == world.now, "a policy may count from it"


def test_event_hooks_are_told_each_event_and_each_change_of_phase_in_order() -> None:
    said = deliver(asked(EVENTS))
    assert [text for _, _, text in said] == [
        "phase Promoting",
        "promoted v2",
        "phase Promoting → Progressing",
        "phase Progressing → Healthy",
    ]
    assert [phase for _, phase, _ in said][-1] == "Succeeded"


@pytest.mark.parametrize(
    ("after_it", "found", "outcome"),
    [
        (None, None, ["Succeeded"]),
        (ONCE, None, []),
        (ONCE, AnalysisPhase.SUCCESSFUL, ["Succeeded"]),
        (ONCE, AnalysisPhase.FAILED, ["Failed"]),
    ],
)
def test_a_post_rollout_hook_is_told_once_how_a_promotion_ended(
    after_it: MeasurementPlan | None, found: AnalysisPhase | None, outcome: list[str]
) -> None:
    world = asked(AFTER, after_it=after_it)
    world.settle()
    if found is not None:
        world.finds[POST] = found
    assert [phase for _, phase, _ in deliver(world)] == outcome
    assert {call.checksum for call in world.called} <= {"v2"}


@pytest.mark.parametrize(
    ("changes", "answers"),
    [
        ({"before": ONCE, "finds": {PRE: AnalysisPhase.FAILED}}, {}),
        ({"hooks": (SMOKE,)}, {"smoke": NO}),
        ({"hooks": (LOAD,)}, {"load": NO}),
        ({"hooks": (ALARM, MAY_I)}, {"alarm": YES, "may-i": WAIT}),
        ({"hooks": (SMOKE, LOAD), "before": ONCE, "finds": {PRE: AnalysisPhase.FAILED}}, {"smoke": YES, "load": NO}),
    ],
)
def test_a_post_rollout_hook_is_told_once_that_a_version_was_refused_before_requests_moved(
    changes: dict[str, Any], answers: dict[str, int]
) -> None:
    hooks = (*changes.pop("hooks", ()), AFTER)
    world = asked(*hooks, answers_with=dict(answers))
    for name, value in changes.items():
        setattr(world, name, value)
    for _ in range(3):
        world.after(30).settle()
    assert [phase for _, phase, _ in deliver(world)] == ["Failed"]
    world.versions["v2"] = version("2 other", cart="/cart")
    for _ in range(3):
        world.after(30).settle()
    assert [phase for _, phase, _ in deliver(world)] == ["Failed", "Failed"], "another content is another try"


@pytest.mark.parametrize("hook", [Hook("smoke", HookType.PRE_ROLLOUT, failure_limit=1), MAY_I])
def test_a_post_rollout_hook_is_told_nothing_while_a_hook_is_asked_again(hook: Hook) -> None:
    world = asked(hook, AFTER, answers_with={hook.name: NO})
    world.settle()
    assert deliver(world) == []


def test_a_rollback_that_somebody_asks_for_is_the_end_of_what_was_left_as_of_an_app() -> None:
    world = asked(AFTER)
    assert deliver(world) == [("after", "Succeeded", "")]
    world.active, world.accepts = "v1", False
    world.settle()
    assert world.stages == "v1A v2C"
    assert deliver(world)[1:] == [("after", "Failed", "")]
    assert {call.checksum for call in world.called} == {"v2"}


def test_messages_wait_while_the_files_are_broken() -> None:
    world = asked(EVENTS)
    world.settle()
    waiting = len(world.record.outbox.messages)
    world.problems = True
    world.settle()
    assert len(world.record.outbox.messages) == waiting
    world.problems = False
    assert len(deliver(world)) >= waiting

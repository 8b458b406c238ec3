"""Alerts about groups: who is told of what, once, in order, and also where the agent dies in between."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.analysis import LATEST, AnalysisPhase, AnalysisStage, MeasurementPlan, Metric
from gitops_bg.core.model.hooks import Hook, HookCall, HookResponse, HookType, Severity
from gitops_bg.core.model.journal import PullRequest, PullState
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.spec import Suspension
from tests.core.groups.simulation import Died, World, store, version

ALL = Hook("team", HookType.ALERT, severity=Severity.INFO, retries=3600, deadline=3600)
WARNED = Hook("lead", HookType.ALERT, severity=Severity.WARN, retries=3600, deadline=3600)
WOKEN = Hook("on-call", HookType.ALERT, severity=Severity.ERROR, retries=3600, deadline=3600)
ONCE = MeasurementPlan((Metric("smoke", "web", f'{{"url": "http://cart-{LATEST}"}}', consecutive_error_limit=0),))
SAYS_MORE = "; `gitops-bg explain shop/store` says more"


def at_rest(*alerts: Hook) -> World:
    """A group that serves v1, and nothing to tell."""
    world = store()
    world.settle()
    world.alerts = alerts
    return world


def deliver(world: World, status: int = 200, most: int = 50) -> list[tuple[str, str]]:
    """Send what is due, one call of each alert after the other; what was sent to whom."""
    sent: list[tuple[str, str]] = []
    for _ in range(most):
        calls = world.decide().calls
        if not calls:
            return sent
        for call in calls:
            assert call.alert is not None
            sent.append((call.hook.name, call.alert.text))
            world.calls[call.id] = HookResponse(call.id, status, world.now)
        world.step()
    return sent


def texts(world: World, status: int = 200) -> list[str]:
    return [text for _, text in deliver(world, status)]


def only_call(world: World) -> HookCall:
    (call,) = world.decide().calls
    return call


@pytest.mark.parametrize(
    ("pull", "links"),
    [
        (None, ()),
        (PullRequest(7, "https://git.example.com/pulls/7"), (("Pull request #7", "https://git.example.com/pulls/7"),)),
        (PullRequest(7, "https://git.example.com/pulls/7", PullState.CLOSED), ()),
        (PullRequest(7), ()),
    ],
)
def test_an_alert_leads_to_the_pull_request_that_people_decide_about(
    pull: PullRequest | None, links: tuple[tuple[str, str], ...]
) -> None:
    world = at_rest(ALL)
    world.pull = pull
    world.active = "v2"
    world.settle()
    alert = only_call(world).alert
    assert alert is not None
    assert alert.links == links
    assert dict(alert.facts)["Explain"] == "gitops-bg explain shop/store"


def test_without_alerts_nothing_is_kept() -> None:
    world = at_rest()
    world.active = "v2"
    assert world.settle().calls == ()
    assert world.record.outbox == GroupRecord().outbox
    assert world.record.alerted == ()


def test_a_promotion_and_a_rollback_are_told_in_order_each_once() -> None:
    world = at_rest(ALL)
    world.active = "v2"
    world.settle()
    assert texts(world) == ["shop/store: v2 is live"]
    world.active = "v1"
    world.settle()
    assert texts(world) == [f"shop/store: live traffic went back from v2 to v1{SAYS_MORE}"]
    assert texts(world) == []


def test_each_alert_gets_what_is_as_grave_as_it_asks_for() -> None:
    world = at_rest(ALL, WARNED, WOKEN)
    world.active = "v2"
    world.settle()
    world.active = "v1"
    world.settle()
    sent = deliver(world)
    assert [name for name, _ in sent].count("team") == 2
    assert [name for name, _ in sent if name != "team"] == ["lead"]


def test_a_move_that_the_gateway_does_not_take_is_an_error_and_one_that_is_asked_back_a_warning() -> None:
    world = at_rest(WARNED, WOKEN)
    world.active, world.accepts, world.says = "v2", False, "NoMatchingParent"
    world.step()
    world.active = "v1"
    world.accepts = True
    world.settle()
    assert [name for name, _ in deliver(world)] == ["lead"]
    world.active, world.accepts = "v2", False
    world.step()
    world.now += timedelta(seconds=601)
    world.step()
    world.accepts = True
    world.settle()
    sent = deliver(world)
    assert {name for name, _ in sent} == {"lead", "on-call"}
    taken_back = "the move from v1 to v2 was taken back, v1 stays active: 600 s were not enough for promotion to v2"
    assert any(taken_back in text for _, text in sent)


def test_a_rejected_promotion_is_told_once_while_it_lasts_and_again_when_it_comes_back() -> None:
    world = at_rest(WOKEN)
    for _ in range(2):
        world.active = "v9"
        world.settle()
        (text,) = texts(world)
        assert text.startswith("shop/store: NoSuchVersion: ")
        assert texts(world) == []
        world.active = "v1"
        world.settle()


def test_files_with_a_mistake_are_told_once() -> None:
    world = at_rest(WOKEN)
    world.problems = True
    world.settle()
    (text,) = texts(world)
    assert text.startswith("shop/store: InvalidSpec: ")
    assert texts(world) == []


def test_a_gate_that_only_a_person_opens_is_told_once_for_a_version() -> None:
    world = at_rest(WARNED)
    world.active, world.suspend = "v2", Suspension("a holiday", "ada")
    world.settle()
    assert texts(world) == [f"shop/store: v2 waits for somebody: suspended by ada: a holiday{SAYS_MORE}"]
    world.ill = {"cart-v2"}
    world.settle()
    world.ill = set()
    world.settle()
    assert texts(world) == []


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (AnalysisPhase.SUCCESSFUL, []),
        (AnalysisPhase.INCONCLUSIVE, [("lead", "v2 waits for somebody to decide")]),
        (
            AnalysisPhase.FAILED,
            [
                ("lead", "v2 was aborted"),
                ("on-call", "v2 was aborted"),
                ("lead", "live traffic went back from v2 to v1"),
                ("on-call", "live traffic went back from v2 to v1"),
            ],
        ),
    ],
)
def test_an_analysis_that_fails_is_an_error_and_so_is_the_way_back_and_one_that_begins_is_told_to_nobody(
    found: AnalysisPhase, told: list[tuple[str, str]]
) -> None:
    world = at_rest(WARNED, WOKEN)
    world.after_it, world.active = ONCE, "v2"
    world.settle()
    assert deliver(world) == []
    world.finds[AnalysisStage.POST] = found
    world.settle()
    begins = [(name, re.sub(r"^shop/store: (.*?)[:;].*", r"\1", text)) for name, text in deliver(world)]
    assert begins == told


def test_a_main_that_refuses_the_way_back_is_told_once() -> None:
    world = at_rest(WARNED)
    world.after_it, world.active, world.takes_commits = ONCE, "v2", False
    world.finds[AnalysisStage.POST] = AnalysisPhase.FAILED
    world.settle()
    said = "live traffic and main differ: main refuses the commit (main is protected)"
    assert [text for text in texts(world) if "main is protected" in text] == [
        f"shop/store: {said}; it is offered on the promotion branch; `gitops-bg explain shop/store` says what to merge"
    ]
    assert texts(world) == []
    world.takes_commits = True  # as long as a new process has not asked main yet
    world.record = world.decide().record
    world.takes_commits = False
    world.settle()
    assert texts(world) == []


def test_a_lost_record_is_told_once() -> None:
    world = at_rest(WOKEN)
    world.active = "v2"
    world.settle()
    world.record, world.versions = GroupRecord(), {"v1": world.versions["v1"]}
    world.active = "v1"
    world.settle()
    (text,) = texts(world)
    assert text.startswith("shop/store: RecordLost: ")
    assert texts(world) == []


@pytest.mark.parametrize("why", ["pods", "time"])
def test_a_gate_that_opens_by_itself_is_told_to_nobody(why: str) -> None:
    world = at_rest(ALL)
    world.active = "v2"
    if why == "pods":
        world.ill = {"cart-v2"}
    else:
        world.suspend = Suspension("a holiday", "ada", world.now + timedelta(hours=1))
    world.settle()
    suspended = (
        ["shop/store: it is suspended (by ada): a holiday; `gitops-bg resume shop/store` ends it"]
        if why == "time"
        else []
    )
    assert texts(world) == suspended, "nothing of the gate"


def test_no_answer_is_tried_again_with_the_same_key_until_the_deadline() -> None:
    world = at_rest(ALL)
    world.versions["v3"] = version("3", cart="/cart")
    world.settle()
    first = only_call(world)
    world.calls[first.id] = HookResponse(first.id, 503, world.now)
    world.step()
    decision = world.decide()
    assert decision.calls == ()
    assert decision.wake_at is not None
    world.now = decision.wake_at
    again = only_call(world)
    assert (again.key, again.id != first.id) == (first.key, True)
    world.now += timedelta(seconds=3601)
    world.step()
    assert world.decide().calls == ()
    assert world.record.outbox.undelivered == ("alert/team",)
    assert world.told[-1] == (Event.HOOK_UNDELIVERED, "alert team: no answer within 3600 s")


def test_a_refusal_is_final_and_the_next_message_is_sent() -> None:
    world = at_rest(ALL)
    for active in ("v2", "v1"):
        world.active = active
        world.settle()
    first = only_call(world)
    world.calls[first.id] = HookResponse(first.id, 404, world.now, "no such channel")
    world.step()
    assert world.record.outbox.undelivered == ("alert/team",)
    assert world.told[-1] == (Event.HOOK_UNDELIVERED, "alert team: refused (404): no such channel")
    assert texts(world) == [f"shop/store: live traffic went back from v2 to v1{SAYS_MORE}"]
    assert world.record.outbox.undelivered == ()


def test_an_alert_that_leaves_the_file_takes_its_messages_along() -> None:
    world = at_rest(ALL, WARNED)
    world.active = "v9"
    world.settle()
    world.alerts = (ALL,)
    assert [name for name, _ in deliver(world)] == ["team"]


def test_messages_of_a_provider_that_is_missing_wait() -> None:
    world = at_rest(Hook("team", HookType.ALERT, unknown="there is no AlertProvider team", deadline=3600))
    world.active = "v2"
    world.settle()
    assert world.decide().calls == ()
    assert len(world.record.outbox.messages) == 1


@pytest.mark.parametrize("most", range(8))
def test_an_agent_that_dies_after_any_write_tells_each_event_once(most: int) -> None:
    world = at_rest(ALL)
    world.active = "v2"
    for _ in range(30):
        try:
            world.step(most=max(1, most))
        except Died:
            continue
    world.settle()
    told = [event for event, _ in world.told]
    assert told.count(Event.PROMOTED) == 1
    assert texts(world).count("shop/store: v2 is live") == 1


def test_a_group_whose_alerts_are_delivered_is_quiet() -> None:
    world = at_rest(ALL, WARNED)
    world.active = "v2"
    world.settle()
    deliver(world)
    decision = world.decide()
    assert (decision.calls, decision.actions, decision.record == world.record) == ((), (), True)

"""Alerts in the engine: how severe each event is, who gets it, its text, and that nothing waits for alerts.

The rules are those of flagger.md §3.7, without its gap (#1663): every end of a rollout is told.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gitops_bg.core.delivery.messages import sentence
from gitops_bg.core.model.analysis import AnalysisPhase, MeasurementPlan, MeasurementResult, Metric
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.events import severity_of
from gitops_bg.core.model.hooks import Alert, Hook, HookType, OutboxMessage, Severity
from gitops_bg.core.model.journal import PullRequest, PullState
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.core.transitions.notifications import links_of
from tests.core.simulation import START, Simulation, automatic, deployed, manual
from tests.core.worlds import NOW, digest, world

INFO, WARN, ERROR = Severity


def alert(severity: Severity = INFO, name: str = "chat", **changes: Any) -> Hook:
    return Hook(name, HookType.ALERT, severity=severity, deadline=3600, retries=1000, **changes)


def alerting(spec: AppSpec, *hooks: Hook) -> AppSpec:
    return replace(spec, strategy=replace(spec.strategy, hooks=hooks or (alert(),)))


def take(world: Simulation, status: int = 200, name: str = "chat") -> list[Alert]:
    """Settle and let a provider take everything it is told, until it is told nothing more."""
    told: list[Alert] = []
    for _ in range(30):
        world.settle()
        calls = world.answer({name: status})
        if not calls:
            return told
        told.extend(call.alert for call in calls if call.alert)
    raise AssertionError("it is told more and more")


def started(spec: AppSpec | None = None, *hooks: Hook) -> Simulation:
    """Version 1 is live, and all of that was told."""
    world = deployed(alerting(spec or automatic(), *hooks))
    take(world)
    return world


def said(told: list[Alert]) -> list[tuple[str, str]]:
    return [(one.severity.value, one.text) for one in told]


# --- how grave ---


def test_an_entry_that_names_no_version_is_about_the_app():
    entry = LedgerEntry(7, NOW, Event.FAILED, reason="there is nothing to go back to")
    said = "shop/web: the app failed: there is nothing to go back to; `gitops-bg explain shop/web` says more"
    assert sentence(world().spec.app, entry) == said


@pytest.mark.parametrize(
    ("event", "by", "severity"),
    [
        (Event.DEPLOYED, "", INFO),  # initialised
        (Event.CANDIDATE, "Ada", INFO),  # new revision detected
        (Event.PROMOTED, "Ada", INFO),  # success
        (Event.ANALYSED, "", INFO),
        (Event.HOOK_REFUSED, "", WARN),  # waiting for approval
        (Event.PAUSED, "", WARN),
        (Event.ROLLED_BACK, "Ada", WARN),  # manual rollback
        (Event.ABORTED, "Ada", WARN),
        (Event.ROLLED_BACK, "", ERROR),  # promotion failed
        (Event.ABORTED, "", ERROR),  # threshold reached
        (Event.FAILED, "", ERROR),  # progress deadline exceeded: not sent by Flagger
        (Event.HOOK_EXPIRED, "", ERROR),
        (Event.INVALID, "", ERROR),
        (Event.HISTORY_REWRITTEN, "", ERROR),
        (Event.DIVERGED, "", WARN),
        (Event.ORPHANED, "", WARN),
    ],
)
def test_severities_are_flaggers_where_flagger_has_one(event, by, severity):
    assert severity_of(LedgerEntry(1, START, event, by=by)) is severity


@pytest.mark.parametrize(("wanted", "heard"), [(INFO, [INFO, WARN, ERROR]), (WARN, [WARN, ERROR]), (ERROR, [ERROR])])
def test_an_alert_is_told_what_is_as_grave_or_worse(wanted, heard):
    assert [one for one in Severity if one.reaches(wanted)] == heard


# --- what is said ---


def test_initialised_new_version_and_success_are_info_with_all_that_is_known():
    world = deployed(alerting(automatic()))
    world.push("2")
    told = take(world)
    commit = world.record.numbered(2).source.commit[:10]
    lines = [text for severity, text in said(told) if severity == "info"]
    assert len(lines) == len(told)
    assert lines[1].startswith("shop/web: 1 (v1) of commit ")
    assert "is live, the first version" in lines[1]
    assert f"of commit {commit}" in lines[2]
    assert "comes up, live traffic is untouched" in lines[2]
    assert "is live (by Ada" in lines[3] or "is live (by gitops-bg" in lines[3]
    facts = dict(told[2].facts)
    version = world.record.numbered(2)
    assert facts == {
        "App": "shop/web",
        "Version": "2 (v2)",
        "Digest": version.digest,
        "Commit": version.source.commit,
        "Author": version.source.author,
        "Explain": "gitops-bg explain shop/web",
    }
    assert told[2].links == (), "no forge is known"


URL = "https://git.example.com/shop/config/pulls/7"


@pytest.mark.parametrize(
    ("about", "pull", "links"),
    [
        (digest(2), PullRequest(7, URL, offer=f"{digest(2)}@abc#0"), (("Pull request #7", URL),)),
        (digest(2), PullRequest(7, URL, PullState.MERGED, f"{digest(2)}@abc#0"), (("Pull request #7", URL),)),
        (digest(2), PullRequest(7, URL, offer=f"{digest(3)}@abc#0"), ()),  # it offers another version by now
        (digest(2), PullRequest(7, URL), ()),
        (digest(2), PullRequest(7, "", offer=f"{digest(2)}@abc#0"), ()),
        ("", PullRequest(7, URL, offer="@abc#0"), ()),  # the message is about no version
        (digest(2), None, ()),
    ],
)
def test_an_alert_leads_to_the_pull_request_that_offers_its_version(
    about: str, pull: PullRequest | None, links: tuple[tuple[str, str], ...]
) -> None:
    state = world()
    state = replace(state, observed=replace(state.observed, git=replace(state.observed.git, pull=pull)))
    assert links_of(state, OutboxMessage("alert/chat", 1, NOW, "Promoting", about)) == links


def test_waiting_for_a_merge_is_said_once_for_a_rollout():
    world = started(manual())
    world.push("2")
    told = [one for one in take(world) if one.severity is WARN]
    assert [one.text.split(" waits ")[1] for one in told] == [
        "for approval: waiting for the promotion branch to be merged"
    ]
    world.pods_fail("2")
    take(world)
    world.pods_come_up()
    assert [one for one in take(world) if one.severity is WARN] == []
    world.push("3")
    assert len([one for one in take(world) if one.severity is WARN]) == 1


def test_who_asks_for_alerts_later_is_told_that_a_person_is_waited_for():
    listening = Hook("log", HookType.EVENT, deadline=3600)
    world = started(manual(), listening)
    world.push("2")
    take(world, name="log")
    assert world.record.outbox.alerted is None
    world.spec = alerting(manual(), listening, alert())
    assert [one.severity for one in take(world)] == [WARN]


def test_nobody_is_told_to_wait_where_the_agent_promotes_itself():
    world = started()
    world.push("2")
    assert [one for one in take(world) if one.severity is not INFO] == []


GATE = Hook("release", HookType.CONFIRM_PROMOTION, manual=True)


@pytest.mark.parametrize(("muted", "times"), [(False, 1), (True, 0)])
def test_a_closed_gate_is_told_with_what_opens_it_unless_it_is_muted(muted, times):
    world = started(None, alert(), replace(GATE, mute_alert=muted))
    world.push("2")
    told = [one for one in take(world) if one.severity is WARN]
    assert len(told) == times
    assert all("`gitops-bg gate open shop/web release` opens it" in one.text for one in told)


@pytest.mark.parametrize(("muted", "times"), [(False, 1), (True, 0)])
def test_a_hook_that_refuses_is_told_once_unless_it_is_muted(muted, times):
    world = started(None, alert(), Hook("board", HookType.CONFIRM_PROMOTION, interval=1, mute_alert=muted))
    world.push("2")
    told = take(world)
    for _ in range(3):
        world.answer({"board": (403, "change freeze")})
        world.later(seconds=1)
        told += take(world)
    refused = [one.text for one in told if "change freeze" in one.text]
    assert len(refused) == times


def late(world: Simulation) -> None:
    world.bad_tags.add("2")
    world.push("2")
    world.settle()
    world.later(seconds=600)


def late_and_aborted(world: Simulation) -> None:
    world.spec = replace(world.spec, progress_deadline_abort=True)
    late(world)


def fails_after_promotion(world: Simulation) -> None:
    world.push("2")
    take(world)
    world.bad_tags.add("2")
    world.settle()
    world.later(seconds=600)


def breaks(world: Simulation) -> None:
    world.problems = (Problem("apps/shop/web/target.yaml", "replicas must be a number", 6),)


ENDINGS: list[tuple[Callable[[Simulation], None], str]] = [
    (late, "failed: ProgressDeadlineExceeded: not available within 600 s; live traffic is untouched"),
    (late_and_aborted, "was aborted: ProgressDeadlineExceeded: not available within 600 s (progressDeadlineAbort)"),
    (fails_after_promotion, "live traffic went back from 2 (v2) to 1 (v1)"),
    (breaks, "its files are invalid, the last good state keeps serving: apps/shop/web/target.yaml:6"),
]


@pytest.mark.parametrize(("happens", "words"), ENDINGS, ids=[one.__name__ for one, _ in ENDINGS])
def test_every_failure_is_an_error_with_its_reason_and_what_to_do(happens, words):
    world = started(None, alert(ERROR))
    happens(world)
    told = take(world)
    assert told
    assert {one.severity for one in told} == {ERROR}
    (line,) = [one.text for one in told if words in one.text]
    assert "`gitops-bg " in line


def test_a_failed_analysis_is_an_error_with_its_reason():
    world = started(
        replace(
            automatic(), strategy=automatic(pre_promotion_analysis=MeasurementPlan((Metric("errors", "web"),))).strategy
        )
    )
    world.push("2")
    take(world)
    world.measured = tuple(
        MeasurementResult(one.id, AnalysisPhase.FAILED, world.now) for one in world.decide().measurements
    )
    world.step()
    world.measured = ()
    (told,) = [one for one in take(world) if one.severity is ERROR]
    assert "was aborted: pre-promotion analysis failed: errors" in told.text
    assert told.text.endswith("`gitops-bg retry shop/web` tries it again")


@pytest.mark.parametrize(
    "go_back",
    [Simulation.revert_promotion, lambda world: world.ask(OperatorCommand.ROLLBACK)],
    ids=["revert", "rollback --offline"],
)
def test_a_rollback_that_somebody_asked_for_is_a_warning_that_says_who(go_back):
    world = started()
    world.push("2")
    take(world)
    go_back(world)
    (told,) = [one for one in take(world) if "went back" in one.text]
    assert told.severity is WARN
    assert "(by " in told.text
    assert dict(told.facts)["Version"] == "2 (v2)"  # the one that was left is what people ask about


def test_a_rollback_hook_that_says_yes_is_a_manual_rollback_as_in_flagger():
    world = started(manual(), alert(), Hook("cord", HookType.ROLLBACK, interval=1))
    world.push("2")
    take(world)
    world.answer({"cord": (200, "somebody pulled the cord")})
    (told,) = [one for one in take(world) if "was aborted" in one.text]
    assert (told.severity, "by rollback hook cord" in told.text) == (WARN, True)


# --- how it is delivered ---


def test_nothing_waits_for_a_provider_that_is_down_and_the_ledger_says_so_once():
    world = started()
    for tag in ("2", "3"):
        world.push(tag)
        take(world, status=0)
        assert world.live == tag
    for _ in range(25):
        world.later(seconds=240)
        take(world, status=0) if world.decide().calls else world.settle()
    (entry,) = [one for one in world.entries() if one.event == "hook-undelivered"]
    assert entry.reason == "alert chat: no answer within 3600 s"
    assert world.record.outbox.messages == ()
    world.push("4")
    assert "v4" in take(world)[0].text


def test_a_refusal_is_not_repeated_and_said_once():
    world = started()
    world.push("2")
    take(world, status=404)
    assert [one.reason for one in world.entries() if one.event == "hook-undelivered"] == ["alert chat: refused (404): "]
    assert world.record.outbox.messages == ()


def test_what_one_provider_does_not_take_the_other_gets_in_order():
    world = started(None, alert(name="down"), alert(name="chat"))
    world.push("2")
    told = take(world, name="chat")
    assert ["comes up" in told[0].text, "is live" in told[1].text] == [True, True]


def test_an_alert_whose_provider_is_not_known_waits_and_is_told_when_it_is():
    world = started()
    world.spec = alerting(automatic(), alert(unknown="Git was not read yet"))
    world.push("2")
    assert take(world) == []
    world.spec = alerting(automatic())
    assert "comes up" in take(world)[0].text


def test_an_app_without_alerts_remembers_nothing_of_them():
    world = deployed(manual())
    world.push("2")
    world.settle()
    assert (world.record.outbox.messages, world.record.outbox.alerted) == ((), None)


def test_an_alert_may_be_called_as_a_hook_is():
    world = started(None, alert(), Hook("chat", HookType.EVENT))
    world.push("2")
    world.settle()
    assert {call.hook.type for call in world.decide().calls} == {HookType.EVENT, HookType.ALERT}
    assert len({call.key for call in world.decide().calls}) == 2

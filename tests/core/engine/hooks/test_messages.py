"""Hooks that only listen: what post-rollout and event hooks and alerts are told, in which order, and for how long."""

from dataclasses import replace
from typing import Any

import pytest

from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.hooks import HookResponse, OutboxMessage, Severity
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.world import World
from tests.core.engine.analysis.notation import BAD, GOOD, OPEN, measure, replan
from tests.core.engine.hooks.notation import (
    ALERT,
    EVENT,
    POST_ROLLOUT,
    PRE_ROLLOUT,
    answer,
    called,
    hook,
    hooked,
    pushed,
)
from tests.core.engine.hooks.test_questions import ONCE
from tests.core.simulation import START, Simulation, automatic, deployed, manual
from tests.core.stories import ask, push, wait
from tests.core.worlds import NOW, SECOND, active, candidate, decided, digest, legacy, pods, rising, world


def told(sim: Simulation) -> list[tuple[str, str]]:
    """The outcome and the version of each message that is sent now."""
    return [(call.phase, sim.tag(call.checksum)) for call in sim.decide().calls]


# --- post-rollout ---

JUDGED = automatic(post_promotion_analysis=ONCE)


def test_post_rollout_hears_of_a_promotion_and_stands_in_the_way_of_nothing():
    sim = pushed(hook(POST_ROLLOUT))
    assert (told(sim), sim.live) == ([("Succeeded", "2")], "2")
    push(sim, "3")
    assert sim.live == "3"


def test_post_rollout_hears_of_an_abort():
    sim = pushed(hook(POST_ROLLOUT), hook(PRE_ROLLOUT))
    answer(sim, {"pre-rollout": 500})
    assert told(sim) == [("Failed", "2")]


SUCCEEDS = {
    "the analysis after promotion is good": lambda sim: measure(sim, GOOD),
    "somebody promoted it in full": lambda sim: ask(sim, OperatorCommand.PROMOTE_FULL),
    "the analysis left the file": lambda sim: replan(sim, post_promotion_analysis=None),
}


@pytest.mark.parametrize("end", SUCCEEDS.values(), ids=SUCCEEDS)
def test_post_rollout_hears_once_of_a_success_as_soon_as_nothing_judges_it_any_more(end):
    sim = pushed(hook(POST_ROLLOUT), spec=JUDGED)
    assert (sim.live, called(sim)) == ("2", [])
    end(sim)
    assert told(sim) == [("Succeeded", "2")]
    answer(sim, {"post-rollout": 200})
    assert called(sim) == []


@pytest.mark.parametrize(("verdict", "outcomes"), [(BAD, [("Failed", "2")]), (OPEN, [])])
def test_post_rollout_hears_of_no_success_that_is_none_yet(verdict, outcomes):
    sim = pushed(hook(POST_ROLLOUT), spec=JUDGED)
    measure(sim, verdict)
    assert told(sim) == outcomes


def test_no_answer_is_told_again_until_the_deadline_and_then_said_once():
    sim = pushed(hook(POST_ROLLOUT, deadline=600))
    key = sim.decide().calls[0].key
    for _ in range(30):
        assert {call.key for call in sim.decide().calls} <= {key}
        sim.answer({"post-rollout": 503})
        sim.later(seconds=30)
    sim.settle()
    assert (called(sim), sim.events().count("hook-undelivered")) == ([], 1)


def test_what_is_not_taken_is_given_up_at_the_deadline_and_not_a_moment_later():
    sim = pushed(hook(POST_ROLLOUT, deadline=600))
    for _ in range(20):
        assert called(sim) == ["post-rollout"]
        sim.later(seconds=30)
    sim.settle()
    assert (called(sim), sim.events().count("hook-undelivered")) == ([], 1)


@pytest.mark.parametrize(("said", "why"), [("", ""), ("come back at noon", "; at last: come back at noon")])
def test_a_message_whose_next_try_would_be_too_late_is_given_up_with_what_its_hook_said_last(said, why):
    sim = pushed(hook(POST_ROLLOUT, deadline=600))
    sim.later(seconds=600 - 0.5)
    answer(sim, {"post-rollout": (503, said)})
    (entry,) = [each for each in sim.entries() if each.event is Event.HOOK_UNDELIVERED]
    assert entry.reason == f"post-rollout hook post-rollout: no answer within 600 s{why}"


def test_every_hook_is_called_when_another_fails_and_one_that_left_the_file_is_forgotten():
    sim = pushed(hook(POST_ROLLOUT, name="one"), hook(POST_ROLLOUT, name="two"), hook(POST_ROLLOUT, name="goes"))
    assert called(sim) == ["one", "two", "goes"]
    sim.answer({"one": 500})
    assert called(sim) == ["two", "goes"]
    sim.spec = hooked(automatic(), hook(POST_ROLLOUT, name="one"), hook(POST_ROLLOUT, name="two"))
    sim.settle()
    assert [one.hook for one in sim.record.outbox.messages] == ["two"]


# --- event ---


def test_every_ledger_event_and_every_change_of_phase_is_told_in_order():
    sim = deployed(hooked(automatic(), hook(EVENT)))
    lines: list[str] = []
    sim.push("2")
    for _ in range(20):
        sim.settle()
        lines.extend(dict(call.metadata)["eventMessage"] for call in sim.answer({"event": 200}))
    ledger = [line.split(":")[0] for line in lines if not line.startswith("phase")]
    assert ledger == ["candidate 1 (v1)", "deployed 1 (v1)", "candidate 2 (v2)", "promoted 2 (v2)"]
    phases = [line for line in lines if line.startswith("phase")]
    assert (phases[0], phases[-1]) == ("phase Deploying", "phase Promoting → Healthy")


def test_metadata_of_an_event_is_flaggers_and_trouble_is_a_warning():
    sim = deployed(hooked(automatic(), hook(EVENT), hook(PRE_ROLLOUT)))
    (call,) = sim.decide().calls
    assert set(dict(call.metadata)) == {"eventMessage", "eventType", "timestamp"}
    assert dict(call.metadata)["eventType"] == "Normal"
    assert dict(call.metadata)["timestamp"] == str(int(START.timestamp() * 1000))
    push(sim, "2")
    for _ in range(20):
        sim.answer({"event": 200})
    answer(sim, {"pre-rollout": 500})
    (call,) = sim.decide().calls
    assert dict(call.metadata)["eventType"] == "Warning"


def test_a_hook_that_takes_nothing_does_not_fill_the_record():
    sim = deployed(hooked(manual(), hook(EVENT)))
    for number in range(80):
        push(sim, str(number % 7 + 2))
    assert len(sim.record.outbox.messages) <= 100


@pytest.mark.parametrize(("bad", "severity"), [(False, Severity.INFO), (True, Severity.ERROR)])
def test_a_phase_is_an_error_where_it_is_degraded(bad, severity):
    sim = pushed(hook(EVENT), spec=replace(manual(), progress_deadline_seconds=60))
    sim.answer({"event": 200})
    if bad:
        sim.bad_tags.add("3")
    push(sim, "3")
    wait(sim, seconds=120)
    last = [one for one in sim.record.outbox.messages if one.message.startswith("phase ")][-1]
    assert last.severity is severity


LISTENED = manual(hooks=(hook(EVENT),))
ENTRY = LedgerEntry(1, NOW, Event.PROMOTED, to_version=1, to_digest=digest(1), to_tag="1")


def messages(state: World) -> tuple[OutboxMessage, ...]:
    return decided(state).record.outbox.messages


UNREADY = (pods(1), pods(2, 3, 0))
FLAGGERS = {
    "Initialized": (world(active(1), spec=LISTENED), 1),
    "Succeeded": (world(legacy(1), active(2), spec=LISTENED), 2),
    "Initializing": (world(rising(1, waiting_since=NOW), spec=LISTENED, sets=(pods(1, 3, 0),)), 1),
    "Progressing": (world(active(1), rising(2, waiting_since=NOW), spec=LISTENED, sets=UNREADY), 2),
    "WaitingPromotion": (world(active(1), candidate(2), spec=LISTENED), 2),
}


@pytest.mark.parametrize("word", FLAGGERS)
def test_a_change_of_phase_is_told_in_flaggers_words_of_what_is_on_its_way_else_of_what_serves(word):
    state, about = FLAGGERS[word]
    assert [(one.phase, one.checksum) for one in messages(state)] == [(word, digest(about))]


def test_a_phase_without_any_version_is_told_of_none():
    assert [(one.message, one.checksum) for one in messages(world(spec=LISTENED))] == [("phase Invalid", "")]


LINES = {
    "what happened, to which version, and why": (replace(ENTRY, reason="web 1"), ("promoted 1 (v1): web 1", digest(1))),
    "without a reason": (ENTRY, ("promoted 1 (v1)", digest(1))),
    "of what was left, where nothing took its place": (
        LedgerEntry(1, NOW, Event.DELETED, from_version=2, from_digest=digest(2)),
        ("deleted", digest(2)),
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_an_event_hook_is_told(name):
    entry, line = LINES[name]
    before = {"ledger": (entry,), "sequence": 1, "notified_phase": "Healthy"}
    (message,) = messages(world(active(1), spec=LISTENED, record=before))
    assert (message.message, message.checksum) == line


def test_messages_are_numbered_on_and_what_was_told_before_is_not_told_again():
    entries = tuple(replace(ENTRY, sequence=number) for number in (3, 4, 5))
    record = {"ledger": entries, "sequence": 5, "notified_sequence": 3, "notified_phase": "Healthy", "last_number": 7}
    found = decided(world(active(1), spec=LISTENED, record=record)).record.outbox
    assert [message.number for message in found.messages] == [8, 9]
    assert (found.last_number, found.notified_sequence) == (9, 5)


def test_where_nobody_listens_nothing_is_noted_as_told():
    record = {"ledger": (ENTRY,), "sequence": 1}
    found = decided(world(active(1), spec=manual(hooks=(hook(PRE_ROLLOUT),)), record=record)).record.outbox
    assert (found.notified_sequence, found.alerted, found.messages) == (0, None, ())


def test_what_happened_while_nobody_knew_who_listens_is_told_to_them_later():
    """A rollback without Git is decided by the live object, which has no alerts of the repository."""
    alone = decided(world(active(1), record={"ledger": (ENTRY,), "sequence": 1})).record
    assert alone.outbox.messages == ()
    (message,) = messages(world(active(1), spec=manual(hooks=(hook(ALERT),))).with_record(alone))
    assert message.message == "shop/web: 1 (v1) is live"


def test_an_alert_is_told_once():
    state = world(active(1), spec=manual(hooks=(hook(ALERT),)), record={"ledger": (ENTRY,), "sequence": 1})
    once = decided(state).record
    assert (once.outbox.notified_sequence, len(once.outbox.messages)) == (1, 1)
    assert decided(state.with_record(once)).record == once


# --- whether it was taken ---

MESSAGE = OutboxMessage("post-rollout", 1, NOW, "Succeeded")


def delivered(status: int, text: str = "no", undelivered: tuple[str, ...] = (), **changes: Any) -> Decision:
    """A message was answered so."""
    record = {"messages": (MESSAGE,), "undelivered": undelivered}
    state = world(active(1), spec=manual(hooks=(hook(POST_ROLLOUT, **changes),)), record=record)
    (call,) = decided(state).calls
    return decided(replace(state, observed=replace(state.observed, calls=(HookResponse(call.id, status, NOW, text),))))


def test_a_message_that_is_refused_is_told_again_as_often_as_the_hook_says():
    (again,) = delivered(500, retries=2).record.outbox.messages
    assert (again.tries, again.last_at) == (1, NOW)
    assert delivered(500).record.outbox.messages == ()


@pytest.mark.parametrize(("muted", "events"), [(False, ["hook-undelivered"]), (True, [])])
def test_that_a_hook_took_nothing_is_told_unless_its_author_wants_no_alert(muted, events):
    record = delivered(403, "x" * 301, mute_alert=muted).record
    assert [entry.event for entry in record.ledger] == events
    assert record.outbox.undelivered == ("post-rollout",)
    for entry in record.ledger:
        assert entry.reason == f"post-rollout hook post-rollout: refused (403): {'x' * 300}"


def test_a_hook_that_takes_again_what_it_is_told_is_no_longer_failing():
    outbox = delivered(200, undelivered=("post-rollout",)).record.outbox
    assert (outbox.messages, outbox.undelivered) == ((), ())


LATE = replace(MESSAGE, at=NOW - 597 * SECOND, tries=3, last_at=NOW)
TIMES = {
    "a message that nobody was told yet: at once": (hook(POST_ROLLOUT), MESSAGE, 1, None),
    "one that was not taken: with growing pauses": (hook(POST_ROLLOUT), replace(LATE, at=NOW), 0, 4),
    "and not after its deadline": (hook(POST_ROLLOUT, deadline=600), LATE, 0, 3),
    "where nobody knows whom to tell: only the deadline": (
        hook(ALERT, deadline=600, unknown="there is no AlertProvider alert"),
        replace(LATE, hook="alert/alert"),
        0,
        3,
    ),
    "of a hook that is gone: never": (hook(PRE_ROLLOUT), MESSAGE, 0, None),
}


@pytest.mark.parametrize("name", TIMES)
def test_when_a_message_is_sent(name):
    one, message, calls, seconds = TIMES[name]
    decision = decided(world(active(1), spec=manual(hooks=(one,)), record={"messages": (message,)}))
    assert len(decision.calls) == calls
    assert decision.wake_at == (None if seconds is None else NOW + seconds * SECOND)

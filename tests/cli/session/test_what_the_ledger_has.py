"""Verbs that do not read the ledger say nothing of entries that it may have by now: the agent notes that later."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.cli.session.agent_knowledge import as_the_agent_knows
from gitops_bg.core.model.actions import PublishLedger
from gitops_bg.core.model.observed import GitView
from gitops_bg.core.model.record import Event, LedgerEntry
from tests.core.simulation import APP
from tests.core.worlds import NOW, active, decided, rising, world

ENTRIES = (LedgerEntry(4, NOW, Event.CANDIDATE), LedgerEntry(5, NOW, Event.PROMOTED))
REFUSED = {"type": "LedgerWritable", "status": "False", "reason": "PushRefused", "message": "a hook says no"}


def told(git: GitView, *conditions: dict[str, str], record: dict[str, Any] | None = None) -> list[int]:
    """The numbers of the entries that a verb says are about to be written."""
    given = {"epoch": "5eed", "sequence": 5, "ledger": ENTRIES, **(record or {})}
    state = world(active(1), record=given)
    facts = Facts(APP, state.spec, state.desired, replace(state.observed, git=git), state.record, None)  # type: ignore[arg-type]
    known = as_the_agent_knows(facts, {"status": {"conditions": list(conditions)}})
    actions = decided(replace(state, observed=known.observed)).actions
    return [entry.sequence for action in actions if isinstance(action, PublishLedger) for entry in action.entries]


CASES: dict[str, tuple[GitView, tuple[dict[str, str], ...], dict[str, Any], list[int]]] = {
    "nobody read the ledger": (GitView(), (), {}, []),
    "it was read, and has one": (GitView(ledger_is_known=True, ledger_epoch="5eed", ledger_sequence=4), (), {}, [5]),
    "it was read, and has none": (GitView(ledger_is_known=True), (), {}, [4, 5]),
    "the agent says that it is refused": (GitView(), (REFUSED,), {}, [4, 5]),
    "it claimed what was never told": (GitView(), (), {"ledger_claimed": 3}, [4, 5]),
    "the record is new": (GitView(), (), {"ledger": (), "sequence": 0}, []),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_about_to_be_written_to_the_ledger(name: str) -> None:
    git, conditions, record, expected = CASES[name]
    assert told(git, *conditions, record=record) == expected


def test_what_begins_now_is_still_about_to_be_written() -> None:
    state = world(active(1), rising(2), record={"epoch": "5eed", "sequence": 5, "ledger": ENTRIES})
    entry = LedgerEntry(6, NOW, Event.HELD)
    unread = replace(state.observed, git=GitView())
    facts = Facts(APP, state.spec, state.desired, unread, state.record, None)  # type: ignore[arg-type]
    known = as_the_agent_knows(facts, None)
    after = replace(state.record, sequence=6, ledger=(*ENTRIES, entry))
    actions = decided(replace(state, observed=known.observed, record=after)).actions
    (publish,) = (action for action in actions if isinstance(action, PublishLedger))
    assert publish.entries == (entry,)

"""What is new in a record and need not be saved at once: what any look finds again, and nothing else."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.decision import is_deferrable
from gitops_bg.core.model.main import Main
from gitops_bg.core.model.record import (
    Event,
    LedgerEntry,
    Record,
    Rollout,
    RolloutOutcome,
    Routing,
    SeenInGit,
    Switch,
    SwitchKind,
)
from tests.core.worlds import NOW, SECOND, active, digest, legacy

ENTRIES = (LedgerEntry(4, NOW, Event.CANDIDATE), LedgerEntry(5, NOW, Event.PROMOTED))
ROLLOUT = Rollout(2, 2, digest(2), NOW, finished_at=NOW, outcome=RolloutOutcome.PROMOTED)
GIT = SeenInGit(main=Main("a" * 40, 1, "f" * 40), named=(digest(2),), offered=digest(2))
SAVED = Record(
    epoch="5eed",
    sequence=5,
    versions=(legacy(1), active(2)),
    rollouts=(ROLLOUT,),
    routing=Routing(traffic=digest(2), preview=digest(2)),
    git=GIT,
    ledger=ENTRIES,
)
ARRIVED = active(2, routed_at=NOW)
SETTLED = replace(ROLLOUT, settled_at=NOW)
ANOTHER_MAIN = replace(GIT.main, commit="b" * 40)
SWITCH = Switch(digest(2), digest(1), SwitchKind.ROLLBACK, NOW)

NOTES = {
    "nothing": {},
    "the endpoints have followed": {"versions": (legacy(1), ARRIVED)},
    "and the rollout is complete": {"versions": (legacy(1), ARRIVED), "rollouts": (SETTLED,)},
    "the ledger has an entry": {"ledger": ENTRIES[1:]},
    "the ledger has all": {"ledger": ()},
    "the offer is gone": {"git": replace(GIT, offered="")},
    "main moved, and says the same of the app": {"git": replace(GIT, main=ANOTHER_MAIN)},
    "all of it": {
        "versions": (legacy(1), ARRIVED),
        "rollouts": (SETTLED,),
        "ledger": (),
        "git": replace(GIT, offered="", main=ANOTHER_MAIN),
    },
}

DECISIONS = {
    "an entry for the ledger": {"ledger": (*ENTRIES, LedgerEntry(6, NOW, Event.HELD)), "sequence": 6},
    "an entry in the place of another": {"ledger": (replace(ENTRIES[1], reason="another"),)},
    "the ledger has a later entry and not an earlier one": {"ledger": ENTRIES[:1]},
    "a number": {"sequence": 6},
    "an offer": {"git": replace(GIT, offered=digest(3))},
    "the folder of the app has changed": {"git": replace(GIT, main=replace(ANOTHER_MAIN, tree="e" * 40))},
    "another history": {"git": replace(GIT, main=replace(ANOTHER_MAIN, generation=2))},
    "what main lost": {"git": replace(GIT, lost="c" * 40)},
    "a switch": {"routing": replace(SAVED.routing, switch=SWITCH)},
    "the preview": {"routing": replace(SAVED.routing, preview=digest(1))},
    "a version": {"versions": (legacy(1), ARRIVED, active(3))},
    "a version is forgotten": {"versions": (ARRIVED,)},
    "since when it is available": {"versions": (legacy(1), active(2, available_since=NOW))},
    "how its rollout ended": {"rollouts": (replace(SETTLED, outcome=RolloutOutcome.ROLLED_BACK),)},
    "a rollout": {"rollouts": (ROLLOUT, replace(SETTLED, number=3))},
}


@pytest.mark.parametrize("name", NOTES)
def test_what_any_look_finds_again_is_a_note(name):
    assert is_deferrable(SAVED, replace(SAVED, **NOTES[name]))


@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_is_no_note_nor_with_notes_beside_it(name):
    decided = replace(SAVED, **DECISIONS[name])
    assert not is_deferrable(SAVED, decided)
    assert not is_deferrable(SAVED, replace(decided, **{**NOTES["all of it"], **DECISIONS[name]}))


SEEN = replace(SAVED, versions=(legacy(1), ARRIVED), rollouts=(SETTLED,), git=replace(GIT, offered=""))
TAKEN_BACK = {
    "another moment of arrival": {"versions": (legacy(1), active(2, routed_at=NOW + SECOND))},
    "traffic comes again": {"versions": (legacy(1), active(2))},
    "another moment of the end": {"rollouts": (replace(SETTLED, settled_at=NOW + SECOND),)},
    "an offer again": {"git": GIT},
}


@pytest.mark.parametrize("name", TAKEN_BACK)
def test_what_is_saved_is_changed_by_a_decision_only(name):
    assert not is_deferrable(SEEN, replace(SEEN, **TAKEN_BACK[name]))

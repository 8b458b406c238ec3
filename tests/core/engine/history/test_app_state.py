"""Suspended, invalid, gone from main, rewritten: one ledger entry for each change, and what is then done."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.desired import Missing, Problem
from gitops_bg.core.model.main import Knowledge
from gitops_bg.core.model.observed import GitView
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.spec import DeletionPolicy, Suspension
from gitops_bg.core.model.statements import Override
from gitops_bg.core.model.version import Source
from tests.core.simulation import deployed, manual
from tests.core.stories import push, resume, suspend, wait
from tests.core.worlds import (
    NOW,
    SECOND,
    active,
    candidate,
    decided,
    digest,
    journal,
    legacy,
    pods,
    rising,
    sentences,
    service,
    world,
)

SUSPENDED = replace(manual(), suspend=Suspension("incident", "ada"))
DELETE = replace(manual(), deletion_policy=DeletionPolicy.DELETE)
ORPHAN = replace(manual(), deletion_policy=DeletionPolicy.ORPHAN)
PROBLEMS = {"problems": (Problem("target.yaml", "no image", 7, remedy="add one"),)}
SAID = "target.yaml:7: no image (add one)"
GONE = {"in_git": False, "target": Missing.ABSENT, "primary": Missing.ABSENT}
REWRITTEN = {"history_rewritten": "f" * 40}

CHANGES = {
    "it is suspended": (world(active(1), spec=SUSPENDED), [("suspended", "incident")]),
    "it stays suspended": (world(active(1), spec=SUSPENDED, record={"suspended": True}), []),
    "it is resumed": (world(active(1), record={"suspended": True}), [("resumed", "")]),
    "a file breaks": (world(active(1), desired=PROBLEMS), [("invalid", SAID)]),
    "it stays broken": (world(active(1), desired=PROBLEMS, record={"invalid": SAID}), []),
    "it breaks in another way": (world(active(1), desired=PROBLEMS, record={"invalid": "else"}), [("invalid", SAID)]),
    "it is mended": (world(active(1), record={"invalid": SAID}), [("valid", "")]),
    "its folder leaves main": (
        world(active(1), desired=GONE),
        [("orphaned", "the app's folder has left main without deletionPolicy: delete; it keeps serving")],
    ),
    "its folder stays away": (world(active(1), desired=GONE, record={"orphaned": True}), []),
    "its folder comes back": (
        world(active(1), record={"orphaned": True}),
        [("adopted", "the app's folder is back in main")],
    ),
    "its folder comes back, whatever would have become of it": (
        world(active(1), spec=DELETE, record={"orphaned": True}),
        [("adopted", "the app's folder is back in main")],
    ),
    "its folder leaves main on purpose": (world(active(1), spec=DELETE, desired=GONE), [("deleted", "")]),
    "its folder leaves main, and its objects stay": (
        world(active(1), spec=ORPHAN, desired=GONE),
        [("deleted", "deletionPolicy: orphan: its objects stay as they are, and serve, and are nobody's of ours")],
    ),
    "its folder leaves main on purpose while it is suspended: nothing yet": (
        world(active(1), spec=replace(DELETE, suspend=SUSPENDED.suspend), desired=GONE, record={"suspended": True}),
        [],
    ),
    "its folder leaves main with a rewritten history: nothing yet": (
        world(active(1), spec=DELETE, desired={**GONE, **REWRITTEN}, record={"history": "f" * 40}),
        [],
    ),
    "history is rewritten": (
        world(active(1), desired=REWRITTEN),
        [("history-rewritten", "main no longer contains ffffffffff; it moves nothing until that is back or accepted")],
    ),
    "history is rewritten, which is why main counts for nothing": (
        world(active(1), desired={**REWRITTEN, "knowledge": Knowledge.REWRITTEN}),
        [("history-rewritten", "main no longer contains ffffffffff; it moves nothing until that is back or accepted")],
    ),
    "history stays rewritten": (world(active(1), desired=REWRITTEN, record={"history": "f" * 40}), []),
    "history is accepted": (world(active(1), record={"history": "f" * 40}), [("history-accepted", "")]),
    "history is accepted, while nothing is known to last": (
        world(active(1), desired={"history_lasts": False}, record={"history": "f" * 40}),
        [("history-accepted", "")],
    ),
    "nothing changes": (world(active(1)), []),
}


@pytest.mark.parametrize("name", CHANGES)
def test_ledger_when(name):
    state, entries = CHANGES[name]
    record = decided(state).record
    assert [(entry.event.value, entry.reason) for entry in record.ledger] == entries
    assert decided(state.with_record(record)).record == record


BOB = Source("b" * 40, "Bob <bob@example.com>", NOW, "web: resume")
UNTIL = replace(manual(), suspend=Suspension("incident", "ada", NOW - SECOND))
WHO = {
    "who removed the suspension resumed it": (
        world(active(1), desired={"journal": journal(suspended_by=BOB)}, record={"suspended": True}),
        ("resumed", BOB.author, BOB.commit, "web: resume"),
    ),
    "nobody resumed what was to end by itself": (
        world(active(1), spec=UNTIL, desired={"journal": journal(suspended_by=BOB)}, record={"suspended": True}),
        ("resumed", "", "", "it was suspended until 2026-01-01T11:59:59Z"),
    ),
    "who suspended it is who the file names": (
        world(active(1), spec=SUSPENDED, desired={"journal": journal(suspended_by=BOB)}),
        ("suspended", "ada", BOB.commit, "incident"),
    ),
    "else who wrote the file": (
        world(
            active(1),
            spec=replace(manual(), suspend=Suspension("incident")),
            desired={"journal": journal(suspended_by=BOB)},
        ),
        ("suspended", BOB.author, BOB.commit, "incident"),
    ),
}


@pytest.mark.parametrize("name", WHO)
def test_the_ledger_says_who_and_by_which_commit(name):
    state, said = WHO[name]
    (entry,) = decided(state).record.ledger
    assert (entry.event, entry.by, entry.commit, entry.reason) == said


LED = "c" * 40
NAMES = {
    "that it is broken": (world(active(1), desired=PROBLEMS), ("invalid", LED, None, None)),
    "that it is mended": (world(active(1), record={"invalid": SAID}), ("valid", LED, None, None)),
    "that it keeps serving without a folder": (world(active(1), desired=GONE), ("orphaned", LED, None, 1)),
    "that its folder is back": (world(active(1), record={"orphaned": True}), ("adopted", LED, None, None)),
    "that it ends": (world(active(1), spec=DELETE, desired=GONE), ("deleted", LED, 1, None)),
    "that history is rewritten": (world(active(1), desired=REWRITTEN), ("history-rewritten", LED, None, None)),
    "that history is accepted": (world(active(1), record={"history": "f" * 40}), ("history-accepted", LED, None, None)),
}
"""The event, the commit, and the versions that traffic leaves and that it has."""


@pytest.mark.parametrize("name", NAMES)
def test_the_ledger_names_the_commit_and_what_served_when_it_says(name):
    state, said = NAMES[name]
    (entry,) = decided(state).record.ledger
    assert (entry.event, entry.commit, entry.from_version, entry.to_version) == said


def test_a_long_list_of_problems_is_cut_in_the_ledger():
    problems = {"problems": (Problem("target.yaml", "x" * 1000),)}
    (entry,) = decided(world(active(1), desired=problems)).record.ledger
    assert len(entry.reason) == 500


# --- leaving main ---

ENTRY = LedgerEntry(1, NOW, Event.PROMOTED)
DOWN = {"git": GitView(unreachable="connection refused", ledger_epoch="5eed")}
LEFT = {"spec": DELETE, "desired": GONE, "record": {"orphaned": True}}
GOING = {
    "it goes once its ledger is in Git": (world(active(1), **LEFT), ["delete the app"]),
    "its ledger first": (
        world(active(1), **{**LEFT, "record": {"orphaned": True, "ledger": (ENTRY,), "sequence": 1}}),
        ["write 1 ledger entry: promoted"],
    ),
    "it waits for Git with entries that are not there yet": (
        world(active(1), observed=DOWN, **{**LEFT, "record": {"orphaned": True, "ledger": (ENTRY,), "sequence": 1}}),
        [],
    ),
    "it goes with Git down where Git has everything": (world(active(1), observed=DOWN, **LEFT), ["delete the app"]),
    "a pending rollback does not bring its folder back": (
        world(
            active(1),
            legacy(2),
            **{**LEFT, "record": {"orphaned": True, "override": Override(digest(2), digest(1), "", "", NOW)}},
        ),
        ["delete the app"],
    ),
    "it stays while history is rewritten": (
        world(active(1), spec=DELETE, desired={**GONE, **REWRITTEN}, record={"history": "f" * 40}),
        [],
    ),
    "it stays while it is suspended": (
        world(active(1), spec=replace(DELETE, suspend=Suspension("x")), desired=GONE, record={"suspended": True}),
        [],
    ),
    "it stays without the policy": (world(active(1), desired=GONE, record={"orphaned": True}), []),
}


@pytest.mark.parametrize("name", GOING)
def test_an_app_that_left_main(name):
    state, said = GOING[name]
    found = sentences(state)
    assert len(found) == len(said)
    assert all(sentence.startswith(start) for sentence, start in zip(found, said, strict=True))


def test_an_app_that_left_main_by_a_force_push_is_deleted_once_somebody_accepts_it():
    sim = deployed(DELETE)
    sim.in_git, sim.history_rewritten = False, "f" * 40
    sim.settle()
    assert (sim.live, sim.deleted) == ("1", False)
    sim.history_rewritten = ""
    while not sim.deleted:
        sim.step()
    assert "deleted" in sim.events()


def test_an_app_that_left_main_still_repairs_what_serves():
    assert sentences(world(active(1), sets=(), desired=GONE, record={"orphaned": True})) == [
        "create the blue ReplicaSet of 1 (v1) at 3"
    ]


# --- suspension ---

STOPPED = {
    "a new target": world(active(1), wants=2, spec=SUSPENDED, record={"suspended": True}),
    "a candidate that comes up": world(
        active(1), rising(2), sets=(pods(1),), spec=SUSPENDED, record={"suspended": True}
    ),
    "a merged promotion": world(
        active(1), candidate(2), names_=2, spec=SUSPENDED, record={"suspended": True, "preview": digest(1)}
    ),
    "a warm version whose time is up": world(
        legacy(1, scale_down_at=NOW), active(2), spec=SUSPENDED, record={"suspended": True}
    ),
    "a repair of what somebody changed": world(
        active(1), spec=SUSPENDED, record={"suspended": True}, observed={"active_service": service("web", 0)}
    ),
    "a preview that moves": world(
        active(1), candidate(2), spec=SUSPENDED, record={"suspended": True}, sets=(pods(1), pods(2))
    ),
}


@pytest.mark.parametrize("name", STOPPED)
def test_suspension_stops(name):
    assert [line for line in sentences(STOPPED[name]) if not line.startswith("offer")] == []


def test_a_suspended_app_goes_back():
    state = world(legacy(1), active(2), names_=1, spec=SUSPENDED, record={"suspended": True, "primary": digest(2)})
    assert sentences(state)[0].startswith("roll live traffic back")


def test_a_suspension_costs_a_candidate_nothing_of_its_deadline():
    sim = deployed(manual())
    sim.bad_tags.add("2")
    push(sim, "2")
    suspend(sim)
    wait(sim, seconds=3600)
    resume(sim)
    wait(sim, seconds=599)
    assert "failed" not in sim.events()
    assert sim.decide().wake_at == sim.now + SECOND
    wait(sim, seconds=1)
    assert "failed" in sim.events()

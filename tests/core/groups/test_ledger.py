"""The ledger of a group: each event that people look for is in Git once, whatever happens between two writes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_bg.core.groups.observed import LedgerPosition
from gitops_bg.core.groups.record import GroupLedgerEntry
from gitops_bg.core.groups.reporting.events import GroupEvent
from gitops_bg.core.groups.reporting.ledger import VERBS, acknowledge_ledger
from gitops_bg.core.model.analysis.metrics import LATEST, AnalysisPhase, AnalysisStage, Metric, Plan
from gitops_bg.core.model.hooks import Hook, HookType
from gitops_bg.repo.ledger.group_ledger_file import GroupLedgerBatch
from tests.core.groups.notation import NOW
from tests.core.groups.simulation import World, store

POST = AnalysisStage.POST
ONCE = Plan((Metric("smoke", "web", f'{{"url": "http://cart-{LATEST}"}}', consecutive_error_limit=0),))
A_DAY = [
    GroupEvent.VERSION_REGISTERED,
    GroupEvent.VERSION_REGISTERED,
    GroupEvent.PROMOTION_STARTED,
    GroupEvent.PROMOTION_FINISHED,
    GroupEvent.ROLLBACK_STARTED,
    GroupEvent.ROLLBACK_FINISHED,
]


def events(world: World) -> list[GroupEvent]:
    return [entry.event for entry in world.written]


def live_a_day(world: World, writes: int = 10_000) -> World:
    """A promotion, and a rollback."""
    for active in ("v1", "v2", "v1"):
        world.active = active
        world.settle_with_crashes(writes)
    return world


@pytest.mark.parametrize("writes", range(1, 8))
def test_each_event_is_in_git_once_and_in_order_whenever_the_agent_dies(writes: int) -> None:
    world = live_a_day(store(), writes)
    assert events(world) == A_DAY
    assert [entry.sequence for entry in world.written] == list(range(1, 7))
    assert world.record.ledger == ()


def test_entries_wait_in_the_record_while_git_takes_none_and_hold_up_nothing() -> None:
    world = live_a_day(store(takes_ledger=False))
    assert (world.stages, events(world)) == ("v1A v2C", [])
    assert [entry.event for entry in world.record.ledger] == A_DAY
    world.takes_ledger = True
    world.settle()
    assert (events(world), world.record.ledger) == (A_DAY, ())


def test_a_move_says_from_where_to_where_and_why() -> None:
    world = store(after_it=ONCE)
    world.settle()
    world.active = "v2"
    world.finds[POST] = AnalysisPhase.FAILED
    world.settle()
    moves = [(entry.event, entry.source, entry.target) for entry in world.written if entry.source]
    assert moves == [
        (GroupEvent.PROMOTION_STARTED, "v1", "v2"),
        (GroupEvent.PROMOTION_FINISHED, "v1", "v2"),
        (GroupEvent.ROLLBACK_STARTED, "v2", "v1"),
        (GroupEvent.ROLLBACK_FINISHED, "v2", "v1"),
    ]
    (verdict,) = [entry for entry in world.written if entry.event is GroupEvent.ANALYSIS_FAILED]
    assert verdict.message.startswith("v2: post-promotion analysis failed")


def test_what_is_taken_back_says_which_version_stays() -> None:
    world = store()
    world.settle()
    world.active, world.accepts = "v2", False
    world.settle()
    world.active, world.accepts = "v1", True
    world.settle()
    last = world.written[-1]
    assert (last.event, last.source, last.target) == (GroupEvent.TRANSITION_WITHDRAWN, "v1", "v2")


def test_progress_repairs_and_messages_are_no_history() -> None:
    told = {GroupEvent.ANALYSIS_RUNNING, GroupEvent.REPAIRED, GroupEvent.CONTESTED, GroupEvent.UNDELIVERED}
    told |= {GroupEvent.DELETED}  # With the group ends the record whose entries Git gets.
    assert set(GroupEvent) - VERBS.keys() == told
    world = store(after_it=ONCE, hooks=(Hook("smoke", HookType.PRE_ROLLOUT),), answers_with={"smoke": 200})
    world.settle()
    world.active = "v2"
    world.settle()
    assert GroupEvent.ANALYSIS_RUNNING in world.events
    assert not told & set(events(world))


def test_a_new_life_of_a_group_adds_to_the_history_of_the_one_before() -> None:
    world = live_a_day(store())
    before = list(world.written)
    world.record, world.uid = type(world.record)(), "another"
    world.settle()
    world.active = "v2"
    world.settle()
    assert world.written[: len(before)] == before
    assert events(world)[-1] is GroupEvent.PROMOTION_FINISHED
    assert world.git.position.epoch == "another"
    assert {each.epoch for each in world.git.history} == {"uid", "another"}


def test_a_record_from_a_backup_numbers_its_entries_after_those_that_git_has() -> None:
    world = store()
    world.settle()
    backup = world.record
    live_a_day(world)
    known = len(world.written)
    world.record = backup
    world.active = "v2"
    world.after(60).settle()
    assert events(world)[known:] == [GroupEvent.PROMOTION_STARTED, GroupEvent.PROMOTION_FINISHED]
    assert [entry.sequence for entry in world.written] == list(range(1, len(world.written) + 1))


ENTRIES = tuple(GroupLedgerEntry(number, NOW, GroupEvent.PROMOTION_FINISHED, f"{number}") for number in (4, 5))


@pytest.mark.parametrize(
    ("position", "numbers", "sequence"),
    [
        (None, [4, 5], 5),
        (LedgerPosition("before", 9), [4, 5], 5),
        (LedgerPosition("life", 3), [4, 5], 5),
        (LedgerPosition("life", 4), [5], 5),
        (LedgerPosition("life", 5), [], 5),
        (LedgerPosition("life", 9), [10, 11], 11),
    ],
    ids=["nobody has looked", "of another life", "none", "one", "all", "more than this record ever gave out"],
)
def test_only_what_git_has_of_this_life_is_forgotten(
    position: LedgerPosition | None, numbers: list[int], sequence: int
) -> None:
    world = store().decided().with_record(epoch="life", sequence=5, ledger=ENTRIES)
    after = acknowledge_ledger(replace(world, observed=replace(world.observed, ledger=position))).record
    assert [entry.sequence for entry in after.ledger] == numbers
    assert [entry.message for entry in after.ledger] == ["4", "5"][len(ENTRIES) - len(numbers) :]
    assert after.sequence == sequence


def test_what_git_claimed_is_remembered_until_it_has_more() -> None:
    world = store().decided().with_record(epoch="life", sequence=5, ledger=ENTRIES)

    def seen(sequence: int) -> None:
        nonlocal world
        observed = replace(world.observed, ledger=LedgerPosition("life", sequence))
        world = acknowledge_ledger(replace(world, observed=observed))

    seen(9)
    assert world.record.ledger_claimed == 9
    seen(9)
    assert world.record.ledger_claimed == 9, "still what somebody else wrote"
    seen(11)
    assert (world.record.ledger_claimed, world.record.ledger) == (0, ())


def test_an_entry_that_git_has_under_another_number_is_not_taken_again() -> None:
    world = live_a_day(store())
    last = world.git.history[-1].entry
    again = replace(last, sequence=last.sequence + 5)
    _, fresh = world.git.taking(GroupLedgerBatch("uid", (again,)))
    assert fresh == ()

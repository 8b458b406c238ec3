"""The ledger of a group: each event that people look for is in Git once, whatever happens between two writes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.delivery.ledger import acknowledge_ledger
from gitops_bg.core.groups.model import TransitionStep
from gitops_bg.core.groups.record import GroupRecord, Transition, TransitionKind
from gitops_bg.core.model.analysis import LATEST, AnalysisPhase, AnalysisStage, MeasurementPlan, Metric
from gitops_bg.core.model.events import EVENTS, Notice
from gitops_bg.core.model.hooks import Hook, HookType
from gitops_bg.core.model.observed import GitView, OperatorCommand
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.version import SubjectKind
from gitops_bg.core.status.events import group_events
from gitops_bg.repo.ledger.ledger_file import LedgerBatch, SubjectState
from tests.core.groups.notation import NOW
from tests.core.groups.simulation import World, store

POST = AnalysisStage.POST
ONCE = MeasurementPlan((Metric("smoke", "web", f'{{"url": "http://cart-{LATEST}"}}', consecutive_error_limit=0),))
A_DAY = [Event.DEPLOYED, Event.CANDIDATE, Event.PROMOTED, Event.ROLLED_BACK]


def events(world: World) -> list[Event]:
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
    assert [entry.sequence for entry in world.written] == list(range(1, 5))
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
    moves = [(entry.event, entry.from_version, entry.to_version) for entry in world.written if entry.from_version]
    assert moves == [(Event.PROMOTED, 1, 2), (Event.ROLLED_BACK, 2, 1)]
    (verdict,) = [entry for entry in world.written if entry.event is Event.ABORTED]
    assert verdict.to_version == 2
    assert verdict.reason.startswith("post-promotion analysis failed")
    assert world.written[-2].reason == verdict.reason
    assert (world.written[-1].event, world.written[-1].to_version) == (Event.HOLD_LIFTED, 2)


def test_what_is_taken_back_says_which_version_stays() -> None:
    world = store()
    world.settle()
    world.active, world.accepts = "v2", False
    world.settle()
    world.active, world.accepts = "v1", True
    world.settle()
    last = world.written[-1]
    assert (last.event, last.from_version, last.to_version) == (Event.WITHDRAWN, 1, 2)
    assert (last.reason, last.commit) == ("group.yaml asks for v1", "c" * 40)


def test_what_an_abort_takes_back_no_commit_asked_for() -> None:
    world = store()
    world.settle()
    world.active, world.accepts = "v2", False
    world.settle()
    world.ask_for(OperatorCommand.ABORT)
    world.accepts = True
    world.settle()
    assert [(each.event, each.commit) for each in world.written[-2:]] == [(Event.ABORTED, ""), (Event.WITHDRAWN, "")]


def test_progress_is_no_history() -> None:
    world = store(after_it=ONCE, hooks=(Hook("smoke", HookType.PRE_ROLLOUT),), answers_with={"smoke": 200})
    world.settle()
    world.active = "v2"
    world.settle()
    of_groups = {event for event, row in EVENTS.items() if SubjectKind.GROUP in row.kinds}
    assert set(events(world)) <= of_groups
    assert [notice for notice, _ in world.notices] == [Notice.PROMOTION_STARTED, Notice.ANALYSIS_RUNNING]


MOVE = Transition(TransitionKind.PROMOTION, "v1", "v2", TransitionStep.PREPARE, NOW, NOW)
LATER = NOW + timedelta(minutes=1)
TAKEN_BACK = replace(MOVE, withdrawn="aborted", moved=True)
BACK = replace(MOVE, kind=TransitionKind.ROLLBACK, target="v0", started_at=LATER)
MOVES = {
    "it begins": (None, MOVE, [(Notice.PROMOTION_STARTED, "promotion from v1 to v2")]),
    "it takes a step": (MOVE, replace(MOVE, step=TransitionStep.SWITCH, step_since=LATER), []),
    "it is taken back": (MOVE, TAKEN_BACK, []),
    "it goes on": (
        TAKEN_BACK,
        MOVE,
        [(Notice.PROMOTION_STARTED, "promotion from v1 to v2 goes on: group.yaml asks for it again")],
    ),
    "it goes back further": (
        TAKEN_BACK,
        BACK,
        [(Notice.ROLLBACK_STARTED, "rollback from v2 to v0: v1 has no pods to go back to")],
    ),
    "it is over": (MOVE, None, []),
}


@pytest.mark.parametrize("name", MOVES)
def test_kubernetes_is_told_once_that_requests_begin_to_move(name: str) -> None:
    before, after, told = MOVES[name]
    happened = group_events(GroupRecord(transition=before), GroupRecord(transition=after))
    assert [(one.reason, one.message) for one in happened] == told


def test_a_new_life_of_a_group_adds_to_the_history_of_the_one_before() -> None:
    world = live_a_day(store())
    before = list(world.written)
    world.record, world.uid = type(world.record)(), "another"
    world.settle()
    world.active = "v2"
    world.settle()
    assert world.written[: len(before)] == before
    assert events(world)[-1] is Event.PROMOTED
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
    assert events(world)[known:] == [Event.PROMOTED]
    assert [entry.sequence for entry in world.written] == list(range(1, len(world.written) + 1))


def seen_at(epoch: str, sequence: int) -> GitView:
    """How far the ledger got."""
    return GitView(ledger_is_known=True, ledger_epoch=epoch, ledger_sequence=sequence)


ENTRIES = tuple(LedgerEntry(number, NOW, Event.PROMOTED, reason=f"{number}") for number in (4, 5))


@pytest.mark.parametrize(
    ("git", "numbers", "sequence"),
    [
        (GitView(), [4, 5], 5),
        (seen_at("before", 9), [4, 5], 5),
        (seen_at("life", 3), [4, 5], 5),
        (seen_at("life", 4), [5], 5),
        (seen_at("life", 5), [], 5),
        (seen_at("life", 9), [10, 11], 11),
    ],
    ids=["nobody has looked", "of another life", "none", "one", "all", "more than this record ever gave out"],
)
def test_only_what_git_has_of_this_life_is_forgotten(git: GitView, numbers: list[int], sequence: int) -> None:
    world = store().decided().with_record(epoch="life", sequence=5, ledger=ENTRIES)
    after = acknowledge_ledger(replace(world, observed=replace(world.observed, git=git))).record
    assert [entry.sequence for entry in after.ledger] == numbers
    assert [entry.reason for entry in after.ledger] == ["4", "5"][len(ENTRIES) - len(numbers) :]
    assert after.sequence == sequence


def test_what_git_claimed_is_remembered_until_it_has_more() -> None:
    world = store().decided().with_record(epoch="life", sequence=5, ledger=ENTRIES)

    def seen(sequence: int) -> None:
        nonlocal world
        observed = replace(world.observed, git=seen_at("life", sequence))
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
    _, fresh = world.git.taking(LedgerBatch("uid", (again,), SubjectState()))
    assert fresh == ()

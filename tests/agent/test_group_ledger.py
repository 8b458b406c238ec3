"""The thread that writes the ledger of groups: in one commit, after it has read how far Git is, and each for itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import pytest

from gitops_bg.agent.groups.ledger import GroupLedgerThread
from gitops_bg.agent.runtime.backoff import Backoff
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.groups.observed import LedgerPosition
from gitops_bg.core.groups.record import GroupLedgerEntry
from gitops_bg.core.groups.reporting.events import GroupEvent
from gitops_bg.core.model.version import GroupKey
from gitops_bg.repo.git.errors import PushRefused
from gitops_bg.repo.ledger.group_ledger_file import GroupDocument, GroupLedgerBatch
from gitops_bg.repo.ledger.ledger_entries import Position
from tests.support.waiting import eventually

STORE, BLOG = GroupKey("shop", "store"), GroupKey("shop", "blog")


def batch(*numbers: int) -> GroupLedgerBatch:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    entries = tuple(GroupLedgerEntry(number, at, GroupEvent.PROMOTION_FINISHED, "promoted") for number in numbers)
    return GroupLedgerBatch("life", entries)


class Git:
    """A ledger that takes entries, refuses them, or hits a bug with those of some groups."""

    def __init__(self) -> None:
        self.has: dict[GroupKey, int] = {}
        self.error: GitopsBgError | None = None
        self.strikes: set[GroupKey] = set()
        self.doubts: dict[GroupKey, str] = {}
        self.told: list[GroupKey] = []
        self.tries = 0
        self.leads = True

    def group_document(self, group: GroupKey) -> GroupDocument:
        at = Position("life" if group in self.has else "", self.has.get(group, 0))
        return GroupDocument(at, *(("v2", "v1") if group in self.has else ()))

    def group_ledger_doubts(self) -> Mapping[GroupKey, str]:
        return dict(self.doubts)

    def publish_groups(self, batch: Mapping[GroupKey, GroupLedgerBatch]) -> dict[GroupKey, GroupDocument]:
        self.tries += 1
        if self.error is not None:
            raise self.error
        if self.strikes & batch.keys():
            raise RecursionError("too deep")
        self.has |= {group: each.entries[-1].sequence for group, each in batch.items()}
        return {group: self.group_document(group) for group in batch}


@pytest.fixture
def git() -> Git:
    return Git()


@pytest.fixture
def ledger(git: Git) -> Iterator[GroupLedgerThread]:
    made = GroupLedgerThread(
        git,  # type: ignore[arg-type]
        changed=git.told.append,
        may_write=lambda: git.leads,
        clock=lambda: datetime.now(UTC),
        backoff=Backoff(lambda: 0.0, first=0.02, longest=0.02),
        crashed=lambda error: pytest.fail(str(error)),
    )
    made.start()
    yield made
    made.stop(5.0)


def known(ledger: GroupLedgerThread, *groups: GroupKey) -> None:
    for group in groups:
        ledger.submit(group, batch())
    eventually(lambda: all(ledger.position(each) for each in groups), what="it knows how far Git is")


def test_nothing_is_written_before_somebody_has_read_how_far_git_is(git: Git, ledger: GroupLedgerThread) -> None:
    git.has[STORE] = 7
    ledger.submit(STORE, batch(1))
    eventually(lambda: ledger.position(STORE), what="it knows how far Git is")
    assert (ledger.position(STORE), git.tries, git.told) == (LedgerPosition("life", 7, "v2", "v1"), 0, [STORE])


def test_an_entry_is_written_once_however_often_it_is_submitted(git: Git, ledger: GroupLedgerThread) -> None:
    known(ledger, STORE)
    for _ in range(3):
        ledger.submit(STORE, batch(1, 2))
        eventually(lambda: ledger.idle, what="nothing is due")
    assert (git.has[STORE], ledger.position(STORE), git.tries) == (2, LedgerPosition("life", 2, "v2", "v1"), 1)


def test_what_git_refuses_is_tried_again(git: Git, ledger: GroupLedgerThread) -> None:
    known(ledger, STORE)
    git.error = PushRefused("the branch is protected")
    ledger.submit(STORE, batch(1))
    eventually(lambda: git.tries > 1, what="it is tried again")
    git.error = None
    eventually(lambda: git.has.get(STORE) == 1, what="Git takes it")


def test_a_group_that_hits_a_bug_holds_up_no_other_one(git: Git, ledger: GroupLedgerThread) -> None:
    known(ledger, STORE, BLOG)
    git.strikes = {STORE}
    ledger.submit(STORE, batch(1))
    ledger.submit(BLOG, batch(1))
    eventually(lambda: git.has.get(BLOG) == 1, what="the other group is written")
    assert STORE not in git.has
    git.strikes = set()
    eventually(lambda: git.has.get(STORE) == 1, what="nothing is lost")


def test_an_agent_that_does_not_lead_writes_nothing(git: Git, ledger: GroupLedgerThread) -> None:
    known(ledger, STORE)
    git.leads = False
    ledger.submit(STORE, batch(1))
    eventually(lambda: ledger.idle, what="nothing is due")
    assert git.tries == 0


def test_a_group_that_left_main_is_forgotten_once_git_has_what_it_said(git: Git, ledger: GroupLedgerThread) -> None:
    known(ledger, STORE, BLOG)
    git.error = PushRefused("the branch is protected")
    ledger.submit(STORE, batch(1))
    ledger.keep(())
    assert (ledger.position(BLOG), ledger.position(STORE)) == (None, LedgerPosition("", 0))
    git.error = None
    eventually(lambda: git.has.get(STORE) == 1, what="Git takes it")
    ledger.keep(())
    assert ledger.position(STORE) is None


def test_a_branch_that_moved_is_read_again_and_what_waits_is_written_all_the_same(
    git: Git, ledger: GroupLedgerThread
) -> None:
    known(ledger, STORE, BLOG)
    ledger.submit(STORE, batch(1, 2))
    eventually(lambda: git.has.get(STORE) == 2, what="Git takes it")
    eventually(lambda: ledger.idle, what="nothing is due")
    told = list(git.told)
    git.has[STORE] = 1
    ledger.moved(("tip", "own"))
    eventually(lambda: ledger.position(STORE) == LedgerPosition("life", 1, "v2", "v1"), what="it is read again")
    assert git.told[len(told) :] == [STORE], "nothing is new of the other"
    git.doubts = {BLOG: "Mallory wrote it"}
    ledger.moved(("next", "own"))
    eventually(lambda: ledger.doubt(BLOG) == "Mallory wrote it", what="what is doubted is known")
    eventually(lambda: ledger.idle, what="nothing is due")
    assert (ledger.doubt(STORE), set(git.told[len(told) :])) == ("", {STORE, BLOG})
    git.error = PushRefused("the branch is protected")
    ledger.submit(STORE, batch(1, 2, 3))
    ledger.moved(("another", "own"))
    git.error = None
    eventually(lambda: git.has.get(STORE) == 3, what="nothing that waits is lost")
    tries = git.tries
    ledger.moved(("another", "own"))
    eventually(lambda: ledger.idle, what="nothing is due")
    assert git.tries == tries

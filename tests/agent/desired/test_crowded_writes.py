"""The Git thread, where many apps follow one another: history is written later, and nothing is lost."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import MagicMock

import pytest

from gitops_bg.agent.desired import batching as times
from gitops_bg.agent.desired import git_loop
from gitops_bg.agent.desired.batching import ClosedRefs
from gitops_bg.agent.desired.git_loop import GitLoop
from gitops_bg.agent.desired.git_writes import GitChange, GitWriteResult
from gitops_bg.core.backoff import Backoff
from gitops_bg.core.errors import GitopsBgError, InvalidInput, Transient
from gitops_bg.core.model.actions import GitAction, PublishLedger, WithdrawPromotion
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey, AppOrGroup
from gitops_bg.core.names import promotion_branch

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
WEB = AppKey("shop", "web")
OTHERS = [AppKey("shop", f"app-{number}") for number in range(times.CROWD)]
GONE, HISTORY = WithdrawPromotion("merged"), PublishLedger("life-1", ())


class Git:
    """A Git thread that is asked for one round after the other, and a remote that says what it got."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = NOW
        self.batches: list[dict[AppKey, list[GitAction]]] = []
        self.failing: dict[str, GitopsBgError] = {}
        self.incomplete: dict[AppOrGroup, GitopsBgError] = {}
        repository = MagicMock()
        repository.settings.branch, repository.settings.state_branch = "main", "state"
        repository.branch_of = promotion_branch
        catalog = MagicMock(rewritten="", held="", main_refused="")
        catalog.read_positions.return_value = frozenset()
        catalog.refresh.return_value.again = False
        closed = ClosedRefs(Backoff(lambda: 1.0, first=2.0), lambda: self.now)
        backoff: Backoff[str] = Backoff(lambda: 1.0)
        self.catalog = catalog
        self.listener = MagicMock()
        self.loop = GitLoop(
            repository, catalog, self.listener, MagicMock(), lambda: self.now, backoff=backoff, closed=closed
        )
        monkeypatch.setattr(git_loop, "write", self._write)

    def submit(self, app: AppKey, *actions: GitAction) -> None:
        self.loop.submit(app, GitChange(actions, Record(), ""))

    def later(self, by: timedelta) -> list[dict[AppKey, list[GitAction]]]:
        """Let time go by, and a round begin if one is due; return what it wrote."""
        self.now += by
        before = len(self.batches)
        if self.loop._is_due():
            self.loop._round()
        return self.batches[before:]

    def crowd(self) -> None:
        for app in OTHERS:
            self.submit(app, GONE)
        assert len(self.later(times.SOON)) == 1

    def _write(self, _repository: Any, changes: Mapping[AppKey, GitChange]) -> GitWriteResult:
        self.untold_while_written = self.catalog.waits_to_tell(WEB)
        self.batches.append({app: list(change.actions) for app, change in changes.items()})
        return GitWriteResult(failed=self.failing, incomplete=self.incomplete)


@pytest.fixture
def git(monkeypatch: pytest.MonkeyPatch) -> Git:
    return Git(monkeypatch)


def test_without_a_crowd_history_goes_along_at_once(git: Git) -> None:
    git.submit(WEB, GONE, HISTORY)
    assert git.later(times.SOON) == [{WEB: [GONE, HISTORY]}]
    assert git.loop.idle


def test_what_the_ledger_says_lags_until_history_that_waits_is_written(git: Git) -> None:
    """A group whose record is lost would else begin with what the ledger said before."""
    git.submit(WEB, GONE)
    assert not git.catalog.waits_to_tell(WEB)
    git.submit(WEB, HISTORY)
    assert git.catalog.waits_to_tell(WEB)
    assert not git.catalog.waits_to_tell(OTHERS[0])
    assert git.later(times.HISTORY_IN_A_CROWD) == [{WEB: [HISTORY]}]
    assert git.untold_while_written
    assert not git.catalog.waits_to_tell(WEB)


def test_in_a_crowd_history_is_written_once_it_is_due_itself(git: Git) -> None:
    git.crowd()
    git.submit(WEB, GONE, HISTORY)
    assert git.later(times.SOON) == []
    assert git.later(times.SOON_IN_A_CROWD - times.SOON) == [{WEB: [GONE]}]
    assert not git.loop.idle, "its history waits"
    assert git.later(times.HISTORY_IN_A_CROWD - times.SOON_IN_A_CROWD) == [{WEB: [HISTORY]}]
    assert git.loop.idle


def test_history_that_was_left_behind_is_written_at_the_end(git: Git) -> None:
    git.crowd()
    git.submit(WEB, GONE, HISTORY)
    git.later(times.SOON_IN_A_CROWD)
    git.loop._stopping = True
    git.loop._round()
    assert git.batches[-1] == {WEB: [HISTORY]}
    assert git.loop.idle


def test_what_failed_is_tried_again_although_its_history_was_left_behind(git: Git) -> None:
    git.crowd()
    git.failing = {promotion_branch(WEB): Transient("no answer")}
    git.submit(WEB, GONE, HISTORY)
    assert git.later(times.SOON_IN_A_CROWD) == [{WEB: [GONE]}]
    git.failing = {}
    of_history = git.later(times.HISTORY_IN_A_CROWD - times.SOON_IN_A_CROWD)
    assert of_history == [{WEB: [HISTORY]}], "its branch is closed still"
    assert git.later(timedelta(seconds=2)) == [{WEB: [GONE]}]
    assert git.loop.idle


def test_a_newer_decision_replaces_what_failed_and_what_was_left_behind(git: Git) -> None:
    git.crowd()
    git.submit(WEB, GONE, HISTORY)
    git.later(times.SOON_IN_A_CROWD)
    newer = PublishLedger("life-2", ())
    git.submit(WEB, newer)
    git.later(times.HISTORY_IN_A_CROWD)
    assert git.batches[-1] == {WEB: [newer]}
    assert git.loop.idle


def test_what_kept_a_write_from_being_made_is_over_once_nothing_is_wanted(git: Git) -> None:
    mistake = InvalidInput(Problem("groups/shop/store/group.yaml", "names v3"))
    git.incomplete = {WEB: mistake}
    git.submit(WEB, GONE)
    git.later(times.SOON)
    git.submit(WEB, GONE)
    assert git.loop.trouble(WEB) is mistake
    git.submit(WEB)
    assert git.loop.trouble(WEB) is None


def test_a_bug_after_a_poll_is_logged_and_the_next_poll_is_scheduled(
    git: Git, caplog: pytest.LogCaptureFixture
) -> None:
    git.listener.wake.side_effect = RuntimeError("broken")
    git.loop.poll_soon()
    git.loop._round()
    assert git.loop._poll_at is not None
    assert git.loop._poll_at > time.monotonic()
    assert "broken" in caplog.text

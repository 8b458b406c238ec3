"""A rewritten main lasts for a time, not for a number of polls: webhooks bring many polls at once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from gitops_bg.agent.desired.lineage import LASTING_POLLS, LEAST_BETWEEN, Followed, Lineage
from gitops_bg.core.model.main import Knowledge, Main
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.read.polling import Poll
from gitops_bg.repo.repository import Repository

WEB = AppKey("shop", "web")
BEFORE, AFTER = "b" * 40, "a" * 40


class Remote:
    """A main that lacks every commit but its own head."""

    def contains(self, commit: str) -> bool:
        return commit == AFTER

    def is_ancestor(self, commit: str, head: str) -> bool:
        return commit == head

    def lost(self, commits: Iterable[str]) -> set[str]:
        return set(commits) - {AFTER}

    def forget_seen(self) -> None: ...

    @property
    def mirror(self) -> Remote:
        return self


class Time:
    now = datetime(2026, 11, 25, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def lineage(time: Time) -> Lineage:
    made = Lineage(cast("Repository", Remote()), tuple, time)
    made.followed = Followed(BEFORE)
    return made


def poll(lineage: Lineage) -> Followed:
    found = lineage.judge(Poll(AFTER, 1, rewritten=BEFORE), lambda: 0)
    lineage.follow(found)
    return found


def test_polls_at_once_count_as_one(lineage: Lineage, time: Time) -> None:
    found = [poll(lineage) for _ in range(10 * LASTING_POLLS)]
    assert {each.polls for each in found} == {1}
    assert all(each.lost == BEFORE and not each.lasts for each in found)


def test_polls_with_time_between_them_count_each(lineage: Lineage, time: Time) -> None:
    found = []
    for _ in range(LASTING_POLLS):
        found.append(poll(lineage))
        poll(lineage)
        time.now += LEAST_BETWEEN
    assert [each.polls for each in found] == [1, 2, 3]
    assert [each.lasts for each in found] == [False, False, True]


def test_a_clock_that_is_set_back_stops_no_count(lineage: Lineage, time: Time) -> None:
    poll(lineage)
    time.now -= timedelta(hours=1)
    assert poll(lineage).polls == 2


def test_a_commit_that_a_record_names_is_missing_after_the_first_answer_and_lost_only_after_a_while(
    lineage: Lineage, time: Time
) -> None:
    known = Main("c" * 40)
    assert lineage.relation(lineage.followed, WEB, known, reachable=True) is Knowledge.OLDER
    assert lineage.asked(frozenset([known.commit])) == {WEB}
    assert lineage.relation(lineage.followed, WEB, known, reachable=True) is Knowledge.REWRITTEN
    for _ in range(10 * LASTING_POLLS):
        same = lineage.judge(Poll(BEFORE, 1), lambda: 0)
        assert same.lost == ""
        assert lineage.asked(frozenset([known.commit])) == frozenset()

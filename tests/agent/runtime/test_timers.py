"""Timers and backoff, with clocks and dice in the test's hand: one alarm for the earliest moment of all apps."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gitops_bg.agent.runtime.alarms import Alarms
from gitops_bg.agent.runtime.backoff import Backoff
from gitops_bg.agent.runtime.timers import Timers
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey
from tests.agent.runtime.by_hand import ByHand

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
WEB, API = AppKey("shop", "web"), AppKey("shop", "api")


class Night:
    """A scheduler that keeps one job, time that passes by hand, and a clock that may be set."""

    def __init__(self) -> None:
        self.now = NOON
        self.set_by = timedelta()
        self.ring: Callable[[], None] = self.fail
        self.due: datetime | None = None
        self.jobs = 0
        self.woken: list[AppOrGroup] = []
        self.timezone = ByHand(lambda: self.now)
        self.timers = Timers(Alarms(self), self.clock, self.woken.append)

    def clock(self) -> datetime:
        return self.now + self.set_by

    def fail(self) -> None:
        raise AssertionError("nothing was scheduled")

    def add_job(self, func: Callable[..., None], **options: Any) -> None:
        assert options["replace_existing"]
        self.ring, self.due, self.jobs = func, options["run_date"], self.jobs + 1

    def set_clock(self, by: timedelta) -> None:
        """Somebody sets the clock, and the agent notices."""
        self.set_by += by
        self.timers.clock_was_set(by)

    def pass_until(self, seconds: float) -> None:
        """Let time go by; the job runs at its moment."""
        end = NOON + timedelta(seconds=seconds)
        while self.due is not None and self.due <= end:
            self.now, self.due = max(self.now, self.due.replace(tzinfo=UTC)), None
            self.ring()
        self.now = end


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def test_an_app_and_a_group_of_one_name_are_woken_at_the_same_moment() -> None:
    """There is no order between them."""
    night, group = Night(), GroupKey(WEB.namespace, WEB.name)
    for each in (WEB, group, API):
        night.timers.schedule(each, at(10), "wake")
    night.set_clock(timedelta(seconds=5))
    night.pass_until(20)
    assert set(night.woken) == {WEB, group, API}


def test_each_app_is_woken_at_its_moment() -> None:
    night = Night()
    night.timers.schedule(WEB, at(20), "wake")
    night.timers.schedule(API, at(10), "wake")
    night.pass_until(15)
    assert night.woken == [API]
    night.pass_until(25)
    assert night.woken == [API, WEB]


def test_timer_that_is_set_again_moves() -> None:
    night = Night()
    night.timers.schedule(WEB, at(10), "wake")
    night.timers.schedule(WEB, at(30), "wake")
    night.pass_until(20)
    assert not night.woken
    night.pass_until(30)
    assert night.woken == [WEB]


def test_timer_that_is_taken_back_does_not_fire() -> None:
    night = Night()
    night.timers.schedule(WEB, at(10), "wake")
    night.timers.schedule(WEB, None, "wake")
    night.pass_until(60)
    assert not night.woken


def test_purposes_of_one_app_do_not_disturb_each_other() -> None:
    night = Night()
    night.timers.schedule(WEB, at(10), "retry")
    night.timers.schedule(WEB, None, "wake")
    night.pass_until(60)
    assert night.woken == [WEB]


def test_timer_set_to_the_moment_it_has_schedules_nothing() -> None:
    night = Night()
    night.timers.schedule(WEB, at(10), "wake")
    night.timers.schedule(WEB, at(10), "wake")
    assert night.jobs == 1


@pytest.mark.parametrize("by", [timedelta(hours=1), -timedelta(hours=1)], ids=["forward", "back"])
def test_timer_keeps_the_time_that_it_has_left_when_the_clock_is_set(by: timedelta) -> None:
    night = Night()
    night.timers.schedule(WEB, at(10), "retry")
    night.timers.schedule(API, at(30), "retry")
    night.pass_until(5)
    night.set_clock(by)
    night.pass_until(9)
    assert not night.woken
    night.pass_until(10)
    assert night.woken == [WEB]
    night.pass_until(30)
    assert night.woken == [WEB, API]


def test_moment_in_utc_that_is_set_again_counts_by_the_clock_as_it_is_now() -> None:
    night = Night()
    night.timers.schedule(WEB, at(3600), "wake")
    night.set_clock(timedelta(minutes=59))
    night.timers.schedule(WEB, at(3600), "wake")
    night.pass_until(60)
    assert night.woken == [WEB]


def test_ten_thousand_timers_are_one_job() -> None:
    night = Night()
    night.timers.schedule(WEB, at(1), "wake")
    for number in range(10_000):
        night.timers.schedule(AppKey("shop", f"app-{number}"), at(100 + number), "wake")
    assert night.jobs == 1
    night.pass_until(99)
    assert (night.woken, night.due) == ([WEB], at(100))


@pytest.mark.parametrize(("dice", "waits"), [(0.0, [0.5, 1, 2, 4, 4]), (1.0, [1, 2, 4, 8, 8])])
def test_backoff_doubles_with_jitter_up_to_its_limit(dice: float, waits: list[float]) -> None:
    backoff: Backoff[str] = Backoff(lambda: dice, first=1.0, longest=8.0)
    assert [backoff.failed("web") for _ in waits] == waits


def test_backoff_waits_at_least_as_long_as_the_other_side_asks() -> None:
    backoff: Backoff[str] = Backoff(lambda: 0.5, first=0.1)
    assert backoff.failed("web", at_least=30.0) >= 30.0


def test_backoff_begins_anew_after_a_success_and_counts_each_key_for_itself() -> None:
    backoff: Backoff[str] = Backoff(lambda: 1.0, first=1.0)
    first = backoff.failed("web")
    for _ in range(5):
        backoff.failed("web")
    assert backoff.failed("api") == first
    backoff.succeeded("web")
    assert backoff.failed("web") == first

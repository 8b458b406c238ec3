"""Timers and backoff, with clocks and dice in the test's hand."""

from datetime import UTC, datetime, timedelta

import pytest

from gitops_bg.agent.runtime.schedule import Timers, utc_now
from gitops_bg.core.backoff import Backoff
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey
from tests.support.waiting import PATIENCE, eventually

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
WEB, API = AppKey("shop", "web"), AppKey("shop", "api")


class Night:
    """Time that passes by hand, and a clock that may be set."""

    def __init__(self) -> None:
        self.now = NOON
        self.set_by = timedelta()
        self.woken: list[AppOrGroup] = []
        self.timers = Timers(self.clock, self.woken.append, self.crashed)

    def clock(self) -> datetime:
        return self.now + self.set_by

    def crashed(self, error: BaseException) -> None:
        raise error

    def set_clock(self, by: timedelta) -> None:
        """Somebody sets the clock, and the agent notices."""
        self.set_by += by
        self.timers.clock_was_set(by)

    def pass_until(self, seconds: float) -> None:
        """Let time go by; the thread of the timers looks once."""
        self.now = NOON + timedelta(seconds=seconds)
        self.timers.fire()


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


def test_of_ten_thousand_timers_those_that_are_due_fire_in_their_order() -> None:
    night = Night()
    apps = [AppKey("shop", f"app-{number}") for number in range(10_000)]
    for number, app in enumerate(apps):
        night.timers.schedule(app, at(10_000 - number), "wake")
    night.timers.schedule(apps[-1], at(2), "retry")
    night.pass_until(3)
    assert night.woken == [apps[9_999], apps[9_998], apps[9_997]], "each once"


def test_a_bug_in_waking_one_keeps_no_other_from_being_woken() -> None:
    woken = list[AppOrGroup]()

    def wake(app: AppOrGroup) -> None:
        if app == WEB:
            raise ZeroDivisionError
        woken.append(app)

    timers = Timers(lambda: NOON, wake, lambda error: None)
    for app in (WEB, API):
        timers.schedule(app, NOON, "wake")
    timers.fire()
    assert woken == [API]


@pytest.mark.parametrize("far", [timedelta(days=300_000), timedelta(days=2)])
def test_the_thread_fires_what_comes_before_all_that_it_waits_for_and_ends(far: timedelta) -> None:
    woken, crashed = list[AppOrGroup](), list[BaseException]()
    timers = Timers(utc_now, woken.append, crashed.append)
    timers.start()
    timers.schedule(WEB, utc_now() + far, "wake")
    timers.schedule(API, utc_now() + timedelta(milliseconds=50), "wake")
    eventually(lambda: woken == [API], what="the earlier one is woken")
    timers.schedule(WEB, utc_now(), "wake")
    eventually(lambda: woken == [API, WEB], what="the other one, whose moment moved, is woken")
    timers.stop(PATIENCE)
    assert (timers.alive, crashed) == (False, [])


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

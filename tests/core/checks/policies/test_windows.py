"""Windows against an oracle that knows no intervals: it reads the clock on the wall, minute by minute, for a year.

The oracle is written from policies.md §3 and shares nothing with the code: of a moment it asks which local time it is.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from gitops_bg.core.checks.policy_rules import HORIZON, ends_at, is_open, next_open, next_shut, starts_at, why_shut
from gitops_bg.core.model.policy_rules import DateSpan, Repeating, Weekly, Windows
from gitops_bg.spec.policies.expressions import read_cron

MINUTE = timedelta(minutes=1)
FRI, SAT, SUN, MON = 4, 5, 6, 0
ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC")
CHANGES = {
    "Europe/Berlin": ("2026-03-29T01:00", "2026-10-25T01:00"),
    "America/New_York": ("2026-03-08T07:00", "2026-11-01T06:00"),
    "Australia/Lord_Howe": ("2026-04-04T15:00", "2026-10-03T15:30"),
    "UTC": ("2026-03-29T01:00", "2026-10-25T01:00"),
}


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _is_working_hour(local: datetime) -> bool:
    return local.weekday() < SAT and 9 <= local.hour < 17


def _is_weekend(local: datetime) -> bool:
    return local.weekday() >= SAT or (local.weekday() == FRI and local.hour >= 14)


def _is_night(local: datetime) -> bool:
    """From 22:00 to 06:00, every day."""
    return local.hour >= 22 or local.hour < 6


def _is_christmas(local: datetime) -> bool:
    return (local.month, local.day) >= (12, 20) or (local.month, local.day) < (1, 5)


WORKING_HOURS = Weekly(frozenset(range(5)), 9 * 60, 17 * 60)
WEEKEND = (Weekly(frozenset([SAT, SUN]), reason="weekend"), Weekly(frozenset([FRI]), 14 * 60, 1440))
NIGHT = Weekly(frozenset(range(7)), 22 * 60, 6 * 60)
CHRISTMAS = (
    DateSpan(datetime(2025, 12, 20), datetime(2026, 1, 5)),
    DateSpan(datetime(2026, 12, 20), datetime(2027, 1, 5)),
)
POLICIES: dict[str, tuple[Windows, Callable[[datetime], bool]]] = {
    "working hours": (Windows(allow=(WORKING_HOURS,)), _is_working_hour),
    "no weekends": (Windows(deny=WEEKEND), lambda local: not _is_weekend(local)),
    "not at night": (Windows(deny=(NIGHT,)), lambda local: not _is_night(local)),
    "working hours but at Christmas": (
        Windows(allow=(WORKING_HOURS,), deny=CHRISTMAS),
        lambda local: _is_working_hour(local) and not _is_christmas(local),
    ),
    "two shifts": (
        Windows(allow=(Weekly(frozenset([0, 1]), 0, 120), Weekly(frozenset([1, 2]), 60, 180))),
        lambda local: (
            (local.weekday() in (0, 1) and local.hour < 2) or (local.weekday() in (1, 2) and 1 <= local.hour < 3)
        ),
    ),
}


def _moments(zone: str, step: timedelta = timedelta(minutes=97)) -> Iterator[datetime]:
    """All over a year, at all times of the day, and each minute around both changes of daylight-saving time."""
    moment = utc("2026-01-01T00:00")
    while moment < utc("2027-01-01T00:00"):
        yield moment
        moment += step
    for change in map(utc, CHANGES[zone]):
        yield from (change + number * MINUTE for number in range(-150, 151))


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("name", POLICIES)
def test_windows_are_open_when_the_clock_on_the_wall_says_so(name: str, zone: str) -> None:
    windows, oracle = POLICIES[name]
    windows = Windows(windows.allow, windows.deny, ZoneInfo(zone), zone)
    wrong = [each for each in _moments(zone) if is_open(windows, each) != oracle(each.astimezone(windows.zone))]
    assert not wrong, f"{len(wrong)} moments, the first {wrong[0].astimezone(windows.zone)}"


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("name", POLICIES)
def test_the_next_opening_is_the_first_open_minute(name: str, zone: str) -> None:
    """Found by walking on, minute by minute; asked about from moments all over the year."""
    windows, oracle = POLICIES[name]
    windows = Windows(windows.allow, windows.deny, ZoneInfo(zone), zone)
    starts = [utc("2026-01-02T03:17") + number * timedelta(days=13, hours=5) for number in range(27)]
    for start in (*starts, *(utc(change) - 90 * MINUTE for change in CHANGES[zone])):
        found = next_open(windows, start)
        walked = start
        while not oracle(walked.astimezone(windows.zone)):
            walked = walked.replace(second=0) + MINUTE
        assert found == walked, start


@pytest.mark.parametrize(
    ("zone", "wall", "starts", "ends"),
    [
        ("Europe/Berlin", "2026-03-29T02:30", "2026-03-29T01:00", "2026-03-29T01:00"),  # is jumped over
        ("Europe/Berlin", "2026-10-25T02:30", "2026-10-25T00:30", "2026-10-25T01:30"),  # comes twice
        ("America/New_York", "2026-03-08T02:15", "2026-03-08T07:00", "2026-03-08T07:00"),
        ("America/New_York", "2026-11-01T01:30", "2026-11-01T05:30", "2026-11-01T06:30"),
        ("Australia/Lord_Howe", "2026-10-04T02:10", "2026-10-03T15:30", "2026-10-03T15:30"),  # half an hour
        ("Australia/Lord_Howe", "2026-04-05T01:45", "2026-04-04T14:45", "2026-04-04T15:15"),
        ("America/Sao_Paulo", "2018-11-04T00:00", "2018-11-04T03:00", "2018-11-04T03:00"),  # no midnight that day
        ("UTC", "2026-03-29T02:30", "2026-03-29T02:30", "2026-03-29T02:30"),
    ],
)
def test_wall_times_that_do_not_exist_or_come_twice(zone: str, wall: str, starts: str, ends: str) -> None:
    at = datetime.fromisoformat(wall)
    assert starts_at(at, ZoneInfo(zone)) == utc(starts)
    assert ends_at(at, ZoneInfo(zone)) == utc(ends)


@pytest.mark.parametrize(
    ("cron", "minutes", "at", "open_", "next_"),
    [
        ("0 18 * * fri", 12 * 60, "2026-11-20T17:59", False, "2026-11-20T18:00"),
        ("0 18 * * fri", 12 * 60, "2026-11-20T18:00", True, "2026-11-20T18:00"),
        ("0 18 * * fri", 12 * 60, "2026-11-21T05:59", True, "2026-11-21T05:59"),
        ("0 18 * * fri", 12 * 60, "2026-11-21T06:00", False, "2026-11-27T18:00"),
        ("*/20 * * * *", 5, "2026-11-21T06:04", True, "2026-11-21T06:04"),
        ("*/20 * * * *", 5, "2026-11-21T06:05", False, "2026-11-21T06:20"),
        ("0 0 1 * *", 31 * 1440, "2026-02-28T12:00", True, "2026-02-28T12:00"),
        ("0 0 29 2 *", 1440, "2027-03-01T00:00", False, "2028-02-29T00:00"),
        ("0 0 13 * fri", 60, "2026-11-12T12:00", False, "2026-11-13T00:00"),  # cron: either day is enough
        ("0 0 13 * fri", 60, "2026-11-13T12:00", False, "2026-11-20T00:00"),
    ],
)
def test_windows_that_begin_by_cron(cron: str, minutes: int, at: str, open_: bool, next_: str) -> None:
    windows = Windows(allow=(Repeating(read_cron(cron), timedelta(minutes=minutes)),))
    assert is_open(windows, utc(at)) is open_
    assert next_open(windows, utc(at)) == utc(next_)


@pytest.mark.parametrize(
    ("windows", "reason"),
    [
        (Windows(deny=(DateSpan(datetime(2026, 1, 1), reason="INC-4711, ask Ana"),)), "INC-4711, ask Ana"),
        (Windows(deny=(Weekly(frozenset(range(7))),)), "a window that denies is open"),
        (Windows(allow=(DateSpan(datetime(2020, 1, 1), datetime(2020, 2, 1)),), reason="it is over"), "it is over"),
    ],
)
def test_windows_that_never_open_have_no_next_opening(windows: Windows, reason: str) -> None:
    now = utc("2026-06-01T00:00")
    assert not is_open(windows, now)
    assert next_open(windows, now) is None
    assert why_shut(windows, now) == reason


def test_a_window_that_denies_and_is_not_open_holds_nothing_up() -> None:
    """The complaint of others: argo-cd#5590."""
    assert is_open(Windows(deny=WEEKEND), utc("2026-11-18T12:00"))


def test_one_window_of_several_that_allow_is_enough() -> None:
    """The complaint of others: argo-cd#10425."""
    both = Windows(allow=(Weekly(frozenset([MON]), 0, 60), Weekly(frozenset([MON]), 120, 180)))
    assert [is_open(both, utc(f"2026-11-23T0{hour}:30")) for hour in range(4)] == [True, False, True, False]


AT = utc("2026-11-20T15:00")  # a Friday
FRIDAY_AT_TWO = Repeating(read_cron("0 14 * * 5"), timedelta(hours=2))


def span(start: datetime, end: datetime | None = None) -> DateSpan:
    return DateSpan(start.replace(tzinfo=None), end.replace(tzinfo=None) if end else None)


@pytest.mark.parametrize(
    ("windows", "at", "opens"),
    [
        (Windows(deny=(FRIDAY_AT_TWO,)), AT, utc("2026-11-20T16:00")),
        (Windows(deny=(span(AT, AT + HORIZON),)), AT, AT + HORIZON),
        (Windows(deny=(span(AT, AT + HORIZON + MINUTE),)), AT, None),
        (Windows(allow=(span(AT + MINUTE),)), AT, AT + MINUTE),
        (Windows(allow=(span(AT + MINUTE, AT + 2 * MINUTE),)), AT, AT + MINUTE),
        (
            Windows(allow=(Repeating(read_cron("0 14 20 11 *"), MINUTE),)),
            utc("2027-11-20T15:00"),
            utc("2028-11-20T14:00"),
        ),
        (Windows(deny=(Weekly(frozenset([FRI]), 14 * 60, 14 * 60),)), AT, utc("2026-11-21T14:00")),
    ],
    ids=[
        "the end of a window by cron",
        "a year ahead is looked",
        "and no further",
        "a window that never ends begins",
        "a window begins",
        "a date of each year, the next of which is a leap year",
        "from one time to the same is a day",
    ],
)
def test_the_next_opening(windows: Windows, at: datetime, opens: datetime | None) -> None:
    assert next_open(windows, at) == opens


def test_an_hour_that_the_clocks_jump_over_is_no_window() -> None:
    windows = Windows(allow=(Weekly(frozenset([SUN]), 120, 180),), zone=ZoneInfo("Europe/Berlin"))
    assert next_open(windows, utc("2026-03-28T12:00")) == utc("2026-04-05T00:00")


@pytest.mark.parametrize(
    ("windows", "shuts"),
    [
        (Windows(deny=(span(AT + 2 * MINUTE), span(AT + MINUTE))), AT + MINUTE),
        (Windows(allow=(span(AT, AT + MINUTE), span(AT, AT + 2 * MINUTE))), AT + 2 * MINUTE),
        (Windows(allow=(span(AT, AT + 2 * MINUTE), span(AT, AT + MINUTE))), AT + 2 * MINUTE),
        (Windows(allow=(span(AT, AT + 2 * MINUTE),), deny=(span(AT + MINUTE),)), AT + MINUTE),
        (Windows(allow=(span(AT), span(AT - MINUTE, AT))), None),
        (Windows(allow=(FRIDAY_AT_TWO,)), utc("2026-11-20T16:00")),
        (Windows(), None),
    ],
    ids=[
        "the first that denies",
        "the last of those that allow",
        "whichever is written first",
        "what denies within what allows",
        "without an end",
        "by cron",
        "without windows",
    ],
)
def test_the_next_shutting(windows: Windows, shuts: datetime | None) -> None:
    assert is_open(windows, AT)
    assert next_shut(windows, AT) == shuts


@pytest.mark.parametrize("minute", range(60))
def test_every_time_that_the_clocks_jump_over_is_the_jump(minute: int) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    for second in range(0, 60, 7):
        wall = datetime(2026, 3, 29, 2, minute, second)
        assert starts_at(wall, berlin) == ends_at(wall, berlin) == utc("2026-03-29T01:00")

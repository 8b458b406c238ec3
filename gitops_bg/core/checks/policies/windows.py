"""When windows are open: pure functions on half-open intervals in UTC, made from local times of a zone.

A local time that does not exist is moved to the jump; one that exists twice is the first for starts and the second for
ends (policies.md §3). Only intervals around the moment in question are computed.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from gitops_bg.core.model.policies.rules import Cron, Repeating, Span, Weekly, Window, Windows

DAY = timedelta(days=1)
HORIZON = timedelta(days=366)
"""How far ahead the next moment is searched for."""
_MOST_STEPS = 400
"""How many consecutive windows are examined: a bound on time, not on what files may contain."""

_FURTHEST_JUMP = 3
"""The largest clock change, in hours, on the day of the change."""

Interval = tuple[datetime, datetime | None]


def is_open(windows: Windows, at: datetime) -> bool:
    """Return whether any allowed window is open (or none is required), and no denying one."""
    allowed = not windows.allow or any(_end_of(each, windows.zone, at) for each in windows.allow)
    return allowed and not any(_end_of(each, windows.zone, at) for each in windows.deny)


def next_open(windows: Windows, at: datetime) -> datetime | None:
    """Return the first moment from ``at`` on at which they are open; None if there is none within a year."""
    moment, last = at, at + HORIZON
    for _ in range(_MOST_STEPS):
        if moment > last:
            return None
        following = _step(windows, moment)
        if following == moment:
            return moment
        if following is None:
            return None
        moment = following
    return None


def next_shut(windows: Windows, at: datetime) -> datetime | None:
    """Return when windows that are open at ``at`` may shut next; None if not within a year.

    Of several allowing windows the last to end counts: one suffices.
    """
    starts = (_next_start(each, windows.zone, at) for each in windows.deny)
    last = max((_end_of(each, windows.zone, at) or at for each in windows.allow), default=_NEVER)
    return min((each for each in (*starts, last) if each and each < _NEVER), default=None)


def why_shut(windows: Windows, at: datetime) -> str:
    """Return the reason in the file: of the window that denies, else of the rule."""
    denying = [each for each in windows.deny if _end_of(each, windows.zone, at)]
    said = next((each.reason for each in denying if each.reason), "") or windows.reason
    return said or ("a window that denies is open" if denying else "outside of the windows that are allowed")


def _step(windows: Windows, at: datetime) -> datetime | None:
    """Return ``at`` if it is open then; else the next moment to examine; None where there is none."""
    ends = [end for each in windows.deny if (end := _end_of(each, windows.zone, at))]
    if ends:
        furthest = max(ends)
        return None if furthest >= _NEVER else furthest
    if not windows.allow or any(_end_of(each, windows.zone, at) for each in windows.allow):
        return at
    starts = (_next_start(each, windows.zone, at) for each in windows.allow)
    return min((each for each in starts if each), default=None)


_NEVER = datetime.max.replace(tzinfo=UTC)


def _end_of(window: Window, zone: tzinfo, at: datetime) -> datetime | None:
    """Return when the window that is open at ``at`` ends, the latest of several; None where it is shut."""
    if isinstance(window, Repeating):
        start = _last_start(window, zone, at)
        return start + window.duration if start and at < start + window.duration else None
    day = at.astimezone(zone).date()
    around = _intervals(window, zone, _days(day - 2 * DAY, day + DAY))
    ends = (end or _NEVER for start, end in around if start <= at and (end is None or at < end))
    return max(ends, default=None)


def _last_start(window: Repeating, zone: tzinfo, at: datetime) -> datetime | None:
    """Return its last start up to ``at``, if it can still be open then; far earlier hours are not examined."""
    wall = at.astimezone(zone)
    for back in range(-1, window.duration // DAY + 2):
        day = wall.date() - back * DAY
        if not begins_on(window.cron, day):
            continue
        latest = wall.hour + _FURTHEST_JUMP if back == 0 else 24
        for start in _starts(window.cron, zone, day, latest):
            if start <= at:
                return start
    return None


def _next_start(window: Window, zone: tzinfo, at: datetime) -> datetime | None:
    """Return when it opens next, after ``at``, within the horizon."""
    day = at.astimezone(zone).date()
    for start, end in _intervals(window, zone, _days(day - DAY, day + HORIZON + DAY)):
        if start > at and (end is None or end > start):
            return start
    return None


def _days(first: date, last: date) -> Iterator[date]:
    for number in range((last - first).days + 1):
        yield first + number * DAY


def _intervals(window: Window, zone: tzinfo, days: Iterator[date]) -> Iterator[Interval]:
    """Yield the intervals that begin on these days, in order. A span is one, whatever the days."""
    match window:
        case Span():
            yield starts_at(window.start, zone), ends_at(window.end, zone) if window.end else None
        case Weekly():
            for day in days:
                if day.weekday() in window.days:
                    yield _of_day(window, zone, day)
        case Repeating():
            for day in days:
                if begins_on(window.cron, day):
                    for start in reversed(tuple(_starts(window.cron, zone, day))):
                        yield start, start + window.duration


def _of_day(window: Weekly, zone: tzinfo, day: date) -> Interval:
    over = window.until if window.until > window.start else window.until + 1440
    midnight = datetime.combine(day, time())
    start, end = (midnight + timedelta(minutes=minutes) for minutes in (window.start, over))
    return starts_at(start, zone), ends_at(end, zone)


def begins_on(cron: Cron, day: date) -> bool:
    """Return whether it begins on this day at all."""
    if day.month not in cron.months:
        return False
    of_month, of_week = day.day in cron.days, day.weekday() in cron.weekdays
    return of_month or of_week if cron.either_day else of_month and of_week


def _starts(cron: Cron, zone: tzinfo, day: date, latest: int = 24) -> Iterator[datetime]:
    """Yield the starts on a day up to an hour, the last one first."""
    for hour in sorted((each for each in cron.hours if each <= latest), reverse=True):
        for minute in sorted(cron.minutes, reverse=True):
            yield starts_at(datetime.combine(day, time(hour, minute)), zone)


def starts_at(wall: datetime, zone: tzinfo) -> datetime:
    """Return the moment at which a window with this local start begins: the first of two, or the jump if
    none exists.
    """
    return _moment(wall, zone, fold=0)


def ends_at(wall: datetime, zone: tzinfo) -> datetime:
    """Return the moment at which a window with this local end ends: the second of two, or the jump if none exists."""
    return _moment(wall, zone, fold=1)


def _moment(wall: datetime, zone: tzinfo, *, fold: int) -> datetime:
    moment = wall.replace(tzinfo=zone, fold=fold).astimezone(UTC)
    exists = moment.astimezone(zone).replace(tzinfo=None) == wall
    return moment if exists else _jump(wall, zone)


def _jump(wall: datetime, zone: tzinfo) -> datetime:
    """Return the moment at which clocks skipped a local time: between its values by the offsets after and before."""
    low, high = sorted(wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    offset = low.astimezone(zone).utcoffset()
    while high - low > timedelta(seconds=1):
        middle = low + timedelta(seconds=(high - low) // timedelta(seconds=2))
        low, high = (middle, high) if middle.astimezone(zone).utcoffset() == offset else (low, middle)
    return high

"""When windows are open: pure functions on closed-open intervals of UTC, made from wall times of a zone.

A wall time that does not exist begins at the jump; one that exists twice is the first for starts and the second for
ends (policies.md §3). Only what lies around the moment asked about is worked out.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from gitops_bg.core.model.policies.rules import Cron, Repeating, Span, Weekly, Window, Windows

DAY = timedelta(days=1)
HORIZON = timedelta(days=366)
"""So far ahead it is looked for the next moment."""
_MOST_STEPS = 400
"""So many windows one after the other are looked through: a bound on time, not on what may be written."""

_FURTHEST_JUMP = 3
"""Hours by which clocks are changed at most, where they are on the day."""

Interval = tuple[datetime, datetime | None]


def is_open(windows: Windows, at: datetime) -> bool:
    """Whether any allowed window is open (or none is asked for), and none that denies."""
    allowed = not windows.allow or any(_end_of(each, windows.zone, at) for each in windows.allow)
    return allowed and not any(_end_of(each, windows.zone, at) for each in windows.deny)


def next_open(windows: Windows, at: datetime) -> datetime | None:
    """The first moment from ``at`` on at which they are open; None where none comes within a year."""
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
    """When windows that are open at ``at`` may shut next; None where they do not within a year.

    Of several that allow it the last to end counts: one is enough.
    """
    starts = (_next_start(each, windows.zone, at) for each in windows.deny)
    last = max((_end_of(each, windows.zone, at) or at for each in windows.allow), default=_NEVER)
    return min((each for each in (*starts, last) if each and each < _NEVER), default=None)


def why_shut(windows: Windows, at: datetime) -> str:
    """What the file says about why: the reason of the window that denies, else of the rule."""
    denying = [each for each in windows.deny if _end_of(each, windows.zone, at)]
    said = next((each.reason for each in denying if each.reason), "") or windows.reason
    return said or ("a window that denies is open" if denying else "outside of the windows that are allowed")


def _step(windows: Windows, at: datetime) -> datetime | None:
    """``at`` where it is open then; else the next moment worth to look at; None where there is none."""
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
    """When the window ends that is open at ``at``, the latest of several; None where it is shut."""
    if isinstance(window, Repeating):
        start = _last_start(window, zone, at)
        return start + window.duration if start and at < start + window.duration else None
    day = at.astimezone(zone).date()
    around = _intervals(window, zone, _days(day - 2 * DAY, day + DAY))
    ends = (end or _NEVER for start, end in around if start <= at and (end is None or at < end))
    return max(ends, default=None)


def _last_start(window: Repeating, zone: tzinfo, at: datetime) -> datetime | None:
    """When it began last, up to ``at``, if it can still be open then; hours that are far off are not looked at."""
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
    """When it opens next, after ``at``, within the horizon."""
    day = at.astimezone(zone).date()
    for start, end in _intervals(window, zone, _days(day - DAY, day + HORIZON + DAY)):
        if start > at and (end is None or end > start):
            return start
    return None


def _days(first: date, last: date) -> Iterator[date]:
    for number in range((last - first).days + 1):
        yield first + number * DAY


def _intervals(window: Window, zone: tzinfo, days: Iterator[date]) -> Iterator[Interval]:
    """Those that begin on these days, in order. A span is one, whatever the days."""
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
    """Whether it begins on this day at all."""
    if day.month not in cron.months:
        return False
    of_month, of_week = day.day in cron.days, day.weekday() in cron.weekdays
    return of_month or of_week if cron.either_day else of_month and of_week


def _starts(cron: Cron, zone: tzinfo, day: date, latest: int = 24) -> Iterator[datetime]:
    """Those of a day up to an hour of it, the last one first."""
    for hour in sorted((each for each in cron.hours if each <= latest), reverse=True):
        for minute in sorted(cron.minutes, reverse=True):
            yield starts_at(datetime.combine(day, time(hour, minute)), zone)


def starts_at(wall: datetime, zone: tzinfo) -> datetime:
    """The moment of a wall time at which something begins: the first of two, the jump where there is none."""
    return _moment(wall, zone, fold=0)


def ends_at(wall: datetime, zone: tzinfo) -> datetime:
    """The moment of a wall time at which something ends: the second of two, the jump where there is none."""
    return _moment(wall, zone, fold=1)


def _moment(wall: datetime, zone: tzinfo, *, fold: int) -> datetime:
    moment = wall.replace(tzinfo=zone, fold=fold).astimezone(UTC)
    exists = moment.astimezone(zone).replace(tzinfo=None) == wall
    return moment if exists else _jump(wall, zone)


def _jump(wall: datetime, zone: tzinfo) -> datetime:
    """The moment at which clocks jumped over a wall time: between what it is by the offsets after and before."""
    low, high = sorted(wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    offset = low.astimezone(zone).utcoffset()
    while high - low > timedelta(seconds=1):
        middle = low + timedelta(seconds=(high - low) // timedelta(seconds=2))
        low, high = (middle, high) if middle.astimezone(zone).utcoffset() == offset else (low, middle)
    return high

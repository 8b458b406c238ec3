"""Parses the five fields of cron into the core's type: the syntax of crontab(5), nothing else. Pure."""

from gitops_bg.core.model.policy_rules import Cron

_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONGEST_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def read_cron(text: str) -> Cron:
    """Return the parsed expression; raise ``ValueError`` with what is wrong with it.

    >>> sorted(read_cron("0 18 * * fri").weekdays), sorted(read_cron("*/30 9-10 1 jan *").minutes)
    ([4], [0, 30])
    """
    fields = text.split()
    if len(fields) != 5:
        raise ValueError(f"{text!r} has {len(fields)} fields; write minute, hour, day, month, weekday: '0 18 * * fri'")
    minutes, hours, days, months = (
        _numbers(field, low, high, names)
        for field, (low, high, names) in zip(
            fields[:4], ((0, 59, ()), (0, 23, ()), (1, 31, ()), (1, 12, _MONTHS)), strict=True
        )
    )
    weekdays = frozenset((number - 1) % 7 for number in _numbers(fields[4], 0, 7, _DAYS))
    either = not (fields[2].startswith("*") or fields[4].startswith("*"))
    if not either and all(min(days) > _LONGEST_MONTH[month - 1] for month in months):
        raise ValueError(f"{text!r} names a day that none of its months has")
    return Cron(text, minutes, hours, days, months, weekdays, either)


def _numbers(field: str, low: int, high: int, names: tuple[str, ...]) -> frozenset[int]:
    found: set[int] = set()
    for part in field.lower().split(","):
        span, slash, step = part.partition("/")
        every = _number(step, 1, high, ()) if slash else 1
        if span == "*":
            first, last = low, high
        else:
            begin, dash, end = span.partition("-")
            first = _number(begin, low, high, names)
            last = _number(end, low, high, names) if dash else (high if slash else first)
        if last < first:
            raise ValueError(f"{part!r} ends before it begins")
        found.update(range(first, last + 1, every))
    return frozenset(found)


def _number(text: str, low: int, high: int, names: tuple[str, ...]) -> int:
    if text in names:
        return names.index(text) + low
    if not text.isdecimal() or not low <= int(text) <= high:
        known = f", or {names[0]} … {names[-1]}" if names else ""
        raise ValueError(f"{text!r} is no number from {low} to {high}{known}")
    return int(text)

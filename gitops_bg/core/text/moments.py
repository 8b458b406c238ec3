"""Times from outside: with their zone, and of years in which any delay can be added and any zone be written."""

from datetime import UTC, datetime

YEARS = (1900, 9000)
"""Python counts to the year 9999; beyond these, the sum with a delay, or another zone, would be an error far away."""


def read_moment(text: object) -> datetime:
    """The time that a text says, in UTC. Raises ``ValueError``, which says what would be right.

    >>> read_moment("2026-03-01T13:00:00+01:00").isoformat()
    '2026-03-01T12:00:00+00:00'
    """
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        moment = None
    if moment is None:
        raise ValueError("expected a time such as 2026-03-01T12:00:00Z")
    if moment.tzinfo is None:
        raise ValueError("the time has no zone; write it with Z")
    if not is_in_range(moment):
        raise ValueError(f"the time is not of the years {YEARS[0]} to {YEARS[1]}")
    return moment.astimezone(UTC)


def is_in_range(moment: datetime) -> bool:
    """Whether delays can be added to a time, and its zone be changed, whatever they are."""
    return YEARS[0] <= moment.year <= YEARS[1]

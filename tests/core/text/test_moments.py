"""Times of others have a zone, and leave room for every delay and every zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import chain

import pytest

from gitops_bg.core.foreign_text import YEARS, is_in_range, read_moment

TIMES = {
    "2026-03-01T12:00:00Z": datetime(2026, 3, 1, 12, tzinfo=UTC),
    "2026-03-01T12:00:00.5+01:00": datetime(2026, 3, 1, 11, 0, 0, 500_000, UTC),
    "1900-01-01T00:00:00Z": datetime(1900, 1, 1, tzinfo=UTC),
    "9000-12-31T23:59:59-14:00": datetime(9001, 1, 1, 13, 59, 59, tzinfo=UTC),
}
ZONELESS, OUTSIDE, NONE = "the time has no zone", "of the years 1900 to 9000", "expected a time such as"
REFUSED: dict[str | float | None, str] = {
    "2026-03-01T12:00:00": ZONELESS,
    "2026-03-01": ZONELESS,
    "0001-01-01T00:00:00+14:00": OUTSIDE,
    "9999-12-31T23:59:59-14:00": OUTSIDE,
    "1899-12-31T23:59:59Z": OUTSIDE,
    "9001-01-01T00:00:00Z": OUTSIDE,
    "10000-01-01T00:00:00Z": NONE,
    "2026-02-30T00:00:00Z": NONE,
    "yesterday": NONE,
    "": NONE,
    None: NONE,
    1e999: NONE,
}


@pytest.mark.parametrize("text", TIMES)
def test_time_is_read_in_utc(text: str) -> None:
    assert read_moment(text) == TIMES[text]
    assert read_moment(text).tzinfo is UTC


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_time_is_refused_in_words(text: str | float | None) -> None:
    with pytest.raises(ValueError, match=REFUSED[text]):
        read_moment(text)


def test_the_longest_delay_and_every_zone_can_be_counted_from_any_time() -> None:
    for moment in chain(map(read_moment, TIMES), (datetime(year, 1, 1, tzinfo=UTC) for year in YEARS)):
        assert is_in_range(moment) or moment.year == YEARS[1] + 1
        later = moment + timedelta(seconds=2**31 - 1)
        assert later.astimezone(UTC) > moment

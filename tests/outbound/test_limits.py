"""Rate limits in headers, in the format of every server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gitops_bg.outbound.rest import rate_of

NOW = datetime(2026, 11, 22, 20, tzinfo=UTC)
EPOCH = int(NOW.timestamp())


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "30"}, 30),
        ({"retry-after": "0"}, 1),
        ({"retry-after": "999999999"}, 3600),
        ({"retry-after": "Sun, 22 Nov 2026 20:02:00 GMT"}, 120),
        ({"retry-after": "Sun, 22 Nov 2020 20:02:00 GMT"}, 1),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "30", "x-ratelimit-remaining": "0", "x-ratelimit-reset": str(EPOCH + 900)}, 30),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(EPOCH + 900)}, 900),
        ({"x-ratelimit-remaining": "1", "x-ratelimit-reset": str(EPOCH + 900)}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(EPOCH - 900)}, 1),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "99999999999999999999"}, 3600),
        ({"x-ratelimit-remaining": "0"}, None),
        ({"x-ratelimit-remaining": "many", "x-ratelimit-reset": "later"}, None),
        ({"ratelimit-remaining": "0", "ratelimit-reset": "60"}, 60),
        ({"ratelimit-remaining": "0", "ratelimit-reset": str(EPOCH + 60)}, 60),
    ],
)
def test_how_long_to_ask_nothing(headers: dict[str, str], seconds: int | None):
    assert rate_of(headers, NOW).wait(NOW) == (None if seconds is None else timedelta(seconds=seconds))

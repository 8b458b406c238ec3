"""How long each folder of tests took, printed at the end of a run: where the time of `make test` goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Protocol

LEAST = 500
"""A run of fewer tests prints no table: whoever runs one folder looks at one test."""
_DEPTH = 2


class Report(Protocol):
    """What pytest says of the setup, the call or the teardown of one test."""

    nodeid: str
    when: str | None
    duration: float


def table(reports: Iterable[Report]) -> list[str]:
    """Return a line for each folder, the dearest first: seconds of all its tests together, and how many they were.

    Empty where fewer than ``LEAST`` tests ran.
    """
    seconds: Counter[str] = Counter()
    tests: Counter[str] = Counter()
    for report in reports:
        folder = "/".join(report.nodeid.split("::")[0].split("/")[:-1][: _DEPTH + 1])
        seconds[folder] += report.duration  # type: ignore[assignment]
        tests[folder] += report.when == "call"
    if tests.total() < LEAST:
        return []
    return [f"{spent:9.1f} s  {tests[folder]:6}  {folder}" for folder, spent in seconds.most_common()]

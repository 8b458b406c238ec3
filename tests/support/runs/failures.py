"""Failed tests, told when they fail: a run that is ended from outside, for its time, prints no summary."""

from __future__ import annotations

from collections.abc import Callable

import pytest


class FailuresAtOnce:
    """A plugin that writes the name and the report of a failed test as soon as it has failed."""

    def __init__(self, write: Callable[[str], object]) -> None:
        """Tell of failures by ``write``."""
        self._write = write

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tell of ``report`` if its test failed."""
        if report.failed:
            self._write(f"\n{report.nodeid} failed at {report.when}:\n{report.longreprtext}\n")

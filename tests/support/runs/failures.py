"""Failed tests, told when they fail: a run that is ended from outside, for its time, prints no summary."""

from __future__ import annotations

import pytest


class FailuresAtOnce:
    """A plugin that writes the name of a failed test, and the end of its report, as soon as it has failed."""

    LINES = 40

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        """Write to ``terminal``."""
        self._terminal = terminal

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tell of ``report`` if its test failed."""
        if report.failed:
            last = "\n".join(report.longreprtext.splitlines()[-self.LINES :])
            self._terminal.write(f"\n{report.nodeid} failed at {report.when}:\n{last}\n")

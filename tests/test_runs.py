"""What a run says at its end: where its time went."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.support.runs import seconds


@dataclass
class _Report:
    nodeid: str
    when: str
    duration: float


def test_setup_and_call_of_all_tests_of_a_folder_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seconds, "LEAST", 2)
    one = "tests/core/checks/gating/test_a.py::test_one"
    reports = [_Report(one, "setup", 1.0), _Report(one, "call", 2.0), _Report("tests/cli/test_b.py::test", "call", 4.0)]
    assert [line.split() for line in seconds.table(reports)] == [
        ["4.0", "s", "1", "tests/cli"],
        ["3.0", "s", "1", "tests/core/checks"],
    ]


def test_a_run_of_a_few_tests_prints_no_table() -> None:
    assert seconds.table([_Report("tests/cli/test_b.py::test", "call", 4.0)]) == []

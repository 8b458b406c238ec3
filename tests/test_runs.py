"""What a run says beside its results, of failures at once and of its time at the end; and what it leaves alone."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from tests.support.runs import seconds
from tests.support.runs.failures import FailuresAtOnce


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


def test_what_tests_read_of_repositories_is_not_in_the_cache_of_the_machine(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    assert Path(os.environ["XDG_CACHE_HOME"]).is_relative_to(tmp_path_factory.getbasetemp())


def test_a_run_of_a_few_tests_prints_no_table() -> None:
    assert seconds.table([_Report("tests/cli/test_b.py::test", "call", 4.0)]) == []


@pytest.mark.parametrize("when", ["setup", "call", "teardown"])
def test_a_failure_is_told_with_its_whole_report(when: Literal["setup", "call", "teardown"]) -> None:
    said: list[str] = []
    plugin = FailuresAtOnce(said.append)
    for outcome, why in (("passed", None), ("failed", "the first line\nthe last line")):
        report = pytest.TestReport("tests/test_b.py::test", ("", 0, ""), {}, outcome, why, when)  # type: ignore[arg-type]
        plugin.pytest_runtest_logreport(report)
    assert said == [f"\ntests/test_b.py::test failed at {when}:\nthe first line\nthe last line\n"]

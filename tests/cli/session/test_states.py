"""`status` prints a state once."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from gitops_bg.cli.commands.inspect.status import AppStanding, StatePrinter
from gitops_bg.cli.options.options import OutputOptions
from gitops_bg.cli.output import Output
from gitops_bg.core.model.version import AppKey

WAITS = AppStanding("AwaitingPromotion", "waiting for the promotion branch to be merged", 6)
OFFERED = replace(WAITS, pull_request="#1 https://git.example.com/pulls/1 (open)")
GOES_ON = AppStanding("Promoting", "1.1.0 (v2) is on its way", 7)


@pytest.mark.parametrize(
    ("states", "lines"),
    [
        ([WAITS, OFFERED, WAITS, GOES_ON], ["AwaitingPromotion", "pull request #1", "Promoting"]),
        ([OFFERED, OFFERED, WAITS], ["AwaitingPromotion", "pull request #1"]),
        (
            [OFFERED, replace(OFFERED, pull_request="#2 https://git.example.com/pulls/2 (open)")],
            ["AwaitingPromotion", "pull request #1", "pull request #2"],
        ),
    ],
)
def test_a_pull_request_that_comes_or_goes_is_no_other_state(
    states: list[AppStanding], lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    printer = StatePrinter(Output(OutputOptions()), AppKey("shop", "web"), SimpleNamespace())  # type: ignore[arg-type]
    for each in states:
        printer.print_new(each)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == len(lines)
    assert [line.strip().startswith(begin) for line, begin in zip(printed, lines, strict=True)] == [True] * len(lines)

"""The very small shell of the pods of Jobs: the exit code of each command, and when it ends."""

from __future__ import annotations

import math

import pytest

from gitops_bg.sandbox.controllers.behaviours import Ending, ending_of


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["true"], Ending(0, 0)),
        (["/bin/false"], Ending(0, 1)),
        (["echo", "hello"], Ending(0, 0)),
        (["sleep", "1.5"], Ending(1.5, 0)),
        (["sleep", "2m"], Ending(120, 0)),
        (["sleep", "infinity"], Ending(math.inf, 0)),
        (["curl", "http://web"], Ending(0, 127)),
        (["sleep", "soon"], Ending(0, 2)),
        (["sh", "-c", "exit"], Ending(0, 0)),
        (["sh", "-c", ""], Ending(0, 0)),
        (["sh", "-c", "exit 3"], Ending(0, 3)),
        (["sh", "-c", "exit 256"], Ending(0, 0)),
        (["/bin/bash", "-e", "-c", "exit 3"], Ending(0, 3)),
        (["sh", "-c", "sleep 1 && exit 3"], Ending(1, 3)),
        (["sh", "-c", "false && sleep 9"], Ending(0, 1)),
        (["sh", "-c", "false || true"], Ending(0, 0)),
        (["sh", "-c", "false; true"], Ending(0, 0)),
        (["sh", "-c", "sleep 1\nsleep 2\nfalse"], Ending(3, 1)),
        (["sh", "-c", "exit 1; sleep 9"], Ending(0, 1)),
        (["sh", "-c", "sleep infinity; exit 1"], Ending(math.inf, 0)),
        (["sh", "-c", "echo 'exit 1; exit 2'"], Ending(0, 0)),
        (["sh", "-c", "echo 'open"], Ending(0, 2)),
    ],
)
def test_a_command_ends(words: list[str], expected: Ending) -> None:
    assert ending_of(words) == expected

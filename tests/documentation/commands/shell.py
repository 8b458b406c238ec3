"""A reader's terminal: one bash, whose folder and variables stay from one command to the next."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

from tests.support.waiting import PATIENCE

_END = "--- the end of a command:"
DEADLINE = 2 * PATIENCE
"""No command of a page takes longer, in seconds, on a machine on which all else runs."""


class Done(NamedTuple):
    """What a command printed, on both streams, and how it ended."""

    printed: str
    code: int


class Shell:
    """A bash that runs one command after the other."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.last = Done("", 0)
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # with what a page left to run in the background
        self._process.communicate()

    def __call__(self, command: str) -> Done:
        """Run a command to its end. It has no input."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f'{{ {command}\n}} </dev/null\nprintf "\\n{_END} %s\\n" $?\n')
        self._process.stdin.flush()
        too_long = threading.Timer(DEADLINE, self._process.kill)
        too_long.start()
        try:
            lines = []
            while True:
                line = self._process.stdout.readline()
                assert line, f"the shell ended: {command}\n{''.join(lines)}"
                if line.startswith(_END):
                    self.last = Done("".join(lines).removesuffix("\n"), int(line.removeprefix(_END)))
                    return self.last
                lines.append(line)
        finally:
            too_long.cancel()
            too_long.join()

    @property
    def folder(self) -> Path:
        """Where it is."""
        return Path(self("pwd").printed.strip())

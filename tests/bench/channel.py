"""A child process that answers questions: one JSON line in, one out. Knows nothing of what is asked.

Times are `time.monotonic()`, which all processes of one machine share on Linux.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.agent.leash import leashed

_ROOT = Path(__file__).parents[2]


class ChildFailed(RuntimeError):
    """The child ended, or what it was asked for raised."""


class Child:
    """A module of this package in a process of its own. Use as a context manager; ends with this process."""

    def __init__(self, module: str, log: Path, **settings: Any) -> None:
        self._log = log
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                leashed([sys.executable, "-m", f"tests.bench.{module}", json.dumps(settings)]),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=_ROOT,
            )
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ask(self, question: str, **arguments: Any) -> Any:
        """Have a handler of the child called, and wait for what it returns. Raises ``ChildFailed``."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps([question, arguments]).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = b""
        answer = json.loads(line) if line else {"error": f"it ended\n{self._log.read_text()[-4000:]}"}
        if "error" in answer:
            raise ChildFailed(f"{question}: {answer['error']}")
        return answer["answer"]

    def close(self, timeout: float = 20) -> None:
        """Let the child end by itself; kill it after ``timeout`` seconds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def settings_of_child() -> dict[str, Any]:
    """What the parent gave to ``Child``."""
    given: dict[str, Any] = json.loads(sys.argv[1])
    return given


def serve(handlers: Mapping[str, Callable[..., Any]]) -> None:
    """In the child: answer questions until the parent closes the pipe."""
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        question, arguments = json.loads(line)
        try:
            answer = {"answer": handlers[question](**arguments)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

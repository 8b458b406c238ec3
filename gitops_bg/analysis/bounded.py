"""Evaluates conditions that may cost without bound in a child process, which is killed when it takes too long.

An evaluation in this process could not be ended: it would keep the interpreter's lock, and so hold up every app. One
child for all conditions, started when the first of them asks for it; most never do (`expressions.is_cheap`). The child
gets a line of JSON for each condition, gives a line for each answer, and ends with its parent.
"""

import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from gitops_bg.core.foreign_json import reread_json
from gitops_bg.core.model.policy_rules import NoAnswer
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.spec.expressions import BadExpression, NoValue, is_cheap, is_true

LONGEST = timedelta(seconds=2)
"""How long one evaluation may take."""
MOST_MEMORY = 256 * 1024 * 1024
"""The bytes of address space that the child may have: the agent and the child share the container's memory."""
PAUSE = timedelta(minutes=1)
"""How long an app whose condition took too long has none evaluated in the child: the others wait for it meanwhile."""
_ENVIRONMENT = ("PATH", "PYTHONPATH", "LANG")
"""What the child needs of the agent's; the rest may hold credentials."""


class BoundedConditions:
    """Whether conditions are true. Any thread may ask. ``clock`` only goes on."""

    def __init__(
        self, clock: Callable[[], datetime], *, longest: timedelta = LONGEST, memory: int = MOST_MEMORY
    ) -> None:
        self._clock = clock
        self._longest = longest
        self._memory = memory
        self._lock = threading.Lock()
        self._child: subprocess.Popen[str] | None = None
        self._closed = False
        self._paused: dict[AppOrGroup, tuple[datetime, str]] = {}
        """Apps and groups whose condition took too long: until when they wait, and what is said of it."""

    def is_true(self, subject: AppOrGroup, text: str, values: Mapping[str, Any]) -> bool:
        """Answer as `expressions.is_true`, for an app or a group; what takes too long, or too much memory, has
        `NoAnswer`.
        """
        return is_true(text, values) if is_cheap(text, values) else self._ask(subject, text, values)

    def close(self) -> None:
        """End the child, for good."""
        with self._lock:
            self._closed = True
            self._end()

    def _ask(self, subject: AppOrGroup, text: str, values: Mapping[str, Any]) -> bool:
        question = json.dumps({"text": text, "values": values})
        with self._lock:
            now = self._clock()
            self._paused = {each: paused for each, paused in self._paused.items() if paused[0] > now}
            if self._closed:
                raise NoAnswer(f"{text}: the agent is stopping")
            if subject in self._paused:
                raise NoAnswer(self._paused[subject][1])
            answer = self._answer(question)
            if not answer:
                seconds = self._longest.total_seconds()
                said = f"{text} costs more than {seconds:g} s or {self._memory >> 20:,} MiB: ask for less"
                self._paused[subject] = now + PAUSE, said
                raise NoAnswer(said)
        found = reread_json(answer)
        if "missing" in found:
            raise NoValue(found["missing"])
        if "error" in found:
            raise NoAnswer(found["error"])
        return bool(found["is"])

    def _answer(self, question: str) -> str:
        """Return the child's answer; empty where it was killed, or died."""
        child = self._child = self._child or _started(self._memory)
        assert child.stdin is not None
        assert child.stdout is not None
        killed = threading.Event()

        def kill() -> None:
            killed.set()
            child.kill()

        deadline = threading.Timer(self._longest.total_seconds(), kill)
        deadline.daemon = True
        deadline.start()
        answer = ""
        with suppress(BrokenPipeError):
            child.stdin.write(question + "\n")
            child.stdin.flush()
            answer = child.stdout.readline()
        deadline.cancel()
        deadline.join()
        if killed.is_set() or not answer:
            self._end()  # also where it answered at the last moment: the next condition has a child of its own
        return answer

    def _end(self) -> None:
        if self._child is None:
            return
        self._child.kill()
        with suppress(BrokenPipeError):
            self._child.__exit__(None, None, None)
        self._child = None


def _started(memory: int) -> "subprocess.Popen[str]":
    """Return the child, once it is ready: its start is not part of an evaluation's time."""
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "gitops_bg.analysis.bounded", str(memory)],  # never a module of this folder
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        text=True,
        encoding="utf-8",
    )
    assert child.stdout is not None
    child.stdout.readline()
    return child


def main() -> None:
    """Be the child: answer until nobody asks any more."""
    is_true("true", {})  # the library is loaded before its memory is limited
    memory = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _print_line("ready")
    for line in sys.stdin:
        _print_line(json.dumps(_answer(line)))


def _print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _answer(line: str) -> dict[str, object]:
    asked = reread_json(line)
    try:
        return {"is": is_true(asked["text"], asked["values"])}
    except NoValue as missing:
        return {"missing": str(missing)}
    except (NoAnswer, BadExpression) as error:
        return {"error": str(error)}


if __name__ == "__main__":
    main()

"""What an agent in this process asks of git and of the API server, in order: counts say more than times.

Processes are seen by an audit hook, which Python cannot take back: it tells nobody once the ledger is closed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gitops_bg.cluster.api.connection import ApiAnswer, Call, Connection

_GIT, _API = "git", "api"


@dataclass(frozen=True, slots=True)
class Expense:
    """One process, or one request."""

    kind: str
    what: str
    """`fetch`, or `PATCH services/web`."""

    def __str__(self) -> str:
        return f"{self.kind} {self.what}"


@dataclass(slots=True)
class Expenses:
    """All since the last `begin`, in the order in which they began."""

    all: list[Expense] = field(default_factory=list)

    def begin(self) -> None:
        """Count from here on."""
        self.all = []

    def processes(self) -> list[str]:
        """The commands of git, in order."""
        return [each.what for each in self.all if each.kind == _GIT]

    def requests(self, pattern: str = "") -> list[str]:
        """The requests that match, in order, as `PUT bluegreendeployments/web/status`."""
        return [each.what for each in self.all if each.kind == _API and re.search(pattern, each.what)]

    def until(self, is_last: Callable[[Expense], bool]) -> Expenses:
        """Those up to the first that is the last one asked for, which is left out."""
        found = [at for at, each in enumerate(self.all) if is_last(each)]
        assert found, "\n".join(map(str, self.all))
        return Expenses(self.all[: found[0]])

    def __str__(self) -> str:
        return "\n".join(map(str, self.all))


def is_write(method: str, path: str) -> Callable[[Expense], bool]:
    """Whether something is a certain request."""
    return lambda each: each.kind == _API and each.what == f"{method} {path}"


_LISTENING: list[tuple[str, Expenses]] = []


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "subprocess.Popen" or not _LISTENING:
        return
    _, words, _, environment = arguments
    for directory, expenses in _LISTENING:
        if str((environment or {}).get("GIT_DIR", "")).startswith(directory):
            expenses.all.append(Expense(_GIT, _command(list(map(str, words)))))


def _command(words: list[str]) -> str:
    rest = iter(words[words.index("git") + 1 :])
    for word in rest:
        if word == "-c":
            next(rest)
        elif not word.startswith("-"):
            batch = next((each for each in rest if each.startswith("--batch")), "")
            return f"{word} {batch}".strip()
    return "git"


sys.addaudithook(_heard)


@contextmanager
def expenses_of(directory: Path, patched: pytest.MonkeyPatch) -> Iterator[Expenses]:
    """What agents of this process with a mirror below ``directory`` ask from now on, but for watches and Events."""
    expenses = Expenses()
    send = Connection.send

    def noted(self: Connection, call: Call) -> ApiAnswer:
        path = re.sub(r"^/apis?/(v1|[^/]+/[^/]+)/(namespaces/[^/]+/)?", "", call.path)
        if not path.startswith("events"):  # written by a thread of its own: nobody waits for them
            expenses.all.append(Expense(_API, f"{call.method} {path}"))
        return send(self, call)

    patched.setattr(Connection, "send", noted)
    _LISTENING.append((str(directory), expenses))
    try:
        yield expenses
    finally:
        _LISTENING.remove((str(directory), expenses))

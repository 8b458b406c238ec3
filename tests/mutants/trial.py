"""Tries mutants: which tests of `tests/core` run the changed statement, and whether one of them fails.

One process collects the tests and runs none. Its first forks run all of them, with a probe before each statement that
a mutant changes: to trace every line would cost as much again. Each mutant is a fork in which one function has other
code. So nothing is imported or collected again, and no world that a test module made at its import remembers an answer.
What a test computed while it was imported is not changed.
"""

import builtins
import functools
import gc
import mmap
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import IO, TypeVar

import pytest
from _pytest.runner import runtestprotocol

from tests.mutants.mutation import CORE, PROBE, Mutant, code_of, probed

T = TypeVar("T")

CPU_SECONDS = 60
"""Then a mutant counts as noticed: it loops without end."""

_SURVIVED, _KILLED, _BROKEN = range(3)
_HISTORIES = (
    "tests/core/test_invariants.py",
    "tests/core/groups/histories/test_histories.py",
    "tests/core/groups/routes/test_routing_properties.py",
)
_TESTS = ("tests/core", "tests/test_doctests.py", *(f"--ignore={each}" for each in _HISTORIES))
"""The tables and the examples, without the slow random histories."""
_QUIET = (
    *("-q", "--no-header", "--noconftest", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov"),
    "--assert=plain",
)
"""Nobody reads why a test fails: its module need not be rewritten to say so."""


def survivors_of(chosen: Sequence[Mutant], processes: int, told: Callable[[Mutant], None]) -> None:
    """Tells of those that no test notices, as they are found.

    Raises RuntimeError if a test fails without any change.
    """
    trial = _Trial(chosen, processes, told)
    pytest.main([*_QUIET, *_TESTS], plugins=[trial])
    if trial.failed:
        raise RuntimeError(f"fails without any change: {trial.failed}")


@dataclass(frozen=True)
class _Share:
    """What some of the tests did without any change."""

    failed: str = ""
    """The one that failed, if one did; then nothing else is known."""
    seconds: dict[int, float] = field(default_factory=dict)
    """By number, the processor time of each test."""
    runners: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    """By statement, the tests that run it, by number."""


class _Trial:
    """A plugin of pytest: runs each test once, to know which statements it runs, then those that a change concerns.

    All of it happens while the session lasts; afterwards no test can be run.
    """

    def __init__(self, chosen: Sequence[Mutant], processes: int, told: Callable[[Mutant], None]) -> None:
        self._chosen, self._processes, self._told = chosen, processes, told
        self.failed = "the collection"
        self._items: list[pytest.Item] = []
        self._seconds: dict[int, float] = {}
        self._runners: dict[tuple[str, int], list[int]] = {}
        self._caches: list[functools._lru_cache_wrapper[object]] = []
        self._functions: dict[tuple[str, str, int], list[FunctionType]] = {}
        self._witnesses = mmap.mmap(-1, 1)
        """By number, 1 for each test that has noticed a change; shared by all processes."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = session.items
        for one in gc.get_objects():
            if isinstance(one, functools._lru_cache_wrapper) and one.__module__.startswith(("gitops_bg.", "tests.")):
                self._caches.append(one)
            elif isinstance(one, FunctionType) and one.__code__.co_filename.startswith(str(CORE)):
                self._functions.setdefault(_place(one.__code__), []).append(one)
        gc.collect()
        gc.freeze()
        gc.set_threshold(5_000)
        self._witnesses = mmap.mmap(-1, len(self._items))
        self._learn(_apart(*(functools.partial(self._run_share, first) for first in range(self._processes))))
        if not self.failed:
            self._try_all()
            (self.failed,) = _apart(self._hear_witnesses)
        return True

    def _learn(self, shares: Sequence[_Share]) -> None:
        self.failed = next((share.failed for share in shares if share.failed), "")
        self._seconds = {number: took for share in shares for number, took in share.seconds.items()}
        for share in shares:
            for statement, tests in share.runners.items():
                self._runners.setdefault(statement, []).extend(tests)

    def _run_share(self, first: int) -> _Share:
        """Run every n-th test, for n processes, without any change."""
        share = _Share()
        reached: set[tuple[str, int]] = set()
        setattr(builtins, PROBE, reached.add)
        for code in probed(self._chosen):
            self._replace(code)
        for number in range(first, len(self._items), self._processes):
            reached.clear()
            began = time.process_time()
            if not self._passes(self._items[number]):
                return _Share(failed=self._items[number].nodeid)
            share.seconds[number] = time.process_time() - began
            for statement in reached:
                share.runners.setdefault(statement, []).append(number)
        return share

    def _hear_witnesses(self) -> str:
        """A test that has noticed a change, and fails without one as well."""
        witnesses = (item for number, item in enumerate(self._items) if self._witnesses[number])
        return next((item.nodeid for item in witnesses if not self._passes(item)), "")

    def _try_all(self) -> None:
        sys.stdout.flush()
        running: dict[int, Mutant] = {}
        for mutant in self._chosen:
            if len(running) == self._processes:
                self._wait(running)
            running[self._fork(mutant)] = mutant
        while running:
            self._wait(running)

    def _wait(self, running: dict[int, Mutant]) -> None:
        """For one of them. One that a signal ended, such as that of the timer, was noticed."""
        child, status = os.wait()
        mutant, code = running.pop(child), os.waitstatus_to_exitcode(status)
        if code == _BROKEN:
            raise RuntimeError(f"cannot be tried: {mutant}")
        if code == _SURVIVED:
            self._told(mutant)

    def _fork(self, mutant: Mutant) -> int:
        child = os.fork()
        if child == 0:
            status = _BROKEN
            try:
                status = self._try(mutant)
            except Exception:
                traceback.print_exc()
            finally:
                os._exit(status)
        return child

    def _try(self, mutant: Mutant) -> int:
        if not self._replace(code_of(mutant)):
            return _BROKEN
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        failing = next((one for one in self._tests_of(mutant) if not self._passes(self._items[one])), None)
        if failing is None:
            return _SURVIVED
        self._witnesses[failing] = 1
        return _KILLED

    def _tests_of(self, mutant: Mutant) -> Collection[int]:
        """Those that run the changed statement, the quick ones first."""
        found = self._runners.get(mutant.statement, ())
        own = f"test_{Path(mutant.file).stem}.py"
        return sorted(found, key=lambda number: (self._items[number].path.name != own, self._seconds[number]))

    def _replace(self, code: CodeType) -> bool:
        """Whether there is such a function. What it made while its module was imported has other code, too."""
        found = self._functions.get(_place(code), [])
        for function in found:
            if function.__code__.co_freevars == code.co_freevars:
                function.__code__ = code
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                self._replace(inner)
        return bool(found)

    def _passes(self, item: pytest.Item) -> bool:
        """With nothing remembered: a function that answers from a cache runs no line."""
        for cache in self._caches:
            cache.cache_clear()
        return not any(report.failed for report in runtestprotocol(item, nextitem=None, log=False))


def _place(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _apart(*asks: Callable[[], T]) -> list[T]:
    """What each of them answers in a fork of its own, all at once. Nothing else of the forks remains."""
    with ExitStack() as files:
        answers = [files.enter_context(tempfile.TemporaryFile()) for _ in asks]
        children = [_answering(ask, answer) for ask, answer in zip(asks, answers, strict=True)]
        statuses = [os.waitpid(child, 0)[1] for child in children]
        if any(statuses):
            raise RuntimeError("the tests cannot be run without any change")
        for answer in answers:
            answer.seek(0)
        return [pickle.load(answer) for answer in answers]


def _answering(ask: Callable[[], object], answer: IO[bytes]) -> int:
    """The process that asks, and writes what it is answered."""
    child = os.fork()
    if child == 0:
        try:
            pickle.dump(ask(), answer)
            answer.flush()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child

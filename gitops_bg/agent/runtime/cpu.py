"""Limits the CPU that a computation may take.

Without a limit, one app's files, or its decision, could hold up all others. Only what computes may be limited, such as
the core and the reading of YAML: it is ended in the middle, wherever it is. So what is called holds no lock and writes
nothing; where it must ask somebody else, it asks by `outside`. CPU counts, and not time: on a busy machine a limit
means the same. One thread looks after all of them, while there are any.

A computation inside of one call of a C library is ended when that call returns; those that could go on for ever have
limits of their own (patterns, conditions).
"""

import ctypes
import gc
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import TookTooLong

T = TypeVar("T")

LONGEST = 20.0
"""Seconds of CPU for one app's files, or for one decision; both usually take some milliseconds."""
_EVERY = 0.5
"""Seconds between two looks at what is under way."""
_AGAIN = 5.0
"""Seconds of CPU after which a computation that went on all the same is interrupted once more."""


def collect_garbage_as_usual() -> None:
    """Have Python look for garbage as often as it does by itself, for a process that runs for long: a verb looks
    seldom, so that it starts sooner (`cli.main`). What was made so far stays, and is not looked at again.
    """
    gc.freeze()
    gc.set_threshold(*_USUAL)


_USUAL = 700, 10, 10
"""Python's own: https://docs.python.org/3.11/library/gc.html#gc.set_threshold."""


class _Interrupted(BaseException):
    """Raised in a computation from outside. No ``except Exception`` of the computation keeps it."""


@dataclass(slots=True, eq=False)
class _Computation:
    thread: int
    ends_at: float
    """By the CPU clock of its thread."""
    is_paused: bool = False
    was_interrupted: bool = False


class CpuLimit:
    """``cpu_of`` gives the seconds of CPU that a thread has used, ``interrupt`` raises `_Interrupted` in it."""

    def __init__(
        self,
        cpu_of: Callable[[int], float] | None = None,
        interrupt: Callable[[int], None] | None = None,
    ) -> None:
        self._cpu_of = cpu_of or _cpu_of
        self._interrupt = interrupt or _interrupt
        # No Condition: an interruption could come in its Python code once it has the lock, and nobody would free it.
        self._lock = threading.Lock()
        self._under_way: set[_Computation] = set()
        self._is_watched = False
        self._mine = threading.local()

    def run(self, what: str, compute: Callable[[], T], seconds: float | None = None) -> T:
        """Return what ``compute`` returns. Raises `TookTooLong` where it takes more than ``seconds`` of CPU, `LONGEST`
        unless given.
        """
        seconds = LONGEST if seconds is None else seconds
        thread = threading.get_ident()
        mine = _Computation(thread, self._cpu_of(thread) + seconds)
        before, self._mine.computation = getattr(self._mine, "computation", None), mine
        try:
            try:
                self._begin(mine)
                return compute()
            finally:
                self._end(mine)
        except _Interrupted as error:
            self._end(mine)  # It may have come while this was done the first time.
            said = f"{what} takes more than {seconds:g} s of CPU, and was ended"
            raise TookTooLong(said) from error
        finally:
            self._mine.computation = before

    def outside(self, ask: Callable[[], T]) -> T:
        """Return what ``ask`` returns, in a computation or not: it is not interrupted, and its CPU does not count."""
        mine: _Computation | None = getattr(self._mine, "computation", None)
        if mine is None:
            return ask()
        with self._lock:
            mine.is_paused = True
            self._withdraw(mine)
        began = self._cpu_of(mine.thread)
        try:
            return ask()
        finally:
            mine.ends_at += self._cpu_of(mine.thread) - began
            mine.is_paused = False

    def check(self) -> None:
        """Interrupt what has used more than it may."""
        with self._lock:
            for each in self._under_way:
                used = self._cpu_of(each.thread)
                if used > each.ends_at and not each.is_paused:
                    each.ends_at = used + _AGAIN
                    each.was_interrupted = True
                    self._interrupt(each.thread)

    def _begin(self, mine: _Computation) -> None:
        with self._lock:
            self._under_way.add(mine)
            if not self._is_watched:
                threading.Thread(target=self._watch, name="cpu-limit", daemon=True).start()
                self._is_watched = True

    def _end(self, mine: _Computation) -> None:
        with self._lock:
            self._under_way.discard(mine)
            self._withdraw(mine)

    def _withdraw(self, mine: _Computation) -> None:
        """Take back an interruption that did not arrive yet."""
        if mine.was_interrupted:
            mine.was_interrupted = False
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(mine.thread), None)

    def _watch(self) -> None:
        """Look now and then, until nothing is under way."""
        while True:
            time.sleep(_EVERY)
            self.check()
            with self._lock:
                if not self._under_way:
                    self._is_watched = False
                    return


def _cpu_of(thread: int) -> float:
    if hasattr(time, "pthread_getcpuclockid"):
        return time.clock_gettime(time.pthread_getcpuclockid(thread))
    return time.process_time()  # Of all threads: a limit is reached earlier, never later.


def _interrupt(thread: int) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_Interrupted))


_LIMIT = CpuLimit()
"""One for the process, as there is one interpreter."""

cpu_limited = _LIMIT.run
outside_cpu_limit = _LIMIT.outside

"""SIGTERM and SIGINT end a process within its grace, whatever its main thread is doing.

CPython runs a signal's handler on the main thread, once that comes back to its bytecode. A signal that arrives just
before the main thread begins to wait for a lock is noticed only when that wait ends: an untimed one may never. And a
handler that takes a lock, as `threading.Event.set` does, waits for ever where it interrupts the owner of that lock. So
a thread of its own is told of a signal, by the byte that CPython writes in the signal itself: this thread ends the
waits of others by ordinary means, and the handler takes no lock.
"""

import contextlib
import faulthandler
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGINT)

GRACE = 8.0
"""Seconds that a process has to end by itself: less than the ten of its pod (`terminationGracePeriodSeconds`)."""

_RESERVE = 1.0
"""Seconds after `GRACE` after which the process is ended from outside Python, should no thread of it get to run."""

_NUDGE = 0.05
"""Seconds between two signals to a main thread that has not noticed the first yet."""

_SLICE = 0.5
"""The longest wait of a main thread that only an interrupt may end: an interrupt may go unnoticed for so long."""

_NO_SIGNAL = 0
"""The byte that ends the thread."""


class Stopped(Exception):
    """A signal arrived before anything was running that could be asked to finish."""


class Stopping:
    """What a signal does: it interrupts the main thread until `now_call`, and makes that call afterwards."""

    def __init__(self) -> None:
        self._call: Callable[[], None] | None = None
        self._asked = False
        self._noticed = False
        self._is_limited = False
        self._main = threading.main_thread().ident or 0
        self._told, self._tell = os.pipe()
        os.set_blocking(self._tell, False)
        self._thread = threading.Thread(target=self._follow, name="signals", daemon=True)

    def now_call(self, call: Callable[[], None]) -> None:
        """Let a signal make ``call`` from now on, on another thread, and not interrupt; where one arrived already, it
        is made at once. ``call`` may be made several times.
        """
        self._call = call
        if self._asked:
            call()

    def on_signal(self, _number: int, _frame: FrameType | None) -> None:
        """Handle a signal, on the main thread. Takes no lock."""
        is_first, self._noticed, self._asked = not self._noticed, True, True
        if self._call is None and is_first:  # A second signal must not interrupt the shutdown.
            raise Stopped

    @contextmanager
    def following(self) -> Iterator[None]:
        """Follow the signals inside the block."""
        before = signal.set_wakeup_fd(self._tell, warn_on_full_buffer=False)
        self._thread.start()
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            with contextlib.suppress(BlockingIOError):
                os.write(self._tell, bytes([_NO_SIGNAL]))
            self._thread.join(1.0)
            os.close(self._tell)
            os.close(self._told)

    def _follow(self) -> None:
        """Make each signal do what it is to do, until the block ends."""
        while (number := os.read(self._told, 1)[0]) != _NO_SIGNAL:
            if number not in _SIGNALS:
                continue
            self._asked = True
            self._limit()
            self._until_noticed(number)
            if self._call is not None:
                self._call()

    def _limit(self) -> None:
        """Bound the time that the process still has, once: not even a deadlock may keep it."""
        if not self._is_limited:
            self._is_limited = True
            ending = threading.Timer(GRACE, _end)
            ending.daemon = True
            ending.start()
            faulthandler.dump_traceback_later(GRACE + _RESERVE, exit=True, file=2)

    def _until_noticed(self, number: int) -> None:
        """Send the signal to the main thread again and again, until its handler has run or something can be asked."""
        until = time.monotonic() + GRACE
        while not (self._noticed or self._call) and time.monotonic() < until:
            time.sleep(_NUDGE)
            with contextlib.suppress(OSError):
                signal.pthread_kill(self._main, number)


def _end() -> None:
    """Say what each thread does, and end the process.

    While this thread runs no other does, so that their frames stay as they are: `dump_traceback_later` reads those of
    threads that run, and may crash before it has said anything.
    """
    os.write(2, f"Timeout: the process has not ended by itself in {GRACE:g} s\n".encode())
    faulthandler.dump_traceback(file=2)
    os._exit(1)


@contextmanager
def stopping_on_signals() -> Iterator[Stopping]:
    """Follow the signals inside the block; restore their handlers afterwards.

    A process that has not ended `GRACE` seconds after the first says what each of its threads does, and ends with 1.
    """
    stopping = Stopping()
    before = {number: signal.signal(number, stopping.on_signal) for number in _SIGNALS}
    try:
        with stopping.following():
            yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def wait_interruptibly(event: threading.Event, seconds: float | None) -> bool:
    """Wait on a main thread as `Event.wait` does, such that Ctrl-C ends it: an interrupt that arrives just before a
    wait is noticed only after it.
    """
    until = float("inf") if seconds is None else time.monotonic() + seconds
    while not event.wait(max(0.0, min(_SLICE, until - time.monotonic()))):
        if time.monotonic() >= until:
            return False
    return True


@contextmanager
def ended_by(*signals: signal.Signals) -> Iterator[None]:
    """Let these signals unwind a program that has no thread for them, so that it gives back what it has taken."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    former = {each: signal.signal(each, end) for each in signals}
    try:
        yield
    finally:
        for each, handler in former.items():
            signal.signal(each, handler)

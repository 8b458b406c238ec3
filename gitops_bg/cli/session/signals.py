"""SIGTERM and SIGINT: an agent that is still starting is interrupted, a running one is asked to finish."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stopped(Exception):
    """A signal came before there was anybody to ask."""


class Stopping:
    """What a signal does now."""

    def __init__(self) -> None:
        self._call: Callable[[], None] | None = None
        self._asked = False

    def now_call(self, call: Callable[[], None]) -> None:
        """From now on a signal calls this, and does not interrupt; one that is in already calls it at once."""
        self._call = call
        if self._asked:
            call()

    def on_signal(self, _number: int, _frame: FrameType | None) -> None:
        """The handler."""
        self._asked, call = True, self._call
        if call is None:
            self._call = _nothing  # A second signal must not interrupt the way out.
            raise Stopped
        call()


def _nothing() -> None:
    """What is done for a signal while the process ends anyway."""


@contextmanager
def stopping_on_signals() -> Iterator[Stopping]:
    """Handle the signals inside; afterwards they do what they did before."""
    stopping = Stopping()
    before = {number: signal.signal(number, stopping.on_signal) for number in _SIGNALS}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

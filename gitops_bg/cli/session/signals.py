"""SIGTERM and SIGINT interrupt an agent that is still starting and ask a running one to finish."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stopped(Exception):
    """A signal arrived before an agent was running that could be asked to finish."""


class Stopping:
    """What a signal does at present."""

    def __init__(self) -> None:
        self._call: Callable[[], None] | None = None
        self._asked = False

    def now_call(self, call: Callable[[], None]) -> None:
        """From now on a signal calls ``call`` and does not interrupt; if one arrived already, call it at once."""
        self._call = call
        if self._asked:
            call()

    def on_signal(self, _number: int, _frame: FrameType | None) -> None:
        """Handle a signal."""
        self._asked, call = True, self._call
        if call is None:
            self._call = _nothing  # A second signal must not interrupt the shutdown.
            raise Stopped
        call()


def _nothing() -> None:
    """Do nothing: the process is ending anyway."""


@contextmanager
def stopping_on_signals() -> Iterator[Stopping]:
    """Handle the signals inside the block; restore their handlers afterwards."""
    stopping = Stopping()
    before = {number: signal.signal(number, stopping.on_signal) for number in _SIGNALS}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

"""A thread of its own for what must not keep workers waiting: Git, the forge, groups."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable


class BackgroundThread(ABC):
    """Start it, stop it. ``_changed`` guards what other threads tell it, and wakes it; ``crashed`` hears of a bug
    that ended it.
    """

    def __init__(self, name: str, crashed: Callable[[BaseException], None]) -> None:
        self._changed = threading.Condition()
        self._stopping = False
        self._crashed = crashed
        self._thread = threading.Thread(target=self._guarded_run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread; return at once."""
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Begin nothing more; what is under way may end within ``timeout`` seconds."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout)

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    @abstractmethod
    def _run(self) -> None:
        """Work until ``_stopping``."""

    def _guarded_run(self) -> None:
        try:
            self._run()
        except BaseException as error:
            self._crashed(error)

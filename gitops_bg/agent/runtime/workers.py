"""The threads that look at apps: they start when this agent leads, end when it no longer does, and can start again.

Knows neither what a look is nor who leads.
"""

import threading
from collections.abc import Callable

from gitops_bg.agent.runtime.workqueue import WorkQueue
from gitops_bg.core.model.version import AppKey


class Workers:
    """``count`` threads that call ``look_at`` for queued apps; ``on_crash`` gets the bug that ended a thread."""

    def __init__(
        self,
        queue: WorkQueue,
        look_at: Callable[[AppKey], None],
        count: int,
        on_crash: Callable[[BaseException], None],
    ) -> None:
        self._queue = queue
        self._look_at = look_at
        self._count = count
        self._on_crash = on_crash
        self._lock = threading.Lock()
        self._term = 0
        self._working = False
        self._threads: list[threading.Thread] = []
        queue.pause()

    def begin(self) -> None:
        """Start handing out queued apps. Returns at once; does nothing where the threads work already."""
        with self._lock:
            if self._working:
                return
            self._working, self._term = True, self._term + 1
            self._queue.resume()
            begun = [
                threading.Thread(target=self._work, args=(self._term,), name=f"worker-{number}", daemon=True)
                for number in range(self._count)
            ]
            self._threads = [*(thread for thread in self._threads if thread.is_alive()), *begun]
            for thread in begun:
                thread.start()

    def end(self) -> None:
        """Begin no further look; looks under way end by themselves. Returns at once."""
        with self._lock:
            self._working, self._term = False, self._term + 1
            self._queue.pause()

    def join(self, left: Callable[[], float]) -> None:
        """Wait until the looks under way have ended, at most ``left()`` seconds."""
        for thread in self._threads:
            thread.join(left())

    def problems(self) -> list[str]:
        """The threads that ended although they should work."""
        with self._lock:
            expected = self._threads[-self._count :] if self._working else []
            dead = [thread.name for thread in expected if not thread.is_alive()]
        return [f"thread {name} ended" for name in dead]

    def _work(self, term: int) -> None:
        try:
            while self._term == term and (app := self._queue.get()) is not None:
                try:
                    self._look_at(app)
                finally:
                    self._queue.done(app)
        except BaseException as error:
            self._on_crash(error)

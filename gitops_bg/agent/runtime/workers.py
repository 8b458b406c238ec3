"""The threads that look at apps: they begin when this agent leads, end when it no longer does, and can begin again.

Knows nothing of what a look is, nor of who leads.
"""

import threading
from collections.abc import Callable

from gitops_bg.agent.runtime.workqueue import WorkQueue
from gitops_bg.core.model.version import AppKey


class Workers:
    """``count`` threads that call ``look_at`` for what is on the queue; ``on_crash`` hears of a bug that ended one."""

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
        """Hand out what is put on the queue from now on. Returns at once; nothing where they work already."""
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
        """Begin no look any more; those that are under way end by themselves. Returns at once."""
        with self._lock:
            self._working, self._term = False, self._term + 1
            self._queue.pause()

    def join(self, left: Callable[[], float]) -> None:
        """Wait until the looks that are under way have ended, at most the seconds that ``left`` says."""
        for thread in self._threads:
            thread.join(left())

    def problems(self) -> list[str]:
        """Which threads ended that should work."""
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

"""The threads that look: they start when this agent leads, end when it no longer does, and can start again.

Knows neither what a look is nor who leads.
"""

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count, islice
from traceback import format_stack

from gitops_bg.agent.runtime.workqueue import WorkQueue
from gitops_bg.core.model.version import AppOrGroup

MOST_HANGING = 16
"""How many looks may hang at a time, each with a thread of its own, before the process is better started again."""


@dataclass(slots=True)
class _RunningPass:
    """A look under way."""

    app: AppOrGroup
    since: float
    hangs: bool = False


class Workers:
    """``number`` threads that call ``look_at`` for queued apps; ``on_crash`` gets the bug that ended a thread.

    A thread whose look hangs gets a substitute, so that no app takes a worker from the others. ``monotonic`` gives
    seconds. ``waits`` says whether a thread, by its identifier, waits for somebody who has a deadline: what is slow
    there would be as slow after a restart.
    """

    def __init__(
        self,
        queue: WorkQueue,
        look_at: Callable[[AppOrGroup], None],
        number: int,
        on_crash: Callable[[BaseException], None],
        monotonic: Callable[[], float] = time.monotonic,
        waits: Callable[[int], bool] = lambda _: False,
    ) -> None:
        self._queue = queue
        self._look_at = look_at
        self._number = number
        self._on_crash = on_crash
        self._monotonic = monotonic
        self._waits = waits
        self._lock = threading.Lock()
        self._working = False
        self._threads: list[threading.Thread] = []
        """All that may still run."""
        self._expected: list[threading.Thread] = []
        """Those of them that are to go on with the next app."""
        self._looks: dict[threading.Thread, _RunningPass] = {}
        queue.pause()

    def begin(self) -> None:
        """Start handing out queued apps. Returns at once; does nothing where the threads work already."""
        with self._lock:
            if self._working:
                return
            self._working = True
            self._queue.resume()
            self._complete()

    def replace_hanging(self, longest: float) -> list[tuple[AppOrGroup, str]]:
        """Begin a substitute for each thread whose look has lasted for ``longest`` seconds; it ends with this look.
        Return the apps, each once, and where in the code they are.
        """
        with self._lock:
            now = self._monotonic()
            looks = self._looks.items()
            late = {thread: look for thread, look in looks if not look.hangs and now - look.since >= longest}
            for look in late.values():
                look.hangs = True
            self._expected = [each for each in self._expected if each not in late]
            if self._working:
                self._complete()
            return [(look.app, _where(thread)) for thread, look in late.items()]

    def end(self) -> None:
        """Begin no further look; looks under way end by themselves. Returns at once."""
        with self._lock:
            self._working, self._expected = False, []
            self._queue.pause()

    def join(self, left: Callable[[], float]) -> None:
        """Wait until the looks under way have ended, at most ``left()`` seconds; for none that hangs."""
        with self._lock:
            hanging = [thread for thread, look in self._looks.items() if look.hangs]
        for thread in self._threads:
            if thread not in hanging:
                thread.join(left())

    def problems(self) -> list[str]:
        """The threads that ended although they should work, and too many looks that hang and wait for nobody."""
        with self._lock:
            dead = [f"thread {each.name} ended" for each in self._expected if not each.is_alive()]
            late = [thread.ident or 0 for thread, look in self._looks.items() if look.hangs]
            hanging = sum(not self._waits(thread) for thread in late)
        return [*dead, f"{hanging} looks hang"] if hanging > MOST_HANGING else dead

    def _complete(self) -> None:
        """Begin as many threads as are missing."""
        names = {each.name for each in self._expected}
        free = (name for number in count() if (name := f"worker-{number}") not in names)
        missing = self._number - len(self._expected)
        begun = [threading.Thread(target=self._work, name=name, daemon=True) for name in islice(free, missing)]
        self._expected += begun
        self._threads = [*(thread for thread in self._threads if thread.is_alive()), *begun]
        for thread in begun:
            thread.start()

    def _work(self) -> None:
        try:
            while self._goes_on() and (app := self._queue.get()) is not None:
                try:
                    self._track(_RunningPass(app, self._monotonic()))
                    self._look_at(app)
                finally:
                    self._track(None)
                    self._queue.done(app)
        except BaseException as error:
            self._on_crash(error)

    def _goes_on(self) -> bool:
        with self._lock:
            return threading.current_thread() in self._expected

    def _track(self, look: _RunningPass | None) -> None:
        """Note what this thread looks at."""
        with self._lock:
            self._looks.pop(threading.current_thread(), None)
            if look is not None:
                self._looks[threading.current_thread()] = look


def _where(thread: threading.Thread) -> str:
    """The lines of code in which a thread that runs is now.

    The stacks of all threads have this one among them: in a variable they would hold themselves, and whatever the
    threads have in their hands. https://docs.python.org/3/library/sys.html#sys._current_frames
    """
    return "".join(format_stack(sys._current_frames()[thread.ident or 0]))

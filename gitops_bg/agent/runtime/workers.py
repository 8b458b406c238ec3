"""The queue of apps and groups, and the threads that look at them: one at a time for each.

The threads start when this agent leads, end when it no longer does, and can start again. Of one whose look hangs
another takes over the rest of the queue. Knows neither what a look is nor who leads.
"""

import logging
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count, islice
from traceback import format_stack

from gitops_bg.agent.logs import fields
from gitops_bg.agent.runtime.failures import quietly
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import TookTooLong
from gitops_bg.core.model.version import AppOrGroup

MOST_LOOKS = 16
"""After this many looks an app loses its place: one that is woken without end must not keep others waiting. An app
that promotes itself needs about half as many.
"""

MOST_PASSED = 7
"""After so many looks at more urgent apps comes one at an app that they passed: nobody waits without end."""


class WorkQueue:
    """Apps and groups by urgency, and then in the order in which they came out of rest, each at most once. Thread-safe.

    One worker has each at a time; what is added during its look is queued again. The design is that of client-go's
    workqueue (util/workqueue), but for the order. The more urgent app comes first, as in controller-runtime's priority
    queue (pkg/controller/priorityqueue). Of equally urgent ones an app keeps its place until it rests, so that what is
    begun is finished before the next is begun: of a thousand apps that change at once the first are done soon, instead
    of all of them late.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: defaultdict[int, list[tuple[int, AppOrGroup]]] = defaultdict(list)
        """By urgency a heap, by place. An app that became more urgent is still in its former one as well."""
        self._passed = Counter[int]()
        """By urgency: how many looks at more urgent apps there were, since apps of this one wait."""
        self._next_place = count()
        self._places: dict[AppOrGroup, int] = {}
        """The places of the apps that are not at rest."""
        self._looks: dict[AppOrGroup, int] = {}
        """How often each of them was looked at from its place."""
        self._queued: dict[AppOrGroup, int] = {}
        """The apps that wait, with their urgency."""
        self._working: set[AppOrGroup] = set()
        self._again: dict[AppOrGroup, int] = {}
        self._stopped = False
        self._paused = False
        self._pauses = 0

    def add(self, app: AppOrGroup, urgency: int = 0) -> None:
        """Look at the app soon; if it is being looked at, once more afterwards. The lowest ``urgency`` comes first; an
        app that waits already can only become more urgent.
        """
        with self._changed:
            if self._stopped or self._paused:
                return
            if app in self._working:
                self._again[app] = min(urgency, self._again.get(app, urgency))
            elif self._queued.get(app, urgency + 1) > urgency:
                self._queued[app] = urgency
                place = self._places.get(app)
                if place is None:
                    place = self._places[app] = next(self._next_place)
                heappush(self._waiting[urgency], (place, app))
                self._changed.notify()

    def rest(self, app: AppOrGroup) -> None:
        """Give up an app's place: it does not go on by itself, and is queued behind all others when it is added again.

        For the worker that looks at it, before `done`. An app that waits keeps its place.
        """
        with self._changed:
            if app not in self._queued:
                self._give_up_place(app)

    def _give_up_place(self, app: AppOrGroup) -> None:
        self._places.pop(app, None)
        self._looks.pop(app, None)

    def get(self) -> AppOrGroup | None:
        """Return the most urgent app, and of those the one that has not been at rest for longest; blocks until there is
        one.

        None once the queue is stopped or paused, even if it was resumed meanwhile.
        """
        with self._changed:
            pauses = self._pauses
            while not self._queued and not self._closed(pauses):
                self._changed.wait()
            if self._closed(pauses):
                return None
            _, app = heappop(self._waiting[self._next_urgency()])
            del self._queued[app]
            self._working.add(app)
            self._looks[app] = self._looks.get(app, 0) + 1
            if self._looks[app] >= MOST_LOOKS:
                self._give_up_place(app)
            return app

    def _next_urgency(self) -> int:
        """Return the lowest of which an app waits, unless that has passed another one too often."""
        for urgency, heap in self._waiting.items():
            while heap and not self._holds(urgency, *heap[0]):
                heappop(heap)
        lowest, *others = sorted(urgency for urgency, heap in self._waiting.items() if heap)
        chosen = next((each for each in others if self._passed[each] >= MOST_PASSED), lowest)
        self._passed = Counter({each: self._passed[each] + 1 for each in others if each != chosen})
        return chosen

    def _holds(self, urgency: int, place: int, app: AppOrGroup) -> bool:
        """Return whether an entry of a heap is the one by which its app waits."""
        return self._queued.get(app) == urgency and self._places.get(app) == place

    def done(self, app: AppOrGroup) -> None:
        """End a look; an app added meanwhile is queued again."""
        with self._changed:
            self._working.discard(app)
            again = self._again.pop(app, None)
            if again is not None:
                self.add(app, again)
            self._changed.notify_all()

    def has_before(self, urgency: int) -> bool:
        """Return whether an app waits that is more urgent."""
        with self._changed:
            return any(each < urgency for each in self._queued.values())

    def _closed(self, pauses: int) -> bool:
        return self._stopped or self._paused or pauses != self._pauses

    def pause(self) -> None:
        """Drop the queued apps, accept no more, and wake every waiting worker, until `resume`."""
        with self._changed:
            self._paused, self._pauses = True, self._pauses + 1
            self._waiting.clear()
            self._passed.clear()
            self._places.clear()
            self._looks.clear()
            self._queued.clear()
            self._again.clear()
            self._changed.notify_all()

    def resume(self) -> None:
        """Accept and hand out apps again; an app that is still being looked at only after that look."""
        with self._changed:
            self._paused = False

    def stop(self) -> None:
        """Hand out no more apps; wakes every waiting worker."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def wait_idle(self, timeout: float) -> bool:
        """Wait until nothing is queued or in progress; False where ``timeout`` seconds passed first."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._queued and not self._working, timeout)

    @property
    def idle(self) -> bool:
        """Whether nothing is queued or in progress at present."""
        with self._changed:
            return not self._queued and not self._working

    def __len__(self) -> int:
        with self._changed:
            return len(self._queued)


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
        """Return the threads that ended although they should work, and too many looks that hang and wait for nobody."""
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
    """Return the lines of code in which a thread that runs is now.

    The stacks of all threads have this one among them: in a variable they would hold themselves, and whatever the
    threads have in their hands. https://docs.python.org/3/library/sys.html#sys._current_frames
    """
    return "".join(format_stack(sys._current_frames()[thread.ident or 0]))


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


LOGGER = logging.getLogger(__name__)

LONGEST = 120.0
"""Seconds after which a look hangs: many requests to a slow API server may take as long."""
EVERY = 5.0


class HangingPasses(BackgroundThread):
    """``tell`` shows an app that its look hangs; it may take as long as a request."""

    def __init__(
        self,
        workers: Workers,
        tell: Callable[[AppOrGroup, TookTooLong], None],
        crashed: Callable[[BaseException], None],
    ) -> None:
        super().__init__("hanging-looks", crashed)
        self._workers = workers
        self._tell = tell

    def _run(self) -> None:
        while self._waited():
            for app, stack in self._workers.replace_hanging(LONGEST):
                LOGGER.error(
                    "a look at %s hangs here:\n%s", app, stack, extra=fields(app=app, reason=TookTooLong.reason)
                )
                with quietly(f"telling that a look at {app} hangs", app):
                    said = f"a look at {app} has lasted for {LONGEST:g} s; the log says where it hangs"
                    self._tell(app, TookTooLong(said))

    def _waited(self) -> bool:
        """Wait for the time of the next look; False once the thread shall end."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopping, EVERY)
            return not self._stopping

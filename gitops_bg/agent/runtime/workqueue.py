"""The queue of apps and groups to look at: one worker for each at a time; what is added during its look is queued
again.

Knows nothing of what is done with them; an app here is either. The design is that of client-go's workqueue
(util/workqueue), but for the order. The more urgent app comes first, as in controller-runtime's priority queue
(pkg/controller/priorityqueue). Of equally urgent ones an app keeps its place until it rests, so that what is begun is
finished before the next is begun: of a thousand apps that change at once the first are done soon, instead of all of
them late.
"""

import threading
from collections import Counter, defaultdict
from heapq import heappop, heappush
from itertools import count

from gitops_bg.core.model.version import AppOrGroup

MOST_LOOKS = 16
"""After this many looks an app loses its place: one that is woken without end must not keep others waiting. An app
that promotes itself needs about half as many.
"""

MOST_PASSED = 7
"""After so many looks at more urgent apps comes one at an app that they passed: nobody waits without end."""


class WorkQueue:
    """Apps by urgency, and then in the order in which they came out of rest, each at most once. Thread-safe."""

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
        """The most urgent app, and of those the one that has not been at rest for longest; blocks until there is one.

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
        """The lowest of which an app waits, unless that has passed another one too often."""
        for urgency, heap in self._waiting.items():
            while heap and not self._holds(urgency, *heap[0]):
                heappop(heap)
        lowest, *others = sorted(urgency for urgency, heap in self._waiting.items() if heap)
        chosen = next((each for each in others if self._passed[each] >= MOST_PASSED), lowest)
        self._passed = Counter({each: self._passed[each] + 1 for each in others if each != chosen})
        return chosen

    def _holds(self, urgency: int, place: int, app: AppOrGroup) -> bool:
        """Whether an entry of a heap is the one by which its app waits."""
        return self._queued.get(app) == urgency and self._places.get(app) == place

    def done(self, app: AppOrGroup) -> None:
        """End a look; an app added meanwhile is queued again."""
        with self._changed:
            self._working.discard(app)
            again = self._again.pop(app, None)
            self._changed.notify_all()
        if again is not None:
            self.add(app, again)

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

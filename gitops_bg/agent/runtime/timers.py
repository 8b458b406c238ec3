"""Wakes apps and groups at their time: one alarm for the earliest time of all, never one for each.

It only puts them on the queue (pitfalls.md §3).
"""

import heapq
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count

from gitops_bg.agent.runtime.alarms import Alarms
from gitops_bg.core.model.version import AppOrGroup

ALARM = "wake-apps"


class Timers:
    """At most one timer for each app or group and purpose: setting it again moves it. ``clock`` gives UTC."""

    def __init__(self, alarms: Alarms, clock: Callable[[], datetime], wake: Callable[[AppOrGroup], None]) -> None:
        self._alarms = alarms
        self._clock = clock
        self._wake = wake
        self._lock = threading.Lock()
        self._moments: dict[tuple[AppOrGroup, str], datetime] = {}
        self._heap: list[tuple[datetime, int, AppOrGroup, str]] = []
        """With a number each: there is no order between apps and groups."""
        self._next = count()
        self._scheduled: datetime | None = None

    def schedule(self, app: AppOrGroup, moment: datetime | None, purpose: str) -> None:
        """Wake it at ``moment``; None cancels the timer of this purpose."""
        key = (app, purpose)
        with self._lock:
            if self._moments.get(key) == moment:
                return
            if moment is None:
                self._moments.pop(key, None)
                return
            self._moments[key] = moment
            heapq.heappush(self._heap, (moment, next(self._next), app, purpose))
            self._reschedule()

    def clock_was_set(self, by: timedelta) -> None:
        """Keep the time that each timer has left; who waits for a moment in UTC sets its timer again."""
        with self._lock:
            self._moments = {key: moment + by for key, moment in self._moments.items()}
            self._heap = [(moment, next(self._next), *key) for key, moment in self._moments.items()]
            heapq.heapify(self._heap)
            self._scheduled = None
            self._reschedule()

    def fire(self) -> None:
        """Wake all whose time has come, and schedule the next."""
        with self._lock:
            self._scheduled = None
            due = list(self._due(self._clock()))
            self._reschedule()
        for app in due:
            self._wake(app)

    def _due(self, now: datetime) -> set[AppOrGroup]:
        due: set[AppOrGroup] = set()
        while self._heap and self._heap[0][0] <= now:
            moment, _, app, purpose = heapq.heappop(self._heap)
            if self._moments.get((app, purpose)) == moment:
                del self._moments[app, purpose]
                due.add(app)
        return due

    def _reschedule(self) -> None:
        while self._heap and self._moments.get(self._heap[0][2:]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        if not self._heap:
            return
        earliest = self._heap[0][0]
        if self._scheduled is None or earliest < self._scheduled:
            self._scheduled = earliest
            self._alarms.after((earliest - self._clock()).total_seconds(), self.fire, ALARM)

"""Wakes apps at their time: one APScheduler job for the earliest time of all, never one job per app.

The job only puts apps on the queue (pitfalls.md §3).
"""

import heapq
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from gitops_bg.core.model.version import AppKey


class Scheduler(Protocol):
    """The part of APScheduler's scheduler that this module uses."""

    def add_job(self, func: Callable[[], None], **options: object) -> object:
        """Add or replace a job."""


JOB = "wake-apps"


class Timers:
    """At most one timer for each app and purpose: setting it again moves it."""

    def __init__(self, scheduler: Scheduler, clock: Callable[[], datetime], wake: Callable[[AppKey], None]) -> None:
        self._scheduler = scheduler
        self._clock = clock
        self._wake = wake
        self._lock = threading.Lock()
        self._moments: dict[tuple[AppKey, str], datetime] = {}
        self._heap: list[tuple[datetime, AppKey, str]] = []
        self._scheduled: datetime | None = None

    def schedule(self, app: AppKey, moment: datetime | None, purpose: str) -> None:
        """Wake the app at ``moment``; None cancels the timer of this purpose."""
        key = (app, purpose)
        with self._lock:
            if self._moments.get(key) == moment:
                return
            if moment is None:
                self._moments.pop(key, None)
                return
            self._moments[key] = moment
            heapq.heappush(self._heap, (moment, app, purpose))
            self._reschedule()

    def fire(self) -> None:
        """Wake every app whose time has come, and schedule the next."""
        with self._lock:
            self._scheduled = None
            due = list(self._due(self._clock()))
            self._reschedule()
        for app in due:
            self._wake(app)

    def _due(self, now: datetime) -> set[AppKey]:
        due: set[AppKey] = set()
        while self._heap and self._heap[0][0] <= now:
            moment, app, purpose = heapq.heappop(self._heap)
            if self._moments.get((app, purpose)) == moment:
                del self._moments[app, purpose]
                due.add(app)
        return due

    def _reschedule(self) -> None:
        while self._heap and self._moments.get((self._heap[0][1], self._heap[0][2])) != self._heap[0][0]:
            heapq.heappop(self._heap)
        if not self._heap:
            return
        earliest = self._heap[0][0]
        if self._scheduled is None or earliest < self._scheduled:
            self._scheduled = earliest
            self._scheduler.add_job(self.fire, trigger="date", run_date=earliest, id=JOB, replace_existing=True)

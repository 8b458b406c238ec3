"""Measures beside the reconciling: a few threads, fair between apps, each measurement once and with a deadline.

Keeps what came out until the record that was saved no longer asks for it. It never decides what is measured (the core
does), nor when an app is looked at again (the agent does).
"""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gitops_bg.core.errors import InternalError, guarded
from gitops_bg.core.model.analysis_runs import MeasurementId, MeasurementRequest, MeasurementResult
from gitops_bg.core.model.metrics import AnalysisPhase
from gitops_bg.core.model.version import AppKey

LOGGER = logging.getLogger(__name__)

LONGEST = timedelta(seconds=330)
"""No measurement takes longer: the longest timeout that a template may ask for, and what is needed around it."""

MeasureOne = Callable[[AppKey, MeasurementRequest], MeasurementResult]
"""Takes one measurement. What it raises is a bug."""


@dataclass(slots=True, eq=False)
class _Task:
    """One measurement on its way: it waits, then runs, then has its result."""

    app: AppKey
    measure: MeasurementRequest
    started: datetime | None = None
    measured: MeasurementResult | None = None
    dropped: bool = False
    """Nobody asks for it any more; while it runs, it may be asked for again."""
    thread: threading.Thread | None = None
    """Who runs it; None also once that thread was given up as lost."""

    @property
    def waiting(self) -> bool:
        return self.started is None and not self.dropped

    @property
    def running(self) -> bool:
        return self.started is not None and self.measured is None


class MeasurementPool:
    """The measurements of all apps. At most ``size`` at once, and half of that for one app. ``clock`` gives UTC."""

    def __init__(
        self, measure: MeasureOne, wake: Callable[[AppKey], None], clock: Callable[[], datetime], size: int
    ) -> None:
        self._measure = measure
        self._wake = wake
        self._clock = clock
        self._size = size
        self._share = max(1, size // 2)
        self._changed = threading.Condition()
        self._tasks: dict[AppKey, dict[MeasurementId, _Task]] = {}
        self._turns: dict[AppKey, None] = {}
        """The apps with something that waits, in the order of their turns."""
        self._threads: set[threading.Thread] = set()
        self._free = 0
        self._announcing = 0
        self._stopped = False

    # --- what the agent asks ------------------------------------------------------------------------------------

    def results(self, app: AppKey) -> tuple[MeasurementResult, ...]:
        """What came out and was not taken into account yet."""
        with self._changed:
            found = [task.measured for task in self._tasks.get(app, {}).values()]
        return tuple(measured for measured in found if measured)

    def take(self, app: AppKey, measures: Sequence[MeasurementRequest]) -> datetime | None:
        """These are to be measured, as the record says that was saved; all others of the app are over.

        Starts what is not under way, and gives up what takes too long. Gives the time to call again at the latest,
        where something is under way.
        """
        with self._changed:
            if not measures and app not in self._tasks:
                return None
            overdue = self._give_up(app)
            tasks = self._tasks.setdefault(app, {})
            self._drop(tasks, {measure.id for measure in measures})
            for measure in measures:
                tasks.setdefault(measure.id, _Task(app, measure)).dropped = False
            under_way = [task for task in tasks.values() if task.measured is None and not task.dropped]
            self._turns.setdefault(app)
            if not tasks:
                del self._tasks[app]
            self._hire()
            self._changed.notify_all()
            now = self._clock()
        self._announce(overdue)
        return min(((task.started or now) + LONGEST for task in under_way), default=None)

    def forget(self, app: AppKey) -> None:
        """Nothing of the app is to be measured any more."""
        self.take(app, ())

    def stop(self) -> None:
        """Begin nothing more, and wake nobody; what still runs is left alone, and ends with the process."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    @property
    def idle(self) -> bool:
        """Whether nothing is under way."""
        with self._changed:
            tasks = [task for tasks in self._tasks.values() for task in tasks.values() if not task.dropped]
            return not self._announcing and all(task.measured for task in tasks)

    # --- bookkeeping; the lock is held --------------------------------------------------------------------------

    def _drop(self, tasks: dict[MeasurementId, _Task], wanted: set[MeasurementId]) -> None:
        for one, task in list(tasks.items()):
            if one not in wanted:
                task.dropped = True
                if not task.running:
                    del tasks[one]

    def _give_up(self, app: AppKey) -> list[_Task]:
        """The tasks of an app whose time is over, now with that as their result."""
        now = self._clock()
        tasks = self._tasks.get(app, {}).values()
        overdue = [task for task in tasks if task.running and task.started and task.started + LONGEST <= now]
        for task in overdue:
            message = f"no answer within {LONGEST.total_seconds():.0f} s"
            task.measured = MeasurementResult(
                task.measure.id, AnalysisPhase.ERROR, now, message=message, begun_at=task.started
            )
            if task.thread:
                self._threads.discard(task.thread)
                task.thread = None
        return [task for task in overdue if not task.dropped]

    def _hire(self) -> None:
        """Threads are made when there is work for them."""
        if self._stopped or len(self._threads) >= self._size:
            return
        waiting = sum(task.waiting for tasks in self._tasks.values() for task in tasks.values())
        for _ in range(min(waiting - self._free, self._size - len(self._threads))):
            thread = threading.Thread(target=self._work, name="measuring", daemon=True)
            self._threads.add(thread)
            thread.start()

    def _next(self) -> _Task | None:
        """The next task, apps taking turns; waits for one. None once it is over."""
        with self._changed:
            self._free += 1
            try:
                while not self._stopped:
                    task = self._pick()
                    if task:
                        task.started, task.thread = self._clock(), threading.current_thread()
                        return task
                    self._changed.wait()
                return None
            finally:
                self._free -= 1

    def _pick(self) -> _Task | None:
        """A task of the first app in turn that may have one more thread; its next turn comes after all others."""
        for app in list(self._turns):
            tasks = self._tasks.get(app, {}).values()
            waiting = next((task for task in tasks if task.waiting), None)
            if waiting is None:
                del self._turns[app]
            elif sum(task.running for task in tasks) < self._share:
                del self._turns[app]
                self._turns[app] = None
                return waiting
        return None

    # --- the threads --------------------------------------------------------------------------------------------

    def _work(self) -> None:
        for task in iter(self._next, None):
            if not self._finish(task, self._measured(task)):
                return

    def _measured(self, task: _Task) -> MeasurementResult:
        """A bug is an error of the measurement that it struck; the thread measures the next."""
        try:
            with guarded(f"a measurement of {task.app}"):
                return self._measure(task.app, task.measure)
        except InternalError as error:
            # What was raised may hold what a Secret does, and nobody has cleaned it.
            said = f"a measurement of {task.app}: a bug of the agent: {type(error.__cause__).__name__}"
            LOGGER.exception("%s", said, exc_info=False)
            return MeasurementResult(task.measure.id, AnalysisPhase.ERROR, self._clock(), message=said)

    def _finish(self, task: _Task, measured: MeasurementResult) -> bool:
        """Keep a result, unless nobody asks for it any more; whether the thread may go on."""
        with self._changed:
            if task.thread is None or task.started is None or self._stopped:
                return False
            task.measured = replace(measured, begun_at=task.started)
            self._announcing += 1
            if task.dropped:
                self._tasks.get(task.app, {}).pop(task.measure.id, None)
            self._changed.notify_all()
        if not task.dropped:
            self._announce([task])
        with self._changed:
            self._announcing -= 1
        return True

    def _announce(self, tasks: Sequence[_Task]) -> None:
        for task in tasks:
            self._wake(task.app)

"""Measures in the background: a few threads, fair between subjects, each measurement once and with a deadline.

A subject is an app, or a release group. Keeps results until the saved record no longer asks for them. The core decides
what is measured, the agent when a subject is looked at again.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gitops_bg.core.errors import InternalError, guarded
from gitops_bg.core.model.analysis import AnalysisPhase, MeasurementId, MeasurementRequest, MeasurementResult
from gitops_bg.core.model.version import Subject
from gitops_bg.outbound.turns import Turns

LOGGER = logging.getLogger(__name__)

LONGEST = timedelta(seconds=330)
"""The longest measurement: the longest timeout that a template may have, plus overhead."""

MeasureOne = Callable[[Subject, MeasurementRequest], MeasurementResult]
"""Takes one measurement. Any exception from it is a bug."""


@dataclass(slots=True, eq=False)
class _Task:
    """One measurement: first it waits, then it runs, then it has a result."""

    subject: Subject
    measure: MeasurementRequest
    started: datetime | None = None
    """In UTC; ``overdue`` is by the steady clock."""
    overdue: datetime | None = None
    measured: MeasurementResult | None = None
    dropped: bool = False
    """It is no longer needed; while it runs, it may be asked for again."""
    thread: threading.Thread | None = None
    """The thread that runs it; None again once that thread was given up as lost."""

    @property
    def waiting(self) -> bool:
        return self.started is None and not self.dropped

    @property
    def running(self) -> bool:
        return self.started is not None and self.measured is None


class MeasurementPool:
    """The measurements of all subjects. At most ``size`` at once, and half of that for one.

    ``clock`` gives UTC, and may be set; ``steady`` only goes on.
    """

    def __init__(
        self,
        measure: MeasureOne,
        wake: Callable[[Subject], None],
        clock: Callable[[], datetime],
        size: int,
        *,
        steady: Callable[[], datetime],
    ) -> None:
        self._measure = measure
        self._wake = wake
        self._clock = clock
        self._steady = steady
        self._size = size
        self._changed = threading.Condition()
        self._tasks: dict[Subject, dict[MeasurementId, _Task]] = {}
        self._turns = Turns(share=max(1, size // 2))
        self._threads: set[threading.Thread] = set()
        self._free = 0
        self._announcing = 0
        self._stopped = False

    # --- what the agent asks ------------------------------------------------------------------------------------

    def results(self, subject: Subject) -> tuple[MeasurementResult, ...]:
        """The results that the record has not counted yet."""
        with self._changed:
            found = [task.measured for task in self._tasks.get(subject, {}).values()]
        return tuple(measured for measured in found if measured)

    def update(self, subject: Subject, measures: Sequence[MeasurementRequest]) -> datetime | None:
        """Measure what the saved record asks for; end all other measurements of the subject.

        Starts what is not under way, and gives up what takes too long. Returns the latest time to call again, where
        something is under way.
        """
        with self._changed:
            if not measures and subject not in self._tasks:
                return None
            overdue = self._give_up(subject)
            tasks = self._tasks.setdefault(subject, {})
            self._drop(tasks, {measure.id for measure in measures})
            for measure in measures:
                tasks.setdefault(measure.id, _Task(subject, measure)).dropped = False
            under_way = [task for task in tasks.values() if task.measured is None and not task.dropped]
            self._turns.join(subject)
            if not tasks:
                del self._tasks[subject]
            self._hire()
            self._changed.notify_all()
            now = self._steady()
            left = min(((task.overdue or now + LONGEST) - now for task in under_way), default=None)
        self._announce(overdue)
        return None if left is None else self._clock() + left

    def forget(self, subject: Subject) -> None:
        """End all measurements of the subject."""
        self.update(subject, ())

    def stop(self) -> None:
        """Begin no further measurement, and wake no subject; running ones end with the process."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    @property
    def idle(self) -> bool:
        """Whether no measurement is under way."""
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

    def _give_up(self, subject: Subject) -> list[_Task]:
        """The overdue tasks of a subject, now with an error as their result."""
        now, steady = self._clock(), self._steady()
        tasks = self._tasks.get(subject, {}).values()
        overdue = [task for task in tasks if task.running and task.overdue and task.overdue <= steady]
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
        """Start a thread if there is work for one more."""
        if self._stopped or len(self._threads) >= self._size:
            return
        waiting = sum(task.waiting for tasks in self._tasks.values() for task in tasks.values())
        for _ in range(min(waiting - self._free, self._size - len(self._threads))):
            thread = threading.Thread(target=self._work, name="measuring", daemon=True)
            self._threads.add(thread)
            thread.start()

    def _next(self) -> _Task | None:
        """The next task, subjects taking turns; blocks until there is one. None once the pool is stopped."""
        with self._changed:
            self._free += 1
            try:
                while not self._stopped:
                    task = self._pick()
                    if task:
                        task.started, task.overdue = self._clock(), self._steady() + LONGEST
                        task.thread = threading.current_thread()
                        return task
                    self._changed.wait()
                return None
            finally:
                self._free -= 1

    def _pick(self) -> _Task | None:
        """A task of the subject whose turn it is."""
        subject = self._turns.next(
            waiting=lambda each: any(task.waiting for task in self._tasks.get(each, {}).values()),
            running=lambda each: sum(task.running for task in self._tasks.get(each, {}).values()),
        )
        return next((task for task in self._tasks[subject].values() if task.waiting), None) if subject else None

    # --- the threads --------------------------------------------------------------------------------------------

    def _work(self) -> None:
        for task in iter(self._next, None):
            if not self._finish(task, self._measured(task)):
                return

    def _measured(self, task: _Task) -> MeasurementResult:
        """Measure; a bug is an error of this measurement, and the thread goes on."""
        try:
            with guarded(f"a measurement of {task.subject}"):
                return self._measure(task.subject, task.measure)
        except InternalError as error:
            # The exception may contain secrets, and has not been masked.
            said = f"a measurement of {task.subject}: a bug of the agent: {type(error.__cause__).__name__}"
            LOGGER.exception("%s", said, exc_info=False)
            return MeasurementResult(task.measure.id, AnalysisPhase.ERROR, self._clock(), message=said)

    def _finish(self, task: _Task, measured: MeasurementResult) -> bool:
        """Keep a result, unless it is no longer needed; return whether the thread may go on."""
        with self._changed:
            if task.thread is None or task.started is None or self._stopped:
                return False
            task.measured = replace(measured, begun_at=task.started)
            self._announcing += 1
            if task.dropped:
                self._tasks.get(task.subject, {}).pop(task.measure.id, None)
            self._changed.notify_all()
        if not task.dropped:
            self._announce([task])
        with self._changed:
            self._announcing -= 1
        return True

    def _announce(self, tasks: Sequence[_Task]) -> None:
        for task in tasks:
            self._wake(task.subject)

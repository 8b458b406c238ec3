"""Takes measurements in the background: a few threads, fair between subjects, each measurement once and with a
deadline, from Secrets and provider to conditions. A result contains no secret.

A subject is an app, or a release group. Results are kept until the saved record no longer asks for them. The core
decides what is measured, the agent when a subject is looked at again.
"""

import json
import logging
import math
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from gitops_bg.analysis.provider import Context, NoData, Reading, Value
from gitops_bg.analysis.registry import Registry
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, InternalError, guarded
from gitops_bg.core.foreign_json import reread_json
from gitops_bg.core.model.analysis import (
    AnalysisPhase,
    MeasurementId,
    MeasurementRequest,
    MeasurementResult,
    Metric,
    shortened,
)
from gitops_bg.core.model.policy_rules import NoAnswer
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.outbound.addresses import EVERYWHERE, AddressRules
from gitops_bg.outbound.http import MeasuringFailed, ask
from gitops_bg.outbound.secrets import NoSuchKey, ReadSecret, Secrets, quoted
from gitops_bg.outbound.turns import Turns
from gitops_bg.spec.expressions import BadExpression, NoValue, is_true

LOGGER = logging.getLogger(__name__)


Judgement = tuple[AnalysisPhase, str]
"""A phase, and the reason for it; empty for a good one."""


IsTrue = Callable[[str, Mapping[str, Any]], bool]
"""Whether a condition is true of values. Raises as `expressions.is_true`."""


def evaluate(metric: Metric, reading: Reading, is_true: IsTrue = is_true) -> Judgement:
    """Evaluate the conditions of a metric, in CEL over ``result``, on a reading (argo-rollouts.md §3,
    `evaluate.EvaluateResult` of Argo Rollouts).

    Unlike there, missing data is always inconclusive; a condition that cannot be evaluated on existing data is an
    error.
    """
    result = None if isinstance(reading, NoData) else reading.result
    if result is None or _has_nan(result):
        why = reading.why if isinstance(reading, NoData) else "the value is null or NaN"
        return AnalysisPhase.INCONCLUSIVE, f"no data: {why}"
    try:
        return _conditions(metric, result, is_true)
    except NoValue as missing:
        return AnalysisPhase.INCONCLUSIVE, f"no data: {missing}"
    except NoAnswer as error:
        missing_part = _has_null(result)
        return (
            (AnalysisPhase.INCONCLUSIVE, f"no data: null in it: {error}")
            if missing_part
            else (AnalysisPhase.ERROR, str(error))
        )
    except BadExpression as error:
        return AnalysisPhase.ERROR, str(error)


def _conditions(metric: Metric, result: Any, is_true: IsTrue) -> Judgement:
    failed = bool(metric.failure) and is_true(metric.failure, {"result": result})
    if failed:
        return AnalysisPhase.FAILED, f"failureCondition {metric.failure} is true"
    if not metric.success or is_true(metric.success, {"result": result}):
        return AnalysisPhase.SUCCESSFUL, ""
    if metric.failure:
        return AnalysisPhase.INCONCLUSIVE, "neither successCondition nor failureCondition is true"
    return AnalysisPhase.FAILED, f"successCondition {metric.success} is false"


def _has_nan(value: Any) -> bool:
    return (isinstance(value, float) and math.isnan(value)) or any(map(_has_nan, _parts(value)))


def _has_null(value: Any) -> bool:
    return value is None or any(map(_has_null, _parts(value)))


def _parts(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else []


IsTrueOf = Callable[[AppOrGroup, str, Mapping[str, Any]], bool]
"""Whether a condition of an app or a group is true of values. Raises as `expressions.is_true`."""


class MetricEvaluator:
    """Takes one measurement per call; thread-safe. ``clock`` gives UTC, ``is_true`` evaluates conditions, ``rules`` say
    where requests may go.
    """

    def __init__(
        self,
        registry: Registry,
        read_secret: ReadSecret,
        clock: Callable[[], datetime],
        is_true: IsTrueOf = lambda _, text, values: is_true(text, values),
        rules: AddressRules = EVERYWHERE,
    ) -> None:
        self._registry = registry
        self._read_secret = read_secret
        self._clock = clock
        self._is_true = is_true
        self._ask = partial(ask, rules=rules)

    def measure(self, subject: AppOrGroup, measure: MeasurementRequest) -> MeasurementResult:
        """Measure. Any error is an error of the measurement, never of the agent: providers may be foreign code."""
        secrets = Secrets(subject.namespace, self._read_secret)
        value = ""
        try:
            reading = self._reading(subject, measure, secrets)
            value = _text(reading)
            phase, message = evaluate(measure.metric, reading, partial(self._is_true, subject))
        except MeasuringFailed as error:
            phase, message = AnalysisPhase.ERROR, error.shown(secrets.clean)
        except (NoSuchKey, GitopsBgError) as error:
            phase, message = AnalysisPhase.ERROR, str(error)
        except Exception as error:
            LOGGER.exception("%s", secrets.clean(traceback.format_exc()), exc_info=False)
            phase, message = (
                AnalysisPhase.ERROR,
                f"the provider broke: {type(error).__name__}: {quoted(str(error), secrets.clean)}",
            )
        return MeasurementResult(
            measure.id, phase, self._clock(), shortened(secrets.clean(value)), shortened(secrets.clean(message))
        )

    def _reading(self, subject: AppOrGroup, measure: MeasurementRequest, secrets: Secrets) -> Reading:
        provider = self._registry.provider(measure.metric.provider)
        block = secrets.fill(reread_json(measure.metric.query))
        return provider.measure(block, Context(subject, self._clock(), secrets, self._ask))


def _text(reading: Reading) -> str:
    return json.dumps(reading.result, ensure_ascii=False, default=_odd) if isinstance(reading, Value) else ""


def _odd(value: Any) -> str:
    raise MeasuringFailed(f"the provider gave a {type(value).__name__}, which is no JSON")


LONGEST = timedelta(seconds=330)
"""The longest measurement: the longest timeout that a template may have, plus overhead."""

MeasureOne = Callable[[AppOrGroup, MeasurementRequest], MeasurementResult]
"""Takes one measurement. Any exception from it is a bug."""


@dataclass(slots=True, eq=False)
class _Task:
    """One measurement: first it waits, then it runs, then it has a result."""

    subject: AppOrGroup
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
        wake: Callable[[AppOrGroup], None],
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
        self._tasks: dict[AppOrGroup, dict[MeasurementId, _Task]] = {}
        self._turns = Turns(share=max(1, size // 2))
        self._threads: set[threading.Thread] = set()
        self._free = 0
        self._announcing = 0
        self._stopped = False

    # --- what the agent asks ------------------------------------------------------------------------------------

    def results(self, subject: AppOrGroup) -> tuple[MeasurementResult, ...]:
        """Return the results that the record has not counted yet."""
        with self._changed:
            found = [task.measured for task in self._tasks.get(subject, {}).values()]
        return tuple(measured for measured in found if measured)

    def update(self, subject: AppOrGroup, measures: Sequence[MeasurementRequest]) -> datetime | None:
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

    def forget(self, subject: AppOrGroup) -> None:
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

    def _give_up(self, subject: AppOrGroup) -> list[_Task]:
        """Return the overdue tasks of a subject, now with an error as their result."""
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
        """Return the next task, subjects taking turns; blocks until there is one. None once the pool is stopped."""
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
        """Return a task of the subject whose turn it is."""
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

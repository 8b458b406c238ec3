"""Measures by running Jobs: starts them, follows their end, ends and deletes those that are no longer needed.

The name of a Job is that of its measurement, and the result is read from the Job itself each time: nothing is kept here
that a restart would lose, and no measurement has two Jobs. A running Job costs no thread: one thread writes, and two
watches follow all Jobs; both begin with the first Job.
"""

import contextlib
import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.errors import ForeignObject
from gitops_bg.cluster.api.kinds import JOBS, OURS, PODS, PODS_OF_JOBS, Object
from gitops_bg.cluster.api.watch import Pace, Watch
from gitops_bg.cluster.manifests.jobs import (
    DEADLINE,
    JobState,
    PodState,
    job_manifest,
    job_state,
    metric_of,
    phase_before_pods,
    phase_of_job,
    pod_state,
    took,
)
from gitops_bg.cluster.observation.informer import Informer, Unlisted
from gitops_bg.cluster.observation.ownership import controlling_subject
from gitops_bg.cluster.observation.states import meta_of
from gitops_bg.core import names
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, InternalError, Transient, WorldChanged, guarded
from gitops_bg.core.model.analysis import (
    NOT_STARTED,
    AnalysisPhase,
    MeasurementId,
    MeasurementRequest,
    MeasurementResult,
    RunRecord,
    id_of,
)
from gitops_bg.core.model.version import AppKey, AppOrGroup

PROVIDER = "job"
_LOG = logging.getLogger(__name__)
_SYNC_SECONDS = 10.0
_LOOK_SECONDS = 0.05
_PAUSES = (0.1, 0.5)
"""Seconds between two attempts to create a Job; a longer failure is an error of the measurement."""
_STOP_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class _WantedJobs:
    """What a subject's record says about Jobs: those to start, by name; those still needed; how many to keep.

    ``keep`` is by metric and run: ``job_state.metric_of`` of its measurements.
    """

    uid: str
    start: dict[str, MeasurementRequest]
    awaited: dict[str, MeasurementId]
    keep: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Memory:
    """What the cluster cannot tell of awaited Jobs: which existed once, and why some could not be created."""

    made: set[MeasurementId] = field(default_factory=set)
    errors: dict[MeasurementId, tuple[datetime, str]] = field(default_factory=dict)


class Jobs:
    """The Jobs of all apps and release groups in ``namespaces`` (none: all).

    ``on_change`` gets each one that changed, ``on_crash`` a bug.

    Thread-safe; `update` and `measured` never wait for the API server.
    """

    def __init__(
        self,
        client: Client,
        namespaces: Sequence[str],
        on_change: Callable[[AppOrGroup], None],
        pace: Pace | None = None,
        on_crash: Callable[[BaseException], None] | None = None,
    ) -> None:
        self._client = client
        self._on_change = on_change
        self._on_crash = on_crash
        self._jobs: Informer[JobState, AppOrGroup] = Informer(job_state, _subject_of, on_change)
        self._pods: Informer[PodState, AppKey] = Informer(pod_state, _job_of, self._pod_changed)
        self._watches = [
            watch
            for namespace in namespaces or ("",)
            for watch in (
                Watch(client, lambda: JOBS, namespace, OURS, self._jobs.scope(namespace), pace),
                Watch(client, lambda: PODS, namespace, PODS_OF_JOBS, self._pods.scope(namespace), pace),
            )
        ]
        self._known: set[AppOrGroup] = set()
        self._done: dict[AppOrGroup, _WantedJobs] = {}
        self._memories: dict[AppOrGroup, _Memory] = {}
        self._queue: queue.SimpleQueue[tuple[AppOrGroup, _WantedJobs, datetime] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._asked = 0
        self._answered = 0
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def stop(self) -> None:
        """End the thread and the watches, within about two seconds; the Jobs go on."""
        self._stopping.set()
        thread = self._thread
        if thread is None:
            return
        self._queue.put(None)
        for watch in self._watches:
            watch.begin_stop()
        deadline = time.monotonic() + _STOP_SECONDS
        for watch in self._watches:
            watch.stop(max(0.1, deadline - time.monotonic()))
        thread.join(max(0.1, deadline - time.monotonic()))

    @property
    def alive(self) -> bool:
        """Whether everything that was started runs; False is a bug."""
        return self._thread is None or (self._thread.is_alive() and all(watch.alive for watch in self._watches))

    @property
    def started(self) -> bool:
        """Whether all requested Jobs are started, or cannot be."""
        return self._answered >= self._asked

    # --- what comes out ---

    def measured(self, subject: AppOrGroup, record: RunRecord, now: datetime) -> tuple[MeasurementResult, ...]:
        """Return the results of a subject's awaited measurements that have one."""
        if self._thread is None:
            return ()
        found = (self._result_of(subject, measurement, now) for measurement in _awaited(record))
        return tuple(each for each in found if each is not None)

    def _result_of(self, subject: AppOrGroup, measurement: MeasurementId, now: datetime) -> MeasurementResult | None:
        name, memory = names.job_name(subject, measurement), self._memories.get(subject, _Memory())
        if error := memory.errors.get(measurement):
            return MeasurementResult(measurement, AnalysisPhase.ERROR, error[0], message=error[1])
        job = self._jobs.get(subject.namespace, name)
        if job is None:
            gone = measurement in memory.made
            return (
                MeasurementResult(measurement, AnalysisPhase.INCONCLUSIVE, now, message=f"Job {name} was deleted")
                if gone
                else None
            )
        trouble = self._trouble(subject.namespace, name)
        if measurement.digest and self._is_to_be_told(job):
            return None
        if measurement.digest:
            phase, message = phase_before_pods(job, trouble, self._end_of_log(subject.namespace, name))
        else:
            phase, message = phase_of_job(job, trouble)
        if phase is AnalysisPhase.RUNNING:
            idle = trouble and not any(pod.begun for pod in self._pods.of(AppKey(subject.namespace, name)))
            value = NOT_STARTED if idle else ""
            return MeasurementResult(measurement, phase, now, value, message) if message else None
        lasted = took(job)
        begun = now - lasted if lasted is not None else None
        return MeasurementResult(measurement, phase, now, value=job.end, message=message, begun_at=begun)

    def _trouble(self, namespace: str, job: str) -> str:
        return next((pod.trouble for pod in self._pods.of(AppKey(namespace, job)) if pod.trouble), "")

    def _is_to_be_told(self, job: JobState) -> bool:
        """Return whether a Job has failed, and the watch of pods has yet to see which of them did, and what it said."""
        pods = list(self._pods.of(AppKey(job.meta.namespace, job.meta.name)))
        return job.end == "Failed" and job.reason != DEADLINE and bool(pods) and not any(pod.ended for pod in pods)

    def _end_of_log(self, namespace: str, job: str) -> str:
        lines = [pod.said for pod in self._pods.of(AppKey(namespace, job)) if pod.said]
        return lines[-1] if lines else ""

    def _pod_changed(self, job: AppKey) -> None:
        state = self._jobs.get(job.namespace, job.name)
        ended = any(pod.ended for pod in self._pods.of(job))
        if state is not None and (ended or self._trouble(job.namespace, job.name)):
            self._on_change(_subject_of(state))

    # --- what goes in ---

    def update(
        self, subject: AppOrGroup, uid: str, record: RunRecord, measures: Sequence[MeasurementRequest], now: datetime
    ) -> None:
        """Start the Jobs of these measurements, unless they run, and end those of ended runs.

        Call it after ``record`` was saved: a Job is created only for a measurement that is remembered.
        """
        keep = dict(_kept(record))
        if not keep and subject not in self._known:
            return
        self._known.add(subject)
        start = {names.job_name(subject, each.id): each for each in measures if each.metric.provider == PROVIDER}
        awaited = {names.job_name(subject, each): each for each in _awaited(record)}
        wanted = _WantedJobs(uid, start, awaited, keep)
        if self._done.get(subject) != wanted:
            self._begin()
            with self._lock:
                self._asked += 1
            self._queue.put((subject, wanted, now))

    def _begin(self) -> None:
        with self._lock:
            if self._thread is not None or self._stopping.is_set():
                return
            for watch in self._watches:
                watch.start()
            self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            for subject, wanted, now in iter(self._queue.get, None):
                if not self._stopping.is_set() and self._done.get(subject) != wanted:
                    self._bring_guarded(subject, wanted, now)
                self._answered += 1
        except BaseException as error:
            if self._on_crash is None:
                raise
            self._on_crash(error)

    def _bring_guarded(self, subject: AppOrGroup, wanted: _WantedJobs, now: datetime) -> None:
        """Bring the Jobs up to date; a bug becomes an error of the measurements that it prevented."""
        try:
            with guarded(f"the Jobs of {subject}"):
                self._bring(subject, wanted, now)
        except InternalError as error:
            _LOG.error("%s", error, exc_info=error.__cause__)
            memory = self._memories.setdefault(subject, _Memory())
            unmade = [each.id for each in wanted.start.values() if each.id not in memory.made]
            memory.errors.update(dict.fromkeys(unmade, (now, str(error))))
            self._on_change(subject)

    def _bring(self, subject: AppOrGroup, wanted: _WantedJobs, now: datetime) -> None:
        """Start the wanted Jobs, end the others; a refusal of the server is an error of the measurement."""
        memory = self._memories.get(subject, _Memory())
        awaited = set(wanted.awaited.values())
        memory = _Memory(memory.made & awaited, {key: told for key, told in memory.errors.items() if key in awaited})
        self._memories[subject] = memory
        for name, measure in wanted.start.items():
            try:
                self._ensure(subject, name, wanted.uid, measure)
            except GitopsBgError as error:
                memory.errors[measure.id] = (now, str(error))
                self._on_change(subject)
        with contextlib.suppress(GitopsBgError):  # the next look at the subject tries again
            self._wait_for_lists(subject.namespace)
            self._clean_up(subject, wanted)
            self._done[subject] = wanted

    def _ensure(self, subject: AppOrGroup, name: str, uid: str, measure: MeasurementRequest) -> None:
        memory = self._memories[subject]
        self._wait_for_lists(subject.namespace)
        if measure.id in memory.made or measure.id in memory.errors:
            return
        there = self._jobs.get(subject.namespace, name)
        if there is not None and there.meta.controller is not None and there.meta.controller.uid != uid:
            raise Transient(f"{JOBS.called(subject.namespace, name)} goes with a former object of {subject}")
        if there is None:
            self._jobs.remember(self._created(subject, name, job_manifest(subject, uid, measure)), instead_of="")
        memory.made.add(measure.id)
        self._on_change(subject)  # it may have ended while another process of the agent ran

    def _created(self, subject: AppOrGroup, name: str, manifest: Object) -> Object:
        """Return the Job, created or found; retried where no response came, because it may have been created."""
        pauses = iter(_PAUSES)
        while True:
            try:
                return self._client.create(JOBS, manifest)
            except WorldChanged:  # it exists, and the watch lags behind
                return self._existing(subject, name)
            except Transient:
                pause = next(pauses, None)
                if pause is None or self._stopping.wait(pause):
                    raise

    def _existing(self, subject: AppOrGroup, name: str) -> Object:
        body = self._client.get(JOBS, subject.namespace, name)
        if body is None:
            raise Transient(f"{JOBS.called(subject.namespace, name)} is just being deleted")
        if controlling_subject(meta_of(body)) != subject:
            raise ForeignObject(f"{JOBS.called(subject.namespace, name)} is somebody else's, and has the name we need")
        return body

    def _wait_for_lists(self, namespace: str) -> None:
        """Wait for the first lists of both watches: until then it is unknown which Jobs exist in the namespace."""
        deadline = time.monotonic() + _SYNC_SECONDS
        caches: tuple[Informer[Any, Any], ...] = (self._jobs, self._pods)
        while error := next(filter(None, (cache.unknown(namespace) for cache in caches)), None):
            if not isinstance(error, Unlisted) or time.monotonic() > deadline or self._stopping.wait(_LOOK_SECONDS):
                raise error

    def _clean_up(self, subject: AppOrGroup, wanted: _WantedJobs) -> None:
        for job in list(self._of_no_use(subject, wanted)):
            self._client.delete(JOBS, subject.namespace, job.meta.name, job.meta.uid)
            self._jobs.forget(subject.namespace, job.meta.name, job.meta.uid)

    def _of_no_use(self, subject: AppOrGroup, wanted: _WantedJobs) -> Iterator[JobState]:
        """Yield jobs whose run was forgotten, or had ended before them, and old ones beyond the retention."""
        ended = Counter[str]()
        for job in sorted(self._jobs.of(subject), key=lambda each: each.number, reverse=True):
            if job.meta.name in wanted.awaited:
                continue
            ended[job.metric] += bool(job.end)
            if not job.end or ended[job.metric] > wanted.keep.get(job.metric, 0):
                yield job


def _awaited(record: RunRecord) -> Iterator[MeasurementId]:
    """Yield the measurements by Jobs that the record waits for, or soon will."""
    for run in record.analyses.runs:
        for one in run.metrics:
            if run.running and one.phase is AnalysisPhase.RUNNING and one.metric.provider == PROVIDER:
                yield id_of(run, record.epoch, one)


def _kept(record: RunRecord) -> Iterator[tuple[str, int]]:
    """Yield how many ended Jobs stay for each metric of each remembered run."""
    for run in (*record.analyses.past, *record.analyses.runs):
        for one in run.metrics:
            if one.metric.provider == PROVIDER:
                yield metric_of(str(id_of(run, record.epoch, one))), one.metric.retention


def _subject_of(job: JobState) -> AppOrGroup:
    return controlling_subject(job.meta) or AppKey(job.meta.namespace, job.meta.app)


def _job_of(pod: PodState) -> AppKey:
    """Return the key of a pod's Job, in the form of an app's key."""
    return AppKey(pod.meta.namespace, pod.job)

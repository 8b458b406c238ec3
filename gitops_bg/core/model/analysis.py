"""What an analysis measures, the state of its runs, and how measurements change that: limits, counts, verdict, when to
measure next, and which runs a record remembers.

Pure arithmetic; it knows no versions and no traffic (`core.delivery.analyses` does). The rules are those of
argo-rollouts.md §3, function by function; how many runs are kept, those of `spec.analysis` (argo-rollouts.md §1.3), and
the last run of each stage has no limit. A record is one object of the cluster, which takes about 1 MiB: only verdict,
counts and the last answers of an ended run stay.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.version import Snapshot, short

LATEST = "{{podTemplateHash.Latest}}"
STABLE = "{{podTemplateHash.Stable}}"
"""Placeholders in a plan for the digests of the candidate and of the serving version, until a run begins."""


class AnalysisStage(StrEnum):
    """When a run measures: before traffic moves, or after. Jobs are measurements, too, once for each version, before it
    has any pod (decision 114).
    """

    BEFORE_PODS = "before-pods"
    PRE = "pre"
    POST = "post"
    AFTER_SETTLED = "after-settled"

    @property
    def called(self) -> str:
        """The name of the analysis in a sentence."""
        if self.is_job:
            return "Job before the pods" if self is AnalysisStage.BEFORE_PODS else "contract"
        return f"{self.value}-promotion analysis"

    @property
    def is_job(self) -> bool:
        """Whether it is no analysis, but Jobs that run once for a version."""
        return self in (AnalysisStage.BEFORE_PODS, AnalysisStage.AFTER_SETTLED)


class AnalysisPhase(StrEnum):
    """The result of a measurement, a metric or a run; of many, the worst wins (argo-rollouts.md §3)."""

    RUNNING = "Running"
    SUCCESSFUL = "Successful"
    INCONCLUSIVE = "Inconclusive"
    ERROR = "Error"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. Times in seconds; a limit of -1 means no limit, but for the limits in a row 0 does.

    ``query`` is the provider's settings as canonical JSON: the core only carries it.
    """

    name: str
    provider: str
    query: str = "{}"
    success: str = ""
    """CEL over ``result``; empty: every value that does not fail is a success."""
    failure: str = ""
    interval: int = 0
    initial_delay: int = 0
    count: int = 1
    failure_limit: int = 0
    inconclusive_limit: int = 0
    consecutive_error_limit: int = 4
    consecutive_success_limit: int = 0
    dry_run: bool = False
    retention: int = 10

    def between(self, latest: str, stable: str) -> "Metric":
        """Return the metric for two versions, given by the short digests in their pods' labels."""
        texts = (self.query, self.success, self.failure)
        query, success, failure = (text.replace(LATEST, latest).replace(STABLE, stable) for text in texts)
        return replace(self, query=query, success=success, failure=failure)


@dataclass(frozen=True, slots=True)
class MeasurementPlan:
    """All metrics of one stage. ``unknown`` says why they cannot be known now; no run may begin then."""

    metrics: tuple[Metric, ...] = ()
    unknown: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    """`analysisRunMetadata`: shown with the run, without effect."""


ERROR_RETRY = timedelta(seconds=10)
"""How long to wait before a measurement that ended in an error is taken again, whatever the interval."""

NOT_STARTED = "NotStarted"
"""The value of a measurement that is ``RUNNING``, and of which nothing has run: a Job whose image cannot be pulled."""

LONGEST_TEXT = 200
"""The most characters of a value or a message that the record keeps."""

_WORST_LAST = (AnalysisPhase.SUCCESSFUL, AnalysisPhase.INCONCLUSIVE, AnalysisPhase.ERROR, AnalysisPhase.FAILED)


@dataclass(frozen=True, slots=True)
class MeasurementId:
    """The unique name of one measurement, so that no measurement is counted twice."""

    epoch: str
    rollout: int
    stage: AnalysisStage
    attempt: int
    metric: str
    index: int
    begun: int = 0
    """When its run began, in seconds since 1970: a run that a record has forgotten has other measurements."""
    digest: str = ""
    """Of a Job that runs once for each version: the version, by which a new record finds the same Job; else empty."""

    def __str__(self) -> str:
        of = short(self.digest) if self.digest else self.rollout
        return f"{of}.{self.stage}.{self.attempt}.{self.metric}.{self.index}"


@dataclass(frozen=True, slots=True)
class MeasurementRequest:
    """A measurement that is due."""

    id: MeasurementId
    metric: Metric
    version: Snapshot | None = None
    """Of a Job before the pods of a version: that version, whose images and configuration the Job has."""


@dataclass(frozen=True, slots=True)
class MeasurementResult:
    """The result of one measurement; one that is ``RUNNING`` only says how far it is. ``value`` and ``message`` are for
    people, short, and free of secrets.
    """

    id: MeasurementId
    phase: AnalysisPhase
    at: datetime
    value: str = ""
    message: str = ""
    begun_at: datetime | None = None
    """When the measurement was requested, by the clock of ``at``; None where that is unknown."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measurement as the record remembers it."""

    phase: AnalysisPhase
    at: datetime
    value: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class MetricRun:
    """One metric of a run, with its counts so far."""

    metric: Metric
    successful: int = 0
    failed: int = 0
    inconclusive: int = 0
    error: int = 0
    consecutive_errors: int = 0
    consecutive_successes: int = 0
    last_at: datetime | None = None
    measurements: tuple[Measurement, ...] = ()
    """The newest measurements, oldest first."""
    terminated: bool = False
    """The run ended before this metric did; the metric then counts as passed."""

    @property
    def phase(self) -> AnalysisPhase:
        """What the metric found: by its counts, or because the run ended before it did."""
        return AnalysisPhase.SUCCESSFUL if self.terminated else _assess(self)

    @property
    def index(self) -> int:
        """The index of the next measurement, from 0."""
        return self.counted + self.error

    @property
    def counted(self) -> int:
        """How many measurements count: all but those that ended in an error."""
        return self.successful + self.failed + self.inconclusive

    def __str__(self) -> str:
        counts = f"✔{self.successful} ✖{self.failed} ?{self.inconclusive} ⚠{self.error}"
        notes = (" (dry run)" if self.metric.dry_run else "") + (" (terminated)" if self.terminated else "")
        return f"{self.metric.name} {counts} of {self.metric.count}{notes}"


@dataclass(frozen=True, slots=True)
class AnalysisRun:
    """One run of one stage for one rollout.

    It holds a snapshot of its metrics, so a later edit applies to the next run.
    """

    stage: AnalysisStage
    digest: str
    rollout: int
    attempt: int = 1
    """Counts the runs of one rollout: answering a pause starts a new run."""
    fallback: str = ""
    """Of a run after promotion: the digest that traffic left, and would go back to."""
    started_at: datetime | None = None
    """None while the run waits for its metrics to be known."""
    finished_at: datetime | None = None
    phase: AnalysisPhase = AnalysisPhase.RUNNING
    named: bool = False
    """``primary.yaml`` already named the version when the run ended, so naming it does not answer the pause."""
    metrics: tuple[MetricRun, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()

    @property
    def running(self) -> bool:
        """Whether the run has no verdict yet."""
        return self.phase is AnalysisPhase.RUNNING

    @property
    def paused(self) -> bool:
        """Whether the run ended inconclusive, so that a person has to decide."""
        return self.phase is AnalysisPhase.INCONCLUSIVE

    @property
    def open(self) -> bool:
        """Whether the run has no verdict yet, or a person has to give it."""
        return self.running or self.paused

    @property
    def bad(self) -> bool:
        """Whether the run says that its version must not carry traffic."""
        return self.phase in (AnalysisPhase.FAILED, AnalysisPhase.ERROR)

    def __str__(self) -> str:
        return "; ".join(map(str, self.metrics)) or "waiting for its metrics"


def begin(run: AnalysisRun, plan: MeasurementPlan, latest: str, stable: str, now: datetime) -> AnalysisRun:
    """Start a run: return it with the plan's metrics, begun at ``now``. ``latest`` and ``stable`` are short digests."""
    metrics = tuple(MetricRun(metric.between(latest, stable)) for metric in plan.metrics)
    return replace(run, started_at=now, metrics=metrics, labels=plan.labels, annotations=plan.annotations)


def restarted(run: AnalysisRun, rollout: int = 0) -> AnalysisRun:
    """Return a new run without measurements: the first of ``rollout``, or the next attempt of the same rollout."""
    attempt = 1 if rollout else run.attempt + 1
    return AnalysisRun(run.stage, run.digest, rollout or run.rollout, attempt, run.fallback)


# --- measurements that come in ---


def with_measurement(run: AnalysisRun, epoch: str, measured: MeasurementResult) -> AnalysisRun:
    """Return the run with one more measurement; unchanged unless it is the next one of a metric that is
    still running.
    """
    if measured.phase is AnalysisPhase.RUNNING:
        return run
    for one in run.metrics:
        if run.running and one.phase is AnalysisPhase.RUNNING and measured.id == id_of(run, epoch, one):
            counted = _count(one, measured)
            metrics = tuple(counted if each is one else each for each in run.metrics)
            return _conclude(replace(run, metrics=metrics), measured.at)
    return run


def id_of(run: AnalysisRun, epoch: str, one: MetricRun) -> MeasurementId:
    """Return the id of the next measurement of a metric."""
    begun = int(run.started_at.timestamp()) if run.started_at else 0
    digest = run.digest if run.stage.is_job else ""
    return MeasurementId(epoch, run.rollout, run.stage, run.attempt, one.metric.name, one.index, begun, digest)


def shortened(text: str) -> str:
    """Return the text, cut to `LONGEST_TEXT`."""
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


def _count(one: MetricRun, measured: MeasurementResult) -> MetricRun:
    phase = measured.phase
    value, message = shortened(measured.value), shortened(measured.message)
    kept = (*one.measurements, Measurement(phase, measured.at, value, message))
    return replace(
        one,
        successful=one.successful + (phase is AnalysisPhase.SUCCESSFUL),
        failed=one.failed + (phase is AnalysisPhase.FAILED),
        inconclusive=one.inconclusive + (phase is AnalysisPhase.INCONCLUSIVE),
        error=one.error + (phase is AnalysisPhase.ERROR),
        consecutive_errors=one.consecutive_errors + 1 if phase is AnalysisPhase.ERROR else 0,
        consecutive_successes=one.consecutive_successes + 1 if phase is AnalysisPhase.SUCCESSFUL else 0,
        last_at=measured.at,
        measurements=kept[-max(1, one.metric.retention) :],
    )


def _assess(one: MetricRun) -> AnalysisPhase:
    """Return `assessMetricStatus`: the phase of a metric by its counts."""
    metric = one.metric
    if 0 <= metric.failure_limit < one.failed:
        return AnalysisPhase.FAILED
    if 0 <= metric.inconclusive_limit < one.inconclusive:
        return AnalysisPhase.INCONCLUSIVE
    if 0 <= metric.consecutive_error_limit < one.consecutive_errors:
        return AnalysisPhase.ERROR
    if 0 < metric.consecutive_success_limit <= one.consecutive_successes:
        return AnalysisPhase.SUCCESSFUL
    return _at_the_end(metric) if 0 < one.counted >= metric.count else AnalysisPhase.RUNNING


def _at_the_end(metric: Metric) -> AnalysisPhase:
    """Return `assessMetricFailureInconclusiveOrError`: the phase of a metric that reached its count without
    hitting a limit.
    """
    if metric.consecutive_success_limit <= 0:
        return AnalysisPhase.SUCCESSFUL
    return AnalysisPhase.INCONCLUSIVE if metric.failure_limit >= 0 else AnalysisPhase.FAILED


def _conclude(run: AnalysisRun, now: datetime) -> AnalysisRun:
    """End the run with the first metric that ends badly. Dry runs never decide, but the run waits for them."""
    findings = {one.phase for one in run.metrics if not one.metric.dry_run} or {AnalysisPhase.SUCCESSFUL}
    worst = max(findings - {AnalysisPhase.RUNNING}, key=_WORST_LAST.index, default=AnalysisPhase.SUCCESSFUL)
    if worst is AnalysisPhase.SUCCESSFUL and any(one.phase is AnalysisPhase.RUNNING for one in run.metrics):
        return run
    return _ended(run, worst, now)


def terminated(run: AnalysisRun, now: datetime) -> AnalysisRun:
    """Return the run, ended because nobody needs it any more: it counts as successful."""
    return _ended(run, AnalysisPhase.SUCCESSFUL, now)


def _ended(run: AnalysisRun, phase: AnalysisPhase, now: datetime) -> AnalysisRun:
    """Return `assessMetricStatus` of a terminated run: a metric that is still running ends as successful, marked as
    terminated.
    """
    metrics = tuple(replace(one, terminated=True) if one.phase is AnalysisPhase.RUNNING else one for one in run.metrics)
    return replace(run, phase=phase, finished_at=now, metrics=metrics)


# --- what comes next ---


def due_at(run: AnalysisRun, one: MetricRun) -> datetime | None:
    """Return when the next measurement of a metric is due; None if there is none."""
    if not run.running or run.started_at is None or one.phase is not AnalysisPhase.RUNNING:
        return None
    if one.last_at is None:
        return run.started_at + timedelta(seconds=one.metric.initial_delay)
    return one.last_at + (ERROR_RETRY if one.consecutive_errors else timedelta(seconds=one.metric.interval))


def due(run: AnalysisRun, epoch: str, now: datetime) -> Iterator[MeasurementRequest]:
    """Yield the measurements that are due at ``now``."""
    for one in run.metrics:
        moment = due_at(run, one)
        if moment is not None and moment <= now:
            yield MeasurementRequest(id_of(run, epoch, one), one.metric)


def moments(run: AnalysisRun) -> Iterator[datetime]:
    """Yield the times at which measurements become due."""
    yield from (moment for one in run.metrics if (moment := due_at(run, one)))


def ends_at(run: AnalysisRun) -> datetime | None:
    """Return when the run ends if every measurement succeeds and takes no time; None where that is unknown."""
    ends = [
        moment + timedelta(seconds=one.metric.interval * (one.metric.count - one.counted - 1))
        for one in run.metrics
        if (moment := due_at(run, one))
    ]
    return max(ends, default=None)


def why(run: AnalysisRun) -> str:
    """Return why the run ended, for a person: the metric with the worst phase, its counts, its last message and
    value.
    """
    deciding = (one for one in run.metrics if one.phase is run.phase and not one.metric.dry_run)
    one = next(deciding, None)
    if one is None:
        return str(run)
    last = one.measurements[-1] if one.measurements else None
    said = f": {last.message}" if last and last.message else ""
    measured = f" (measured {last.value})" if last and last.value else ""
    return f"{one}{said}{measured}"


MOST_CHARACTERS = 64 * 1024
"""The most characters of all past runs together; the oldest beyond it are forgotten, whatever the limits say."""

MOST_RUNS = 5
"""How many past runs that ended well are kept by default, and as many others."""

_FRAME = 250
"""Characters of a run, or of one of its metrics, in addition to its texts."""


@dataclass(frozen=True, slots=True)
class Analyses:
    """The analysis runs."""

    runs: tuple[AnalysisRun, ...] = ()
    """The last run of each stage."""
    past: tuple[AnalysisRun, ...] = ()
    """The runs that these replaced, oldest first, without queries and with the last answers only."""

    def run(self, stage: AnalysisStage) -> AnalysisRun | None:
        """Return the last run of a stage, or None."""
        return next((run for run in self.runs if run.stage is stage), None)

    def newest(self) -> AnalysisRun | None:
        """Return the last analysis of all, or None; of one rollout that after promotion. Jobs before pods are none."""
        measured = (run for run in self.runs if not run.stage.is_job)
        return max(measured, key=lambda one: (one.rollout, one.stage is AnalysisStage.POST), default=None)

    def next_attempt(self, stage: AnalysisStage, rollout: int) -> int:
        """Return the attempt of a run that begins now: one more than those that are known of its stage and rollout."""
        runs = (run for run in (*self.runs, *self.past) if (run.stage, run.rollout) == (stage, rollout))
        return 1 + max((run.attempt for run in runs), default=0)

    def next_attempt_for(self, stage: AnalysisStage, digest: str) -> int:
        """Return the attempt of Jobs of a version that begin now: one more than those that are known, whatever the
        rollout.
        """
        runs = (run for run in (*self.runs, *self.past) if (run.stage, run.digest) == (stage, digest))
        return 1 + max((run.attempt for run in runs), default=0)

    def with_run(self, run: AnalysisRun, now: datetime) -> "Analyses":
        """Return these with a run as the last of its stage; the one that it replaces is a past one then."""
        last = self.run(run.stage)
        others = tuple(one for one in self.runs if one.stage is not run.stage)
        replaced = last is not None and (last.rollout, last.attempt) != (run.rollout, run.attempt)
        past = self._with_past(last, now) if last is not None and replaced else self.past
        return Analyses((*others, run), past)

    def without_run(self, run: AnalysisRun, now: datetime) -> "Analyses":
        """Return these with a run among the past ones."""
        return Analyses(tuple(one for one in self.runs if one != run), self._with_past(run, now))

    def within(self, good: int, others: int, is_known: Callable[[AnalysisRun], bool] = lambda _: True) -> "Analyses":
        """Return these without the oldest past runs beyond the limits, also after they were lowered, and without those
        of which nobody knows the version any more.
        """
        room = {True: good, False: others}
        characters, kept = MOST_CHARACTERS, []
        for run in reversed(self.past):
            is_good = run.phase is AnalysisPhase.SUCCESSFUL
            characters -= _size(run)
            if not is_known(run) or room[is_good] <= 0 or characters < 0:
                continue
            room[is_good] -= 1
            kept.append(run)
        past = tuple(reversed(kept))
        return self if past == self.past else replace(self, past=past)

    def _with_past(self, run: AnalysisRun, now: datetime) -> tuple[AnalysisRun, ...]:
        if run.started_at is None:
            return self.past
        return (*self.past, _light(terminated(run, now) if run.running else run))


class RunRecord(Protocol):
    """A record with analysis runs: that of an app, or of a release group."""

    @property
    def epoch(self) -> str:
        """What tells its measurements from those of a record that was lost."""
        ...

    @property
    def analyses(self) -> Analyses:
        """Its runs."""
        ...


def _light(run: AnalysisRun) -> AnalysisRun:
    return replace(run, metrics=tuple(_without_question(one) for one in run.metrics))


def _without_question(one: MetricRun) -> MetricRun:
    metric = replace(one.metric, query="{}", success="", failure="")
    return replace(one, metric=metric, measurements=one.measurements[-1:])


def _size(run: AnalysisRun) -> int:
    words = [word for pair in (*run.labels, *run.annotations) for word in pair]
    for one in run.metrics:
        words += [one.metric.name, *(text for last in one.measurements for text in (last.value, last.message))]
    return sum(map(len, words)) + _FRAME * (1 + len(run.metrics))

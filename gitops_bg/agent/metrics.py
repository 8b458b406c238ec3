"""What the agent counts and measures, as verbs; dashboards and alerts depend on the names.

This module decides nothing, reads no clock, and uses no global registry: two agents in one process count apart.
The library's own histograms take a kilobyte for each bucket and label set, so series of thousands of apps and groups
are numbers in tuples and arrays, turned into samples on each scrape. Histograms by app or group exist only for
rollouts, and only for who had one: for decisions and requests, 2,000 apps would be 100,000 series.
"""

import threading
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from datetime import datetime
from platform import python_version

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.registry import Collector

from gitops_bg import __version__
from gitops_bg.core.model.analysis import AnalysisRun, MeasurementResult
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import Counts, Fact, RolloutEnd, StageEnd, TrafficMoved
from gitops_bg.core.model.drift import ActionResult
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.version import AppOrGroup, Color

SUBJECT = ("kind", "namespace", "name")
"""The labels of every series about an app or a release group."""


def labels_of(who: AppOrGroup) -> tuple[str, str, str]:
    """Return the values of these labels."""
    return who.kind.value, who.namespace, who.name


class SubjectGauges(Collector):
    """Several gauges that are set together for each app or group; ``families`` are their names and help texts."""

    def __init__(self, families: Sequence[tuple[str, str]], registry: CollectorRegistry) -> None:
        self._families = families
        self._values: dict[AppOrGroup, tuple[int, ...]] = {}
        registry.register(self)

    def set(self, who: AppOrGroup, values: tuple[int, ...]) -> None:
        """Set one value for each family, in their order."""
        self._values[who] = values

    def forget(self, who: AppOrGroup) -> None:
        """Remove the series of what is deleted."""
        self._values.pop(who, None)

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Yield the samples of a scrape."""
        values = list(self._values.items())
        for place, (name, what) in enumerate(self._families):
            family = GaugeMetricFamily(name, what, labels=SUBJECT)
            for who, numbers in values:
                family.add_metric(labels_of(who), numbers[place])
            yield family


class SubjectPhases(Collector):
    """A state set (openmetrics.io): a series for each phase of each app or group, 1 for the phase that it is in. A
    change of phase begins no series and ends none.
    """

    def __init__(self, name: str, what: str, registry: CollectorRegistry) -> None:
        self._name, self._what = name, what
        self._phases: dict[AppOrGroup, Phase] = {}
        registry.register(self)

    def set(self, who: AppOrGroup, phase: Phase) -> None:
        """Show that it is in this phase, and in no other."""
        self._phases[who] = phase

    def forget(self, who: AppOrGroup) -> None:
        """Remove the series of what is deleted."""
        self._phases.pop(who, None)

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Yield the samples of a scrape."""
        family = GaugeMetricFamily(self._name, self._what, labels=(*SUBJECT, "phase"))
        for who, phase in list(self._phases.items()):
            for each in Phase:
                family.add_metric((*labels_of(who), each), each is phase)
        yield family


class SubjectHistogram(Collector):
    """A histogram of seconds by app or group and ``label``; who has no observations has no series."""

    def __init__(
        self, name: str, what: str, label: str, buckets: tuple[float, ...], registry: CollectorRegistry
    ) -> None:
        self._name, self._what, self._label, self._buckets = name, what, label, buckets
        self._counts: dict[AppOrGroup, dict[str, array[float]]] = {}
        self._lock = threading.Lock()
        registry.register(self)

    def observe(self, who: AppOrGroup, value: str, seconds: float) -> None:
        """Count one observation under a value of the label."""
        with self._lock:
            counts = self._counts.setdefault(who, {}).setdefault(value, self._empty())
            counts[bisect_left(self._buckets, seconds)] += 1
            counts[-1] += seconds

    def forget(self, who: AppOrGroup) -> None:
        """Remove the series of what is deleted."""
        with self._lock:
            self._counts.pop(who, None)

    def collect(self) -> Iterable[HistogramMetricFamily]:
        """Yield the samples of a scrape."""
        family = HistogramMetricFamily(self._name, self._what, labels=(*SUBJECT, self._label))
        with self._lock:
            found = [(who, value, counts[:]) for who, by in self._counts.items() for value, counts in by.items()]
        for who, value, counts in found:
            family.add_metric((*labels_of(who), value), list(self._cumulated(counts)), counts[-1])
        yield family

    def _empty(self) -> "array[float]":
        """Return a count for each bucket, one for longer times, and the sum of all seconds."""
        return array("d", [0.0] * (len(self._buckets) + 2))

    def _cumulated(self, counts: "array[float]") -> Iterator[tuple[str, float]]:
        total = 0.0
        for bound, count in zip((*map(str, self._buckets), "+Inf"), counts[:-1], strict=True):
            total += count
            yield bound, total


_FAST = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
_CALL = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_MEASURING = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)
"""Queries over HTTP, and Jobs."""
_ROLLOUT = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 86400.0)
_SWITCH = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)

_REPLICAS = {
    "desired": "Pods that the target asks for.",
    "current": "Pods of all versions.",
    "updated": "Pods of the version that the target names.",
    "ready": "Ready pods of the active version.",
    "available": "Available pods of the active version.",
    "unavailable": "Pods that the active version lacks.",
}


class Metrics:
    """All series of one agent. Thread-safe; durations are seconds, ``registry`` is what /metrics shows."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._subjects = _SubjectSeries(self.registry)
        self._process = _ProcessSeries(self.registry)

    def leads(self, holds: bool, holder: str) -> None:
        """Count whether this agent holds its lease, and so works; and who holds it."""
        self._process.leader.set(1 if holds else 0)
        self._process.lease_holder.clear()
        if holder:
            self._process.lease_holder.labels(holder).set(1)

    def ask_at_each_scrape(self, readiness_problems: Callable[[], list[str]], queue: Sized) -> None:
        """Show whether the agent is ready, as /readyz says, and how many wait for a worker, as of each scrape."""
        self._process.ready.set_function(lambda: 0 if readiness_problems() else 1)
        self._process.queue_depth.set_function(lambda: len(queue))

    def decided(self, who: AppOrGroup, phase: Phase, seconds: float) -> None:
        """Count that the engine decided within ``seconds``, and ended in ``phase``; actions are counted elsewhere."""
        self._subjects.decisions.labels(*labels_of(who), phase).inc()
        self._process.decision_seconds.observe(seconds)

    def happened(self, who: AppOrGroup, fact: Fact) -> None:
        """Count what happened to it: one of the events of a decision, or the result of an action."""
        series, labels = self._subjects, labels_of(who)
        match fact:
            case LedgerEntry(event=event):
                series.events.labels(*labels, event).inc()
                if event is Event.OVERRIDDEN:
                    series.policy_overrides.labels(*labels).inc()
            case TrafficMoved(switch_kind, seconds):
                series.switches.labels(*labels, switch_kind).inc()
                self._process.switch_seconds.labels(switch_kind).observe(seconds)
            case StageEnd(stage, seconds):
                series.stages.observe(who, stage, seconds)
            case RolloutEnd(outcome, seconds, waited):
                series.rollouts.observe(who, outcome, seconds)
                series.waits.observe(who, outcome, waited)
            case AnalysisRun(stage=stage, phase=phase):
                series.analyses.labels(*labels, stage, phase).inc()
            case ActionResult(refused=""):
                series.actions.labels(*labels, type(fact.action).__name__).inc()

    def failed(self, who: AppOrGroup, reason: str) -> None:
        """Count a pass over it that ended with an error; ``reason`` is the ``reason`` of a ``GitopsBgError``."""
        self._subjects.errors.labels(*labels_of(who), reason).inc()

    def measured(self, who: AppOrGroup, provider: str, result: MeasurementResult) -> None:
        """Count a measurement of its analysis with this result, which the record has counted."""
        self._subjects.measurements.labels(*labels_of(who), provider, result.phase).inc()
        if result.begun_at is not None:
            self._process.measuring_seconds.labels(provider).observe((result.at - result.begun_at).total_seconds())

    def kubernetes_event(self, who: AppOrGroup, severity: str, reason: str) -> None:
        """Count a Kubernetes Event about it; ``severity`` is ``Normal`` or ``Warning``."""
        self._subjects.kubernetes_events.labels(*labels_of(who), severity, reason).inc()

    def info(self, who: AppOrGroup, phase: Phase, color: Color | None, version: str, candidate: str) -> None:
        """Set the state of it: its phase, the serving color and version, and the candidate's version; empty: none."""
        self._subjects.phases.set(who, phase)
        self._subjects.describe(who, color or "", version, candidate)

    def replicas(self, who: AppOrGroup, counts: Counts) -> None:
        """Set how many pods it has."""
        unavailable = counts.unavailable
        self._subjects.replicas.set(
            who, (counts.desired, counts.current, counts.updated, counts.ready, counts.available, unavailable)
        )

    def ledger_waits(self, who: AppOrGroup, entries: int) -> None:
        """Set how many of its ledger entries have not reached Git yet."""
        self._subjects.ledger_waits.set(who, (entries,))

    def suspended_since(self, who: AppOrGroup, when: datetime | None) -> None:
        """Set since when it has been suspended; None where it is not."""
        if when is None:
            self._subjects.suspended.remove_by_labels(dict(zip(SUBJECT, labels_of(who), strict=True)))
        else:
            self._subjects.suspended.labels(*labels_of(who)).set(when.timestamp())

    def forget(self, who: AppOrGroup) -> None:
        """Remove all series of what is deleted."""
        self._subjects.forget(who)

    def resources(self, apps: int, groups: int) -> None:
        """Set how many apps and release groups the agent manages."""
        self._process.resources.labels("app").set(apps)
        self._process.resources.labels("group").set(groups)

    def polled(self, outcome: str, seconds: float) -> None:
        """Count a poll of Git that was answered; ``outcome`` is ``quiet`` or ``moved``."""
        self._process.git_reachable.set(1)
        self._process.poll_seconds.labels(outcome).observe(seconds)

    def poll_failed(self, reason: str, seconds: float, *, answered: bool = False) -> None:
        """Count a poll of Git in vain; ``reason`` is that of a ``GitopsBgError``, ``answered`` whether the remote
        spoke.
        """
        self._process.git_reachable.set(answered)
        self._process.poll_seconds.labels(reason).observe(seconds)

    def main_verified(self, verified: bool) -> None:
        """Set whether main was read to its head, as far as signatures are asked for."""
        self._process.git_verified.set(verified)

    def git_wrote(self, kind: str, count: int, seconds: float) -> None:
        """Count ``count`` new commits that the remote accepted for ``kind``: ``main``, ``offer`` or ``ledger``."""
        self._process.commits.labels(kind).inc(count)
        self._process.push_seconds.labels(kind).observe(seconds)

    def push_failed(self, kind: str, reason: str) -> None:
        """Count a branch that was not written; ``kind`` is ``main``, ``ledger`` or ``offer``."""
        self._process.push_failures.labels(kind, reason).inc()

    def refs_refused(self, counts: Mapping[str, int]) -> None:
        """Set how many branches of each kind the remote refuses; a kind that is not named: none."""
        for kind in ("main", "ledger", "offer"):
            self._process.refs_refused.labels(kind).set(counts.get(kind, 0))

    def forge_asked(self, call: str, outcome: str) -> None:
        """Count a call of the forge that ended with this outcome: ``ok``, or the reason of its error."""
        self._process.forge_requests.labels(call, outcome).inc()

    def forge_waits(self, count: int, oldest_seconds: float) -> None:
        """Set how many writes to the forge wait, and for how long the oldest."""
        self._process.forge_queue.set(count)
        self._process.forge_oldest.set(oldest_seconds)

    def forge_remaining(self, count: int) -> None:
        """Set how many requests the forge accepts until its limit is reset."""
        self._process.forge_remaining.set(count)

    def pulls_open(self, count: int) -> None:
        """Set how many pull requests of promotion branches are open."""
        self._process.pulls_open.set(count)

    def clock_skew(self, seconds: float) -> None:
        """Set by how many seconds at least the API server's clock is ahead of ours (negative: behind)."""
        self._process.clock_skew.set(seconds)

    def kubernetes_request(self, verb: str, code: int | str, seconds: float) -> None:
        """Count a request to the API server; ``code`` is the status, or a word where there was no response."""
        self._process.requests.labels(verb, str(code)).inc()
        self._process.request_seconds.labels(verb).observe(seconds)


class _SubjectSeries:
    """The series of apps and release groups, removed together with them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, what: str, *more: str) -> Counter:
            return Counter(f"gitops_bg_{name}", what, (*SUBJECT, *more), registry=registry)

        self.decisions = counter("decisions", "Decisions made, by the phase they ended in.", "phase")
        self.actions = counter("actions", "Actions carried out, by their class.", "action")
        self.errors = counter("errors", "Passes that ended with an error, by its reason.", "reason")
        self.events = counter("events", "Ledger entries made, by their event.", "event")
        self.policy_overrides = counter("policy_overrides", "Policies in spite of which traffic moved.")
        self.switches = counter("switches", "Switches of live traffic, by type.", "type")
        self.measurements = counter(
            "analysis_measurements", "Measurements counted, by how each ended.", "provider", "phase"
        )
        self.kubernetes_events = counter(
            "kubernetes_events", "Kubernetes Events, by type and reason.", "type", "reason"
        )
        self.analyses = counter("analysis_runs", "Analysis runs that ended, by how.", "stage", "phase")
        self.stages = SubjectHistogram(
            "gitops_bg_rollout_stage_duration_seconds",
            "Time a rollout took from one stage to the next: available, promoted, switched, settled; and in total.",
            "stage",
            _ROLLOUT,
            registry,
        )
        self.rollouts = SubjectHistogram(
            "gitops_bg_rollout_duration_seconds",
            "Time from the beginning of a rollout to its end, by how it ended.",
            "outcome",
            _ROLLOUT,
            registry,
        )
        self.waits = SubjectHistogram(
            "gitops_bg_rollout_waiting_duration_seconds",
            "Time that a rollout waited for people, by how it ended.",
            "outcome",
            _ROLLOUT,
            registry,
        )
        self.replicas = SubjectGauges(
            [(f"gitops_bg_app_replicas_{name}", what) for name, what in _REPLICAS.items()], registry
        )
        self.ledger_waits = SubjectGauges(
            [("gitops_bg_ledger_entries_waiting", "Ledger entries that have not reached Git yet.")],
            registry,
        )
        self.suspended = Gauge(
            "gitops_bg_app_suspended_since_timestamp_seconds",
            "When the app was suspended, in seconds since 1970; absent while it is not.",
            SUBJECT,
            registry=registry,
        )
        self.info = Gauge(
            "gitops_bg_resource_info",
            "Always 1; the labels say what it has: active color (of an app) and version, candidate version.",
            (*SUBJECT, "color", "version", "candidate"),
            registry=registry,
        )
        self.phases = SubjectPhases(
            "gitops_bg_resource_phase", "1 for the phase that it is in, 0 for every other.", registry
        )
        self._described: dict[AppOrGroup, tuple[str, ...]] = {}
        self._lock = threading.Lock()

    def describe(self, who: AppOrGroup, *words: str) -> None:
        """Show these words about it instead of the former ones."""
        with self._lock:
            former = self._described.get(who)
            if former == words:
                return
            self.info.labels(*labels_of(who), *words).set(1)
            self._described[who] = words
            if former is not None:
                self.info.remove(*labels_of(who), *former)

    def forget(self, who: AppOrGroup) -> None:
        """Remove every series of it."""
        with self._lock:
            self._described.pop(who, None)
            names = dict(zip(SUBJECT, labels_of(who), strict=True))
            for family in self._families():
                family.remove_by_labels(names)
        for series in (self.phases, self.replicas, self.ledger_waits, self.stages, self.rollouts, self.waits):
            series.forget(who)

    def _families(self) -> Iterator[MetricWrapperBase]:
        return (value for value in vars(self).values() if isinstance(value, MetricWrapperBase))


class _ProcessSeries:
    """The series of the agent as a whole."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def gauge(name: str, what: str) -> Gauge:
            return Gauge(f"gitops_bg_{name}", what, registry=registry)

        def counter(name: str, what: str, *labels: str) -> Counter:
            return Counter(f"gitops_bg_{name}", what, labels, registry=registry)

        def seconds(name: str, what: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
            return Histogram(f"gitops_bg_{name}_seconds", what, labels, buckets=buckets, registry=registry)

        Gauge(
            "gitops_bg_build_info",
            "Always 1; the version of the agent, and of the Python that runs it.",
            ["version", "python_version"],
            registry=registry,
        ).labels(__version__, python_version()).set(1)
        self.leader = gauge("leader", "1 while this agent holds its lease and works, 0 while it stands by.")
        self.lease_holder = Gauge(
            "gitops_bg_lease_holder", "Always 1; who holds the lease.", ["holder"], registry=registry
        )
        self.ready = gauge("ready", "1 while /readyz says that the agent is ready.")
        self.git_reachable = gauge("git_reachable", "1 where the last poll of Git was answered, 0 where it was not.")
        self.git_verified = gauge(
            "git_verified", "0 where main is not read to its head, because a commit is not signed by a listed key."
        )
        self.git_verified.set(1)
        self.resources = Gauge(
            "gitops_bg_resources", "Apps and release groups the agent looks after.", ["kind"], registry=registry
        )
        self.queue_depth = gauge("queue_depth", "Apps and release groups that wait for a worker.")
        self.commits = counter("git_commits", "Commits pushed, by what they were for.", "kind")
        self.push_failures = counter(
            "git_push_failures", "Branches that could not be written, by what they are for.", "kind", "reason"
        )
        self.clock_skew = gauge(
            "clock_skew_seconds", "How far the API server's clock is ahead of the agent's at least; negative: behind."
        )
        self.refs_refused = Gauge(
            "gitops_bg_git_refs_refused",
            "Branches that the remote does not take now, by what they are for.",
            ["kind"],
            registry=registry,
        )
        self.forge_requests = counter("forge_requests", "Calls of the forge, by how each ended.", "call", "outcome")
        self.forge_queue = gauge("forge_queue_depth", "Writes to the forge that wait.")
        self.forge_oldest = gauge("forge_oldest_wait_seconds", "For how long the oldest of them has waited.")
        self.forge_remaining = gauge("forge_requests_remaining", "Requests that the forge takes until its limit ends.")
        self.pulls_open = gauge("forge_pull_requests_open", "Pull requests of promotion branches that are open.")
        self.requests = counter("kubernetes_requests", "Requests to the API server.", "verb", "code")
        self.decision_seconds = seconds("decision", "Time to decide about one app or release group.", _FAST)
        self.poll_seconds = seconds("git_poll", "Time to poll Git, by outcome.", _CALL, "outcome")
        self.push_seconds = seconds("git_push", "Time to write to Git, by what was written.", _CALL, "kind")
        self.request_seconds = seconds("kubernetes_request", "Time the API server took, by verb.", _CALL, "verb")
        self.measuring_seconds = seconds(
            "analysis_measurement", "Time to take a measurement, by provider.", _MEASURING, "provider"
        )
        self.switch_seconds = seconds("switch", "Time from decision to moved live traffic, by type.", _SWITCH, "type")

"""Reports what the agent did, by Kubernetes Events, metrics and traces, from the record before and after it was saved.

Everything in the record has been reported, so a restart reports nothing twice, but for notes that were not saved yet
(``agent.reconcile.unsaved``). Best effort, and never blocking; nothing here decides.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from gitops_bg.agent.observability.metrics import Metrics
from gitops_bg.agent.observability.tracing import Tracer
from gitops_bg.agent.runtime.boundaries import quietly
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.checks.milestones import passed
from gitops_bg.core.delivery.ledger import news
from gitops_bg.core.model.analysis.metrics import AnalysisPhase
from gitops_bg.core.model.change_set import ActionResult
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.events import EVENTS, MOVES, severity_of
from gitops_bg.core.model.hooks import Severity
from gitops_bg.core.model.record import LedgerEntry, Record
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.status.action_events import event_of
from gitops_bg.core.status.alike import HISTORY_REWRITTEN, SUSPENDED
from gitops_bg.core.status.rollout_events import ended, entry_message, rollout_events, runs, waited


class EventRecorder:
    """Reports about one app at a time, from any thread. ``clock`` gives UTC."""

    def __init__(self, cluster: Cluster, metrics: Metrics, clock: Callable[[], datetime], tracer: Tracer) -> None:
        self._cluster = cluster
        self.metrics = metrics
        self._tracer = tracer
        self._clock = clock
        self._rewritten: set[AppKey] = set()

    def saved(self, app: AppKey, before: Record, after: Record) -> None:
        """Report what a newly saved record adds to the former one."""
        for entry in news(before, after):
            self._record_entry(app, before, entry)
        for one in rollout_events(before, after):
            self.event(app, one.reason, one.message, warning=one.warning)
        self._measure(app, before, after)
        with quietly(f"tracing the rollout of {app}", app):
            self._tracer.saved(app, before, after, self._clock())

    def acted(
        self, app: AppKey, result: ActionResult, news: Sequence[LedgerEntry] = (), *, quietly: bool = False
    ) -> None:
        """Report an action that was carried out, or refused for the first time; ``quietly``: only count it. ``news``
        are the entries that its decision added to the ledger.
        """
        if not result.refused:
            self.metrics.acted(app, type(result.action).__name__)
        said = event_of(result, news)
        if said is not None and not quietly:
            self.event(app, said.reason, said.message, warning=said.warning)

    def stands(self, app: AppKey, decision: Decision) -> None:
        """Report the present state of the app."""
        self._record_history(app, decision)
        self.metrics.replicas(app, decision.counts)
        self.metrics.ledger_waits(app, len(decision.record.ledger))
        self.metrics.suspended_since(app, self._cluster.since(app, SUSPENDED) if _is_suspended(decision) else None)
        record = decision.record
        active, candidate = record.version(record.routing.traffic), record.version(record.routing.preview)
        self.metrics.info(
            app,
            decision.phase,
            active.color if active else None,
            str(active.number) if active else "",
            str(candidate.number) if candidate and candidate != active else "",
        )

    def event(self, app: AppKey, reason: str, message: str, *, warning: bool = False) -> None:
        """Record and count one Kubernetes Event."""
        self.metrics.kubernetes_event(app, "Warning" if warning else "Normal", reason)
        self._cluster.record_event(app, reason, message, self._clock(), warning=warning)

    def _record_history(self, app: AppKey, decision: Decision) -> None:
        """Report a rewritten history at once; the ledger waits to see whether it lasts."""
        said = next((one for one in decision.conditions if one.type == HISTORY_REWRITTEN), None)
        if said is None or bool(said.status) == (app in self._rewritten):
            return
        if said.status:
            self._rewritten.add(app)
        else:
            self._rewritten.discard(app)
        self.event(app, said.reason, said.message, warning=bool(said.status))

    def _record_entry(self, app: AppKey, before: Record, entry: LedgerEntry) -> None:
        """Record each new ledger entry as a Kubernetes Event, a count, and, for a switch, a duration."""
        self.metrics.event(app, entry.event)
        if before.routing.switch and entry.event in MOVES:
            self.metrics.moved(
                app, before.routing.switch.switch_kind, (entry.at - before.routing.switch.decided_at).total_seconds()
            )
        grave = severity_of(entry) is not Severity.INFO
        self.event(app, EVENTS[entry.event].reason, entry_message(entry), warning=grave)

    def _measure(self, app: AppKey, before: Record, after: Record) -> None:
        for duration in passed(before, after):
            self.metrics.rollout_passed(app, duration.stage, duration.seconds)
        for rollout in ended(before, after):
            if rollout.outcome and rollout.finished_at:
                seconds = (rollout.finished_at - rollout.started_at).total_seconds()
                self.metrics.rollout_ended(app, rollout.outcome, max(0.0, seconds), waited(rollout))
        for old, run in runs(before, after):
            if run.phase is not AnalysisPhase.RUNNING and (old is None or old.running):
                self.metrics.analysed(app, run.stage, run.phase)


def _is_suspended(decision: Decision) -> bool:
    return any(one.type == SUSPENDED and one.status for one in decision.conditions)

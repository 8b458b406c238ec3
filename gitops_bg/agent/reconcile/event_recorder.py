"""Reports what the agent did, by Kubernetes Events, metrics and traces, from the record before and after it was saved.

Everything in the record has been reported, so a restart reports nothing twice, but for notes that were not saved yet
(``agent.reconcile.apps``). Best effort, and never blocking; nothing here decides.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from gitops_bg.agent.metrics import Metrics
from gitops_bg.agent.runtime.failures import quietly
from gitops_bg.agent.tracing import Tracer
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.checks.git import why_rewritten
from gitops_bg.core.checks.versions import passed
from gitops_bg.core.delivery.ledger import news
from gitops_bg.core.groups.record import GroupDecision, GroupRecord, TransitionKind
from gitops_bg.core.model.analysis import AnalysisPhase
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.drift import ActionResult
from gitops_bg.core.model.events import EVENTS, MOVES, severity_of
from gitops_bg.core.model.hooks import Severity
from gitops_bg.core.model.record import LedgerEntry, Record, SwitchKind
from gitops_bg.core.model.version import AppKey, AppOrGroup
from gitops_bg.core.status.rollout import RolloutEvent, ended, entry_message, runs, waited

_SWITCH_KINDS: Mapping[TransitionKind, SwitchKind] = {
    TransitionKind.PROMOTION: SwitchKind.PROMOTION,
    TransitionKind.ROLLBACK: SwitchKind.ROLLBACK,
}


class EventRecorder:
    """Reports about one app or group at a time, from any thread. ``clock`` gives UTC."""

    def __init__(self, cluster: Cluster, metrics: Metrics, clock: Callable[[], datetime], tracer: Tracer) -> None:
        self._cluster = cluster
        self.metrics = metrics
        self._tracer = tracer
        self._clock = clock
        self._rewritten: set[AppOrGroup] = set()

    def saved(
        self,
        subject: AppOrGroup,
        before: Record | GroupRecord,
        after: Record | GroupRecord,
        events: Iterable[RolloutEvent],
    ) -> None:
        """Report what a newly saved record adds to the former one: its entries, and these events beside them."""
        for entry in news(before, after):
            self._record_entry(subject, before, entry)
        for one in events:
            self.event(subject, one.reason, one.message, warning=one.warning)
        for old, run in runs(before, after):
            if run.phase is not AnalysisPhase.RUNNING and (old is None or old.running):
                self.metrics.analysed(subject, run.stage, run.phase)
        if isinstance(subject, AppKey) and isinstance(before, Record) and isinstance(after, Record):
            self._measure(subject, before, after)
            with quietly(f"tracing the rollout of {subject}", subject):
                self._tracer.saved(subject, before, after, self._clock())

    def acted(self, subject: AppOrGroup, result: ActionResult, said: RolloutEvent | None) -> None:
        """Report an action that was carried out, or refused for the first time; ``said`` None: only count it."""
        if not result.refused:
            self.metrics.acted(subject, type(result.action).__name__)
        if said is not None:
            self.event(subject, said.reason, said.message, warning=said.warning)

    def stands(self, subject: AppOrGroup, decision: Decision | GroupDecision) -> None:
        """Report the present state of an app or a group."""
        self._record_history(subject, decision)
        self.metrics.ledger_waits(subject, len(decision.record.ledger))

    def event(self, subject: AppOrGroup, reason: str, message: str, *, warning: bool = False) -> None:
        """Record and count one Kubernetes Event."""
        self.metrics.kubernetes_event(subject, "Warning" if warning else "Normal", reason)
        self._cluster.record_event(subject, reason, message, self._clock(), warning=warning)

    def _record_history(self, subject: AppOrGroup, decision: Decision | GroupDecision) -> None:
        """Report a rewritten history at once, and its end; the ledger waits to see whether it lasts."""
        record = decision.record
        lost = record.git.lost if isinstance(record, Record) else record.lost
        if bool(lost) == (subject in self._rewritten):
            return
        if lost:
            self._rewritten.add(subject)
            self.event(subject, "MainMovedBackwards", why_rewritten(lost), warning=True)
        else:
            self._rewritten.discard(subject)
            self.event(subject, "HistoryKept", "main contains all that was seen of it")

    def _record_entry(self, subject: AppOrGroup, before: Record | GroupRecord, entry: LedgerEntry) -> None:
        """Record each new ledger entry as a Kubernetes Event, a count, and, for a movement, a duration."""
        self.metrics.event(subject, entry.event)
        begun = _begun(before) if entry.event in MOVES else None
        if begun is not None:
            kind, since = begun
            self.metrics.moved(subject, kind, (entry.at - since).total_seconds())
        grave = severity_of(entry) is not Severity.INFO
        self.event(subject, EVENTS[entry.event].reason, entry_message(entry), warning=grave)

    def _measure(self, app: AppKey, before: Record, after: Record) -> None:
        for duration in passed(before, after):
            self.metrics.rollout_passed(app, duration.stage, duration.seconds)
        for rollout in ended(before, after):
            if rollout.outcome and rollout.finished_at:
                seconds = (rollout.finished_at - rollout.started_at).total_seconds()
                self.metrics.rollout_ended(app, rollout.outcome, max(0.0, seconds), waited(rollout))


def _begun(record: Record | GroupRecord) -> tuple[SwitchKind, datetime] | None:
    """The movement of live traffic that is on its way, and since when."""
    if isinstance(record, GroupRecord):
        moving = record.transition
        return (_SWITCH_KINDS[moving.kind], moving.started_at) if moving is not None else None
    switch = record.routing.switch
    return (switch.switch_kind, switch.decided_at) if switch is not None else None

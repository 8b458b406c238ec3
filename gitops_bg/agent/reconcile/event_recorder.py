"""Gives what happened to every sink: Kubernetes Events, the log, metrics and traces each take what is theirs; and logs
what was decided.

What of it is saved, and what a crash loses, says ``core.status.events``. Best effort, and never blocking; nothing here
decides, or compares records.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from gitops_bg.agent.logs import ROOT, fields, rfc3339
from gitops_bg.agent.metrics import Metrics
from gitops_bg.agent.runtime.failures import quietly
from gitops_bg.agent.tracing import Tracer
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.groups.record import ApplyRoute, GroupDecision
from gitops_bg.core.model.actions import SwitchTraffic
from gitops_bg.core.model.decision import Decision, Occurrence
from gitops_bg.core.model.drift import NOTHING, ActionResult, ChangeSet
from gitops_bg.core.model.record import Record, SwitchKind
from gitops_bg.core.model.version import AppOrGroup

LOGGER = logging.getLogger(__name__)


class EventRecorder:
    """Reports about one app or group at a time, from any thread. ``clock`` gives UTC."""

    def __init__(self, cluster: Cluster, metrics: Metrics, clock: Callable[[], datetime], tracer: Tracer) -> None:
        self._cluster = cluster
        self.metrics = metrics
        self._tracer = tracer
        self._clock = clock

    def record(self, subject: AppOrGroup, events: Iterable[Occurrence]) -> None:
        """Report what happened, in order."""
        for one in events:
            if one.fact is not None:
                self.metrics.happened(subject, one.fact)
            if one.reason:
                self.metrics.kubernetes_event(subject, "Warning" if one.warning else "Normal", one.reason)
                self._cluster.record_event(subject, one.reason, one.message, self._clock(), warning=one.warning)
            if one.logged:
                LOGGER.warning("%s", one.message, extra=fields(app=subject, reason=one.reason))
            if one.span is not None:
                with quietly(f"tracing the rollout of {subject}", subject):
                    self._tracer.send(one.span)


def log_decision(
    subject: AppOrGroup,
    decision: Decision | GroupDecision,
    commit: str,
    changes: ChangeSet = NOTHING,
    *,
    quietly: bool = False,
) -> None:
    """Log the one line of a decision: its sentences and its phase; at DEBUG where there is nothing to do, or
    ``quietly``. What takes live traffic back has a line of its own before it, a warning.

    The logger is ``gitops_bg.app`` or ``gitops_bg.group``, by what the decision is about. ``commit`` is the commit of
    main that was decided on, ``changes`` the results of the actions on the cluster.
    """
    back = _actions_back(decision)
    others = tuple(each for each in decision.actions if each not in back)
    if back:
        results = [each for each in changes if each.action in back]
        _log_actions(logging.WARNING, subject, decision, back, commit, results)
    if others or not back:
        results = [each for each in changes if each.action not in back]
        level = logging.INFO if others and not quietly else logging.DEBUG
        _log_actions(level, subject, decision, others, commit, results)


def _actions_back(decision: Decision | GroupDecision) -> tuple[object, ...]:
    """Return the actions that take live traffic back to the version before."""
    if isinstance(decision, GroupDecision):
        moving = decision.record.transition
        goes_back = moving is not None and moving.goes_back
        return tuple(each for each in decision.actions if goes_back and isinstance(each, ApplyRoute) and each.moves)
    switches = (each for each in decision.actions if isinstance(each, SwitchTraffic))
    return tuple(each for each in switches if each.switch_kind is SwitchKind.ROLLBACK)


def _log_actions(
    level: int,
    subject: AppOrGroup,
    decision: Decision | GroupDecision,
    actions: Sequence[object],
    commit: str,
    results: Sequence[ActionResult],
) -> None:
    record = decision.record
    routing = record.routing if isinstance(record, Record) else None
    extra = fields(
        app=subject,
        rollout=record.rollout,
        digest=(routing.switch.to_digest if routing.switch else routing.traffic) if routing else None,
        commit=commit,
        phase=decision.phase.value,
        actions=[type(action).__name__ for action in actions] or None,
        changes=[str(entry) for each in results for entry in each.entries] or None,
        refused=[type(each.action).__name__ for each in results if each.refused] or None,
        wake_at=decision.wake_at and rfc3339(decision.wake_at),
    )
    sentence = "; ".join(map(str, actions)) or "nothing to do"
    logging.getLogger(f"{ROOT}.{subject.kind}").log(level, "%s", sentence, extra=extra)

"""Gives what happened to every sink: Kubernetes Events, the log, metrics and traces each take what is theirs.

What of it is saved, and what a crash loses, says ``core.status.events``. Best effort, and never blocking; nothing here
decides, or compares records.
"""

import logging
from collections.abc import Callable, Iterable
from datetime import datetime

from gitops_bg.agent.logs import fields
from gitops_bg.agent.metrics import Metrics
from gitops_bg.agent.runtime.failures import quietly
from gitops_bg.agent.tracing import Tracer
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.model.decision import Occurrence
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

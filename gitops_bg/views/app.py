"""All that is shown of one app, as it was at one moment: its row, record and Services, its ReplicaSets and pods as
Kubernetes counts them. No decision depends on these counts.

Two views are equal if nothing changed but the time.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from gitops_bg.core import names
from gitops_bg.core.checks.versions import warm_until
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.analysis import AnalysisRun
from gitops_bg.core.model.journal import PullRequest
from gitops_bg.core.model.observed import ServiceView
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.spec import Strategy
from gitops_bg.core.model.version import Stage, Version, short
from gitops_bg.spec.app.primary import ConfigurationChange
from gitops_bg.views.rows import Row


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod. ``digest`` is the short one of its label; ``ready`` and ``containers`` are counts.

    ``phase`` and ``message`` say why the pod waits, if it does, in the words of the scheduler or the kubelet.
    """

    name: str
    digest: str
    phase: str
    ready: int
    containers: int
    restarts: int
    created: str
    message: str = ""

    @property
    def is_ready(self) -> bool:
        """Whether all its containers are ready."""
        return self.containers > 0 and self.ready == self.containers


def pod_of(body: Mapping[str, Any]) -> Pod:
    """Return the pod that a manifest shows."""
    status, metadata = body.get("status") or {}, body["metadata"]
    containers = status.get("containerStatuses") or []
    reason, message = next(_waits(status), ("", ""))
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or []}
    total = len((body.get("spec") or {}).get("containers") or [])
    ready = sum(bool(each.get("ready")) for each in containers)
    return Pod(
        name=metadata["name"],
        digest=(metadata.get("labels") or {}).get(names.DIGEST, ""),
        phase=reason or status.get("phase", ""),
        ready=max(ready, total if conditions.get("Ready") == "True" else 0),
        containers=total,
        restarts=sum(each.get("restartCount", 0) for each in containers),
        created=metadata.get("creationTimestamp") or "",
        message=message,
    )


def _waits(status: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield why the pod waits, with the messages: without a node; or its containers, first those others wait for."""
    for each in status.get("conditions") or []:
        if each["type"] == "PodScheduled" and each["status"] == "False" and each.get("reason"):
            yield each["reason"], each.get("message") or ""
    for prefix, named in (("Init:", "initContainerStatuses"), ("", "containerStatuses")):
        for each in status.get(named) or []:
            waiting = (each.get("state") or {}).get("waiting") or {}
            if waiting.get("reason") and not (prefix and waiting["reason"] == "PodInitializing"):
                yield prefix + waiting["reason"], waiting.get("message") or ""


@dataclass(frozen=True, slots=True)
class ReplicaSet:
    """One ReplicaSet or DaemonSet, as ``kind`` says.

    ``digest`` is the short one of its label; the other numbers count pods.
    """

    name: str
    digest: str
    desired: int
    current: int
    ready: int
    available: int
    created: str
    kind: str = "ReplicaSet"

    @property
    def status(self) -> str:
        """The status, in the words of Argo Rollouts."""
        if self.desired == 0:
            return "ScaledDown"
        return "Healthy" if self.available >= self.desired else "Progressing"


def daemon_set_of(body: Mapping[str, Any]) -> ReplicaSet:
    """Return the DaemonSet that a manifest shows."""
    status = body.get("status") or {}
    fields = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "numberAvailable")
    return _counted(body, *(status.get(name, 0) for name in fields), kind="DaemonSet")


def replica_set_of(body: Mapping[str, Any]) -> ReplicaSet:
    """Return the ReplicaSet that a manifest shows."""
    status, desired = body.get("status") or {}, (body.get("spec") or {}).get("replicas", 1)
    fields = ("replicas", "readyReplicas", "availableReplicas")
    return _counted(body, desired, *(status.get(name, 0) for name in fields))


def _counted(body: Mapping[str, Any], *counts: int, kind: str = "ReplicaSet") -> ReplicaSet:
    """Return a workload with its counts: desired, current, ready, available."""
    metadata, (desired, current, ready, available) = body["metadata"], counts
    return ReplicaSet(
        name=metadata["name"],
        digest=(metadata.get("labels") or {}).get(names.DIGEST, ""),
        desired=desired,
        current=current,
        ready=ready,
        available=available,
        created=metadata.get("creationTimestamp") or "",
        kind=kind,
    )


@dataclass(frozen=True, slots=True)
class AppView:
    """One app. ``strategy`` is None where its live spec cannot be read."""

    row: Row
    gates: tuple[Mapping[str, Any], ...]
    record: Record
    strategy: Strategy | None
    services: tuple[tuple[str, ServiceView], ...]
    """The app's Services, each with its role."""
    replica_sets: tuple[ReplicaSet, ...]
    pods: tuple[Pod, ...]
    changes: tuple[ConfigurationChange, ...] = ()
    """How the configuration of the newest version differs from that of the live version."""
    templates: Mapping[str, str] = field(default_factory=dict)
    """The pod template of each version that runs, as JSON, by digest."""
    pull: PullRequest | None = None
    """The pull request of its promotion."""
    addresses: tuple[str, ...] = ()
    """Where people reach the candidate, as its agent says."""

    @property
    def versions(self) -> list[Version]:
        """The versions, newest first."""
        return sorted(self.record.versions, key=lambda each: -each.number)

    @property
    def active(self) -> Version | None:
        """The version that serves live traffic."""
        return self.record.version(self.record.routing.traffic) if self.record.routing.traffic else None

    @property
    def newest(self) -> Version | None:
        """The candidate, or, if there is none, the active version: what Argo Rollouts calls updated."""
        coming = [each for each in self.versions if each.stage is Stage.CANDIDATE and not each.retiring]
        return next(iter(coming), self.active)

    def replica_sets_of(self, version: Version | None) -> list[ReplicaSet]:
        """Return the ReplicaSets of a version (None: none)."""
        return [each for each in self.replica_sets if version and each.digest == short(version.digest)]

    def pods_of(self, replica_set: ReplicaSet) -> Iterator[Pod]:
        """Yield the pods of a ReplicaSet."""
        return (pod for pod in self.pods if pod.digest == replica_set.digest)

    def runs_of(self, version: Version) -> list[AnalysisRun]:
        """Return the analysis runs of a version's present rollout, the newest last."""
        return [run for run in self.all_runs_of(version) if run.rollout == version.rollout]

    def all_runs_of(self, version: Version) -> list[AnalysisRun]:
        """Return all remembered analysis runs of a version, the newest last."""
        runs = (*self.record.analyses.past, *self.record.analyses.runs)
        return [run for run in runs if run.digest == version.digest]

    def warm_until(self, version: Version) -> datetime | None:
        """Return when a retired version is scaled to 0; None where no time says so, or the live spec cannot be read."""
        return warm_until(self.record, self.strategy, version) if self.strategy else None

    def version_of(self, short_digest: str) -> Version | None:
        """Return the version that a selector points to."""
        return next((each for each in self.record.versions if short(each.digest) == short_digest), None)

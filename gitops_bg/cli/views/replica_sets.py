"""The ReplicaSets and DaemonSets of an app as Kubernetes counts them, for the tree of `get`. No decision depends on
them.
"""

from dataclasses import dataclass
from typing import Any

from gitops_bg.cluster.api.kinds import DAEMON_SETS, REPLICA_SETS
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.cluster.observation.reader import labels_of
from gitops_bg.core import names
from gitops_bg.core.model.version import AppKey


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
    kind: str = REPLICA_SETS.name

    @property
    def status(self) -> str:
        """The status, in the words of Argo Rollouts."""
        if self.desired == 0:
            return "ScaledDown"
        return "Healthy" if self.available >= self.desired else "Progressing"


def replica_sets_of(cluster: Cluster, app: AppKey, *, daemon_sets: bool = False) -> tuple[ReplicaSet, ...]:
    """Return the ReplicaSets, and if asked for the DaemonSets, with the labels of the app, by name."""
    found = list(map(_replica_set, cluster.client.list(REPLICA_SETS, app.namespace, labels_of(app))))
    if daemon_sets:
        found += map(_daemon_set, cluster.client.list(DAEMON_SETS, app.namespace, labels_of(app)))
    return tuple(sorted(found, key=lambda each: each.name))


def _daemon_set(body: dict[str, Any]) -> ReplicaSet:
    status = body.get("status") or {}
    fields = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "numberAvailable")
    return _counted(body, *(status.get(name, 0) for name in fields), kind=DAEMON_SETS.name)


def _replica_set(body: dict[str, Any]) -> ReplicaSet:
    status, desired = body.get("status") or {}, (body.get("spec") or {}).get("replicas", 1)
    fields = ("replicas", "readyReplicas", "availableReplicas")
    return _counted(body, desired, *(status.get(name, 0) for name in fields))


def _counted(body: dict[str, Any], *counts: int, kind: str = REPLICA_SETS.name) -> ReplicaSet:
    """A workload with its counts: desired, current, ready, available."""
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

"""The pods of an app, read for the tree of `get`. If we may not list them, the tree shows none."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gitops_bg.cluster.api.kinds import PODS
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core import names
from gitops_bg.core.errors import Refused
from gitops_bg.core.model.version import AppKey


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


def pod_labels(app: AppKey) -> str:
    """Return the label selector of the pods of an app."""
    return f"{names.APP}={names.app_label(app)}"


def pods_of(cluster: Cluster, app: AppKey) -> list[Pod]:
    """Return the pods with the labels of the app, by name."""
    try:
        found = cluster.client.list(PODS, app.namespace, pod_labels(app))
    except Refused:
        return []
    return sorted(map(_pod, found), key=lambda pod: pod.name)


def _pod(body: dict[str, Any]) -> Pod:
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


def _waits(status: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield why the pod waits, with the messages: without a node; or its containers, first those others wait for."""
    for each in status.get("conditions") or []:
        if each["type"] == "PodScheduled" and each["status"] == "False" and each.get("reason"):
            yield each["reason"], each.get("message") or ""
    for prefix, field in (("Init:", "initContainerStatuses"), ("", "containerStatuses")):
        for each in status.get(field) or []:
            waiting = (each.get("state") or {}).get("waiting") or {}
            if waiting.get("reason") and not (prefix and waiting["reason"] == "PodInitializing"):
                yield prefix + waiting["reason"], waiting.get("message") or ""

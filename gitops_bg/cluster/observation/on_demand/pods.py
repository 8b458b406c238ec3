"""The pods of an app, read on demand: nothing watches them, so idle apps cost nothing (DESIGN §8)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import PODS, Object
from gitops_bg.cluster.observation.states import Pairs
from gitops_bg.core import names
from gitops_bg.core.errors import Refused
from gitops_bg.core.foreign_text import one_line
from gitops_bg.core.model.drift import Change, ChangeSetEntry
from gitops_bg.core.model.observed import PodView
from gitops_bg.core.model.version import AppKey

_EVICTION = "pods/eviction"
_ENDED = ("Succeeded", "Failed")
_STARTING = ("ContainerCreating", "PodInitializing")
"""What every container waits for before it starts (kubernetes `pkg/kubelet/kubelet_pods.go`)."""
_LONGEST = 300
"""Of what the scheduler says: with many kinds of nodes it is a long list."""


@dataclass(frozen=True, slots=True)
class Selected:
    """The pods with the labels of a selector."""

    apps: tuple[str, ...] = ()
    """The apps that have some of them, by label, sorted."""
    others: frozenset[str] = frozenset()
    """The uids of the pods that no app has."""
    trouble: str = ""
    """Why they cannot be listed; empty where they were."""


class Pods:
    """Reads and changes live pods. Thread-safe."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._eviction_version = ""

    def views(self, app: AppKey) -> tuple[PodView, ...]:
        """The pods of an app that have not ended; a quorum read, so that none is missing."""
        found = self._client.list(PODS, app.namespace, f"{names.APP}={names.app_label(app)}")
        return tuple(_view(pod) for pod in found if (pod.get("status") or {}).get("phase") not in _ENDED)

    def evict(self, namespace: str, name: str, uid: str) -> tuple[ChangeSetEntry, ...]:
        """Evict exactly this pod. Raises `Transient` where a PodDisruptionBudget refuses; a deleted pod is no error.

        https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/
        """
        eviction = {
            "apiVersion": f"policy/{self._version()}",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        self._client.evict(PODS, eviction)
        return (ChangeSetEntry(PODS.name, namespace, name, Change.DELETED),)

    def _version(self) -> str:
        """The version of Evictions that the server accepts: v1, or v1beta1 before Kubernetes 1.22; asked once."""
        if not self._eviction_version:
            resources = self._client.read("look for evictions", "/api/v1")["resources"]
            found = next(each for each in resources if each["name"] == _EVICTION)
            self._eviction_version = found["version"]
        return self._eviction_version

    def selected_by(self, namespace: str, selector: Pairs) -> Selected:
        """Whose the pods are that have not ended and carry the labels of a selector; a quorum read, so that none is
        missing. One that is being deleted counts: where nothing else is ready, it may still get requests
        (https://kubernetes.io/docs/concepts/services-networking/service/#terminating-endpoints).
        """
        try:
            found = self._client.list(PODS, namespace, ",".join(f"{key}={value}" for key, value in selector))
        except Refused as error:
            return Selected(trouble=str(error))
        there = [pod["metadata"] for pod in found if (pod.get("status") or {}).get("phase") not in _ENDED]
        whose = [((each.get("labels") or {}).get(names.APP, ""), each["uid"]) for each in there]
        apps = {app for app, _ in whose if app}
        return Selected(tuple(sorted(apps)), frozenset(uid for app, uid in whose if not app))

    def of(self, app: AppKey, digest: str) -> list[Object]:
        """The present pods of a version that are not being deleted."""
        labels = ",".join(f"{key}={value}" for key, value in names.selector(app, digest).items())
        found = self._client.list(PODS, app.namespace, labels)
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def change(self, pod: Object, change: Object) -> ChangeSetEntry:
        """Merge a change into one pod. Raises `WorldChanged` where it was deleted."""
        metadata = pod["metadata"]
        self._client.merge_patch(PODS, metadata["namespace"], metadata["name"], change)
        return ChangeSetEntry(PODS.name, metadata["namespace"], metadata["name"], Change.CONFIGURED)


def _view(pod: Object) -> PodView:
    metadata, conditions = pod["metadata"], (pod.get("status") or {}).get("conditions") or ()
    ready = next((each for each in conditions if each["type"] == "Ready" and each["status"] == "True"), None)
    since = ready and (ready.get("lastTransitionTime") or metadata["creationTimestamp"])
    return PodView(
        name=metadata["name"],
        uid=metadata["uid"],
        digest=(metadata.get("labels") or {}).get(names.DIGEST, ""),
        created_at=datetime.fromisoformat(metadata["creationTimestamp"]),
        ready_since=datetime.fromisoformat(since) if since else None,
        leaving="deletionTimestamp" in metadata,
        unschedulable=_unschedulable(conditions),
        waiting=_waiting(pod.get("status") or {}),
        shut_gate=_shut_gate(pod, conditions),
    )


def _shut_gate(pod: Object, conditions: Iterable[Object]) -> str:
    """The first readiness gate that keeps a pod from being ready, whose containers are
    (https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-readiness-gate).
    """
    true = {each["type"] for each in conditions if each["status"] == "True"}
    gates = (str(each["conditionType"]) for each in pod["spec"].get("readinessGates") or ())
    return next((each for each in gates if each not in true), "") if "ContainersReady" in true else ""


def _unschedulable(conditions: Iterable[Object]) -> str:
    """Why the scheduler found no node (https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/)."""
    for each in conditions:
        if (each["type"], each["status"], each.get("reason")) == ("PodScheduled", "False", "Unschedulable"):
            return one_line(str(each.get("message") or "Unschedulable"))[:_LONGEST]
    return ""


def _waiting(status: Object) -> str:
    """Why the kubelet does not start a container: those first that others wait for. A start takes its time: that of
    one that is merely being created is none.
    """
    for field in ("initContainerStatuses", "containerStatuses"):
        for each in status.get(field) or ():
            waiting = (each.get("state") or {}).get("waiting") or {}
            if waiting.get("reason") and waiting["reason"] not in _STARTING:
                said = ": ".join(filter(None, (str(waiting["reason"]), str(waiting.get("message") or ""))))
                return one_line(said)[:_LONGEST]
    return ""

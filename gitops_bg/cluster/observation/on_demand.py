"""What is read from the API server when it is needed, and never watched, so that idle apps cost nothing (DESIGN §8):
pods, and the Deployment that an app is adopted from, with everything around it.

A live Deployment is read with the rights of who asks (`gitops-bg adopt`), and never a Secret. An active Service whose
manifest left the folder stays as it is where it says more than one that is derived from the pods: that would end how
users come in, for a load balancer goes with its address (docs/decisions/0021).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.errors import NotFound
from gitops_bg.cluster.api.kinds import (
    APPS,
    CONFIG_MAPS,
    DEPLOYMENTS,
    NETWORK_POLICIES,
    PODS,
    REPLICA_SETS,
    SERVICES,
    Kind,
    Object,
)
from gitops_bg.cluster.manifests.render import digest_in
from gitops_bg.cluster.manifests.services import at_hand
from gitops_bg.cluster.observation.auxiliary_kinds import AuxiliaryKinds
from gitops_bg.cluster.observation.drift import item_in
from gitops_bg.cluster.observation.ownership import owner_of
from gitops_bg.cluster.observation.states import Pairs, ServiceState, meta_of, pairs
from gitops_bg.core import names
from gitops_bg.core.checks.ports import derived_ports
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import Refused
from gitops_bg.core.foreign_json import read_json, reread_json
from gitops_bg.core.foreign_text import one_line
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.drift import Change, ChangeSetEntry
from gitops_bg.core.model.observed import DeploymentView, PodView
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.spec import DeletionPolicy, ScaleDown
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.layout import APP_FILE
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.manifests.configuration import CONFIG_MAP, references


def adopted_from(config: AppConfig | None, record: Record) -> str:
    """Return the name of the Deployment that has to be looked at; empty where none has.

    Only where its pods are to go, and have not, or are to come back: an app that leaves them alone needs no right to
    read it.
    """
    if record.routing.traffic and (back := gives_back_to(config, record)):
        return back
    adopt = config.spec.adopt if config is not None and config.spec is not None else None
    if adopt is None or adopt.scale_down is ScaleDown.NEVER or record.adopted is None or record.adopted.left:
        return ""
    return adopt.deployment


def gives_back_to(config: AppConfig | None, record: Record) -> str:
    """Return the Deployment that live traffic goes back to, or would because the app's folder is gone; empty for
    none.
    """
    spec = config.spec if config is not None else None
    if config is None or spec is None:
        return record.release
    if spec.release is not None:
        return spec.release.deployment
    reverts = spec.deletion_policy is DeletionPolicy.REVERT_TO_TARGET and not config.folder
    return record.release or (spec.adopt.deployment if spec.adopt and reverts else "")


def deployment_view(client: Client, app: AppKey, name: str) -> DeploymentView:
    """Return the present state of a Deployment, a quorum read."""
    try:
        live = client.get(DEPLOYMENTS, app.namespace, name)
    except Refused as error:
        return DeploymentView(name, trouble=str(error))
    return DeploymentView(name, gone=True) if live is None else _deployment_view(live)


def _deployment_view(live: Object) -> DeploymentView:
    spec, meta = live["spec"], meta_of(live)
    return DeploymentView(
        name=meta.name,
        replicas=spec.get("replicas", 1),
        available=_available(live),
        labels=pairs(pod_labels(live)),
        controller=f"{meta.controller.kind} {meta.controller.name}" if meta.controller else "",
    )


def _available(live: Object) -> int:
    status = live.get("status") or {}
    if status.get("observedGeneration", 0) < live["metadata"].get("generation", 0):
        return 0
    return min(int(status.get("availableReplicas", 0)), int(status.get("updatedReplicas", 0)))


def pod_labels(live: Object) -> dict[str, str]:
    """Return the labels that the pods of a Deployment get."""
    return (live["spec"]["template"].get("metadata") or {}).get("labels") or {}


_OTHER_WORKLOADS = (
    Kind("apps/v1", "StatefulSet", "statefulsets"),
    Kind("apps/v1", "DaemonSet", "daemonsets"),
    Kind("argoproj.io/v1alpha1", "Rollout", "rollouts"),
)


@dataclass(frozen=True, slots=True)
class LivePod:
    """A pod that has not ended."""

    name: str
    labels: Mapping[str, str]
    owner: str
    """What made it, in a sentence: the Deployment of its ReplicaSet, or its controller; empty for a bare pod."""


@dataclass(frozen=True, slots=True)
class LiveWorkload:
    """A Deployment and what is in its namespace, at one moment."""

    deployment: Object
    services: tuple[Object, ...] = ()
    """All of the namespace, as every other list here."""
    pods: tuple[LivePod, ...] = ()
    autoscalers: tuple[Object, ...] = ()
    budgets: tuple[Object, ...] = ()
    policies: tuple[Object, ...] = ()
    """NetworkPolicies."""
    config_maps: Mapping[str, Object | None] = field(default_factory=dict)
    """Those that its pods refer to, by name; None: there is none."""
    app: Object | None = None
    """A BlueGreenDeployment of the name that the app is to have."""


def read_live(client: Client, namespace: str, name: str) -> LiveWorkload:
    """Read everything. Raises `NotFound` where there is no such Deployment, and as `Client`."""
    deployment = client.get(DEPLOYMENTS, namespace, name)
    if deployment is None:
        raise NotFound(_why_none(client, namespace, name))
    template = deployment["spec"]["template"]
    wanted = sorted(each for kind, each in references(template) if kind == CONFIG_MAP)
    auxiliary = AuxiliaryKinds(client)
    return LiveWorkload(
        deployment,
        _listed(client, namespace, SERVICES),
        tuple(_pods(client, namespace)),
        (
            *_listed(client, namespace, auxiliary.kind("HorizontalPodAutoscaler")),
            *_listed(client, namespace, auxiliary.kind("ScaledObject")),
        ),
        _listed(client, namespace, auxiliary.kind("PodDisruptionBudget")),
        _listed(client, namespace, NETWORK_POLICIES),
        {each: client.get(CONFIG_MAPS, namespace, each) for each in wanted},
        client.get(APPS, namespace, name) if client.serves(APPS) else None,
    )


def _why_none(client: Client, namespace: str, name: str) -> str:
    """Return what there is instead: only a Deployment's pods can stand beside others of the same app for a while."""
    for kind in _OTHER_WORKLOADS:
        if client.serves(kind) and client.get(kind, namespace, name) is not None:
            return f"there is no Deployment {namespace}/{name}, but a {kind.name}: only a Deployment can be adopted"
    return f"there is no Deployment {namespace}/{name}: kubectl get deployments -n {namespace}"


def _listed(client: Client, namespace: str, kind: Kind | None) -> tuple[Object, ...]:
    """Return the objects of a kind, with the kind in each: items of a list do not say it."""
    if kind is None or not client.serves(kind):
        return ()
    head = {"apiVersion": kind.api_version, "kind": kind.name}
    return tuple({**head, **each} for each in client.list(kind, namespace))


def _pods(client: Client, namespace: str) -> Iterator[LivePod]:
    made = {each["metadata"]["uid"]: _controller(each) for each in client.list(REPLICA_SETS, namespace)}
    for pod in client.list(PODS, namespace):
        if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
            continue
        owner = _controller(pod)
        above = made.get(owner.get("uid", "")) or owner
        said = f"{above['kind']} {above['name']}" if above else ""
        yield LivePod(pod["metadata"]["name"], pod["metadata"].get("labels") or {}, said)


def _controller(body: Object) -> Object:
    owners = body["metadata"].get("ownerReferences") or ()
    return next((each for each in owners if each.get("controller")), {})


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
        """Return the pods of an app that have not ended; a quorum read, so that none is missing."""
        found = self._client.list(PODS, app.namespace, f"{names.APP}={names.app_label(app)}")
        return tuple(_pod_view(pod) for pod in found if (pod.get("status") or {}).get("phase") not in _ENDED)

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
        """Return the version of Evictions that the server accepts: v1, or v1beta1 before Kubernetes 1.22; asked
        once.
        """
        if not self._eviction_version:
            resources = self._client.read("look for evictions", "/api/v1")["resources"]
            found = next(each for each in resources if each["name"] == _EVICTION)
            self._eviction_version = found["version"]
        return self._eviction_version

    def selected_by(self, namespace: str, selector: Pairs) -> Selected:
        """Return whose the pods are that have not ended and carry the labels of a selector; a quorum read, so that none
        is missing. One that is being deleted counts: where nothing else is ready, it may still get requests
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
        """Return the present pods of a version that are not being deleted."""
        labels = ",".join(f"{key}={value}" for key, value in names.selector(app, digest).items())
        found = self._client.list(PODS, app.namespace, labels)
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def change(self, pod: Object, change: Object) -> ChangeSetEntry:
        """Merge a change into one pod. Raises `WorldChanged` where it was deleted."""
        metadata = pod["metadata"]
        self._client.merge_patch(PODS, metadata["namespace"], metadata["name"], change)
        return ChangeSetEntry(PODS.name, metadata["namespace"], metadata["name"], Change.CONFIGURED)


def _pod_view(pod: Object) -> PodView:
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
    """Return the first readiness gate that keeps a pod from being ready, whose containers are
    (https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-readiness-gate).
    """
    true = {each["type"] for each in conditions if each["status"] == "True"}
    gates = (str(each["conditionType"]) for each in pod["spec"].get("readinessGates") or ())
    return next((each for each in gates if each not in true), "") if "ContainersReady" in true else ""


def _unschedulable(conditions: Iterable[Object]) -> str:
    """Return why the scheduler found no node (https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/)."""
    for each in conditions:
        if (each["type"], each["status"], each.get("reason")) == ("PodScheduled", "False", "Unschedulable"):
            return one_line(str(each.get("message") or "Unschedulable"))[:_LONGEST]
    return ""


def _waiting(status: Object) -> str:
    """Return why the kubelet does not start a container: those first that others wait for. A start takes its time: that
    of one that is merely being created is none.
    """
    for kind in ("initContainerStatuses", "containerStatuses"):
        for each in status.get(kind) or ():
            waiting = (each.get("state") or {}).get("waiting") or {}
            if waiting.get("reason") and waiting["reason"] not in _STARTING:
                said = ": ".join(filter(None, (str(waiting["reason"]), str(waiting.get("message") or ""))))
                return one_line(said)[:_LONGEST]
    return ""


_OF_PORTS = ("name", "port", "protocol", "targetPort")


Snapshots = Callable[[], Mapping[str, str]]
"""The snapshots of the live workloads, by short digest; asked for where they are needed."""


def left_manifests(
    config: AppConfig, find: Callable[[str], ServiceState | None], snapshots: Snapshots
) -> tuple[Problem, ...]:
    """Return a problem for each active Service that is live as a manifest said it which is in the folder no more.

    ``find`` finds a live Service by its name. Nothing is said of a folder that was not read, or not as a whole.
    """
    if config.spec is None or not config.whole or not config.folder:
        return ()
    gone = [name for name in config.spec.strategy.active_services if name not in config.services]
    found = ((name, state) for name in gone if (state := find(name)) is not None)
    return tuple(
        _problem(config, name, said)
        for name, state in found
        if (said := list(_manifest_lines(config, state, snapshots)))
    )


def _problem(config: AppConfig, name: str, said: list[str]) -> Problem:
    live = f"which is live with {', '.join(said)}: it stays as it is"
    remedy = f"put its manifest back, or write one that says what Service {name} is to be"
    message = f"no file of the folder describes Service {name} any more, {live}"
    return Problem(f"{config.folder}/{APP_FILE}", message, remedy=remedy)


def _manifest_lines(config: AppConfig, state: ServiceState, snapshots: Snapshots) -> Iterator[str]:
    """Yield what a manifest said of a live Service of ours, as far as nobody has changed it since."""
    if owner_of(SERVICES, state.meta, config.app, config.spec.adopt if config.spec else None):
        return
    applied, live = reread_json(state.applied), reread_json(state.content)
    for key in applied.get("f:spec") or {}:
        name = key.removeprefix("f:")
        if name in live["spec"] and name not in ("selector", "ports"):
            yield f"{name} {live['spec'][name]}" if isinstance(live["spec"][name], str | int) else name
    annotations = (applied.get("f:metadata") or {}).get("f:annotations") or {}
    yield from (f"annotation {name}" for name in map(_name, annotations) if not name.startswith(f"{names.GROUP}/"))
    ports = (applied.get("f:spec") or {}).get("f:ports") or {}
    digest = digest_in(config.app, dict(state.selector))
    if ports and (template := at_hand(config, snapshots()).get(digest, "")):
        yield from _port_lines(template, ports, live["spec"].get("ports") or ())


def _name(key: str) -> str:
    return key.removeprefix("f:")


def _port_lines(template: str, applied: Mapping[str, Any], live: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the live ports that the pods do not imply, where all that they say is ours."""
    derived = [_of_port(each) for each in read_json(derived_ports(template) or "[]")]
    ours = {
        (said.get("port"), said.get("protocol")): fields for key, fields in applied.items() if (said := item_in(key))
    }
    for port in live:
        fields = ours.get((port.get("port"), port.get("protocol") or "TCP")) or {}
        is_ours = all(f"f:{field}" in fields for field in ("port", "targetPort") if field in port)
        if is_ours and _of_port(port) not in derived:
            yield f"port {port['port']}"


def _of_port(port: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(port.get(field) or ("TCP" if field == "protocol" else None) for field in _OF_PORTS)

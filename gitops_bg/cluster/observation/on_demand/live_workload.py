"""A live Deployment with everything around it, as `gitops-bg adopt` reads it: once, with the rights of who asks.

Objects stay as the server has them; what becomes of them is not decided here. A Secret is never read.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

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
from gitops_bg.cluster.execution.auxiliary_kinds import AuxiliaryKinds
from gitops_bg.spec.manifests.references import CONFIG_MAP, references

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
    """What there is instead: only a Deployment's pods can stand beside others of the same app for a while."""
    for kind in _OTHER_WORKLOADS:
        if client.serves(kind) and client.get(kind, namespace, name) is not None:
            return f"there is no Deployment {namespace}/{name}, but a {kind.name}: only a Deployment can be adopted"
    return f"there is no Deployment {namespace}/{name}: kubectl get deployments -n {namespace}"


def _listed(client: Client, namespace: str, kind: Kind | None) -> tuple[Object, ...]:
    """The objects of a kind, with the kind in each: items of a list do not say it."""
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

"""The objects of an app that belong to no version: the files that a user writes for it, and the live objects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml

from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import collection, custom_resource_definitions, replica_sets
from tests.support.cluster.rawapi import Json
from tests.support.manifests import custom_resource_definition
from tests.support.scenario import App
from tests.support.waiting import eventually

HPA, SCALED_OBJECT, BUDGET = "HorizontalPodAutoscaler", "ScaledObject", "PodDisruptionBudget"
_GROUPS = {HPA: "autoscaling", BUDGET: "policy", SCALED_OBJECT: "keda.sh"}
_CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}


def hpa(minimum: int = 2, maximum: int = 99, **spec: Any) -> Json:
    """The HPA of an app `web`, as Flagger's test-hpa.sh has it."""
    aim = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    bounds = {"minReplicas": minimum, "maxReplicas": maximum}
    return _manifest("autoscaling/v2", HPA, {"scaleTargetRef": aim, **bounds, "metrics": [_CPU], **spec})


def scaled_object(query: str = 'sum(rate(http{app="web"}[1m]))', annotations: Json | None = None, **spec: Any) -> Json:
    """The ScaledObject of an app `web`."""
    trigger = {"type": "prometheus", "name": "load", "metadata": {"query": query, "threshold": "5"}}
    made = _manifest("keda.sh/v1alpha1", SCALED_OBJECT, {"scaleTargetRef": {"name": "web"}, "triggers": [trigger]})
    made["spec"] |= {"minReplicaCount": 2, "maxReplicaCount": 9, **spec}
    return {**made, "metadata": {**made["metadata"], "annotations": annotations or {}}}


def budget(**spec: Any) -> Json:
    """The PodDisruptionBudget of an app `web`."""
    pods = {"selector": {"matchLabels": {"app": "web"}}}
    return _manifest("policy/v1", BUDGET, pods | (spec or {"minAvailable": 1}))


def untracked(kind: str = "ConfigMap", **data: str) -> Json:
    """Configuration that is no part of a version."""
    metadata = {"name": "flags", "annotations": {"gitops-bg.dev/config-tracking": "disabled"}}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": data}


def publish(app: App, file: str, manifest: Json | None, message: str = "auxiliary_objects") -> str:
    """Push a file of the app's folder, or delete it. Returns the commit."""
    text = yaml.safe_dump(manifest) if manifest is not None else None
    return app.scenario.publish(f"{message}: {file}", {f"{app.folder}/{file}.yaml": text})


def live(app: App, kind: str, name: str) -> Json | None:
    """A live auxiliary object, in the version that this cluster prefers."""
    return app.scenario.cluster.find(path(app, kind, name))


def path(app: App, kind: str, name: str) -> str:
    """The path of an auxiliary object."""
    version = app.scenario.cluster.preferred(_GROUPS[kind]) if kind in _GROUPS else "v1"
    if kind == HPA and version == "autoscaling/v1":  # 1.20 prefers what knows no metrics
        version = "autoscaling/v2beta2"
    return f"{collection(version, kind, app.key.namespace)}/{name}"


def aim(app: App, kind: str = HPA, name: str = "web-primary") -> str:
    """The image tag that the live copy of the autoscaler scales; empty where there is none."""
    found = live(app, kind, name)
    reference = found["spec"]["scaleTargetRef"] if found else {}
    if (reference.get("apiVersion"), reference.get("kind")) != ("apps/v1", "ReplicaSet"):
        return ""
    names = {version.name: tag for tag, version in app.versions().items()}
    return names.get(reference["name"], f"not a version: {reference['name']}")


def wait_aim(app: App, tag: str, kind: str = HPA, name: str = "web-primary") -> None:
    """Wait until the copy of the autoscaler scales a tag."""
    app.wait(lambda: aim(app, kind, name) == tag, f"{kind} {name} aims at {tag}")


def autoscale(app: App, tag: str, replicas: int) -> None:
    """What an autoscaler does: it writes the scale of the ReplicaSet of a tag."""
    name = app.versions()[tag].name
    app.scenario.cluster.patch(f"{replica_sets(app.key.namespace)}/{name}/scale", {"spec": {"replicas": replicas}})


@contextmanager
def keda(cluster: TestCluster) -> Iterator[None]:
    """KEDA's definition of ScaledObjects, as long as the context lasts; without KEDA itself."""
    definition = custom_resource_definition(SCALED_OBJECT, "keda.sh", "v1alpha1")
    name = definition["metadata"]["name"]
    cluster.install_crd(definition)
    try:
        yield
    finally:
        cluster.request("DELETE", f"{custom_resource_definitions()}/{name}")
        eventually(lambda: cluster.request("GET", "/apis/keda.sh")[0] == 404, what="KEDA is gone")


def _manifest(api_version: str, kind: str, spec: Json) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "web"}, "spec": spec}

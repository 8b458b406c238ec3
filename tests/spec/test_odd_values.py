"""Whatever stands in a field of a folder's files: it is read, or it is a problem; never an error of ours.

An error of ours would stop the agent, and with it every other app (DESIGN §10).
"""

import copy
import json
from contextlib import suppress

import pytest

from gitops_bg.cluster.api.kinds import Kind
from gitops_bg.cluster.manifests.auxiliary import auxiliary_manifest
from gitops_bg.cluster.manifests.render import configuration_manifest, service_manifest
from gitops_bg.cluster.observation.project import service_state
from gitops_bg.cluster.observation.routes import service_drifted
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.version import AppKey, Source
from gitops_bg.spec.app.load import load_app

APP = AppKey("shop", "web")
ODD = (None, [], {}, "", "x", 0, True, [[]], {"a": 1}, [None])


def of(api_version, kind, name, **fields):
    annotations = {"autoscaling.keda.sh/paused-replicas": "0"}
    metadata = {"name": name, "namespace": "shop", "labels": {"a": "b"}, "annotations": annotations}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata} | fields


CONTAINER = {
    "name": "web",
    "image": "web:1",
    "envFrom": [{"secretRef": {"name": "s"}}, {"configMapRef": {"name": "c"}}],
}
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [CONTAINER]}}
SELECTOR = {"matchLabels": {"app": "web"}}
KEDA_SPEC = {
    "scaleTargetRef": {"name": "web"},
    "idleReplicaCount": 0,
    "triggers": [{"type": "prometheus", "metadata": {"query": "web"}}],
    "advanced": {"horizontalPodAutoscalerConfig": {"name": "x"}},
}
HPA_SPEC = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "minReplicas": 1, "maxReplicas": 4}
FILES = {
    "app.yaml": of(
        "gitops-bg.dev/v1alpha1",
        "BlueGreenDeployment",
        "web",
        spec={"strategy": {"blueGreen": {"activeService": "web"}}},
    ),
    "target.yaml": of("apps/v1", "Deployment", "web", spec={"selector": SELECTOR, "template": TEMPLATE}),
    "secret.yaml": of("v1", "Secret", "s", type="Opaque", data={"k": "YWJj"}, stringData={"z": "y"}),
    "map.yaml": of("v1", "ConfigMap", "c", data={"k": "v"}, binaryData={"b": "YWJj"}),
    "shared.yaml": of("v1", "Secret", "shared", data={"k": "YWJj"}, stringData={"z": "y"}),
    "hpa.yaml": of("autoscaling/v2", "HorizontalPodAutoscaler", "web", spec=HPA_SPEC),
    "budget.yaml": of("policy/v1", "PodDisruptionBudget", "web", spec={"minAvailable": 1, "selector": SELECTOR}),
    "service.yaml": of("v1", "Service", "web", spec={"ports": [{"port": 80}], "type": "ClusterIP"}),
}
KEDA = {**FILES, "hpa.yaml": of("keda.sh/v1alpha1", "ScaledObject", "web", spec=KEDA_SPEC)}


LIVE = service_state(
    {**FILES["service.yaml"], "metadata": {**FILES["service.yaml"]["metadata"], "uid": "1", "resourceVersion": "1"}}
)


def places(value, path=()):
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        yield from places(item, (*path, key))


def with_value(document, path, value):
    if not path:
        return value
    changed = copy.deepcopy(document)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return changed


def loaded(documents):
    contents = {name: json.dumps(document).encode() for name, document in documents.items()}
    return load_app(APP, contents, lambda *names: Source("c"))


@pytest.mark.parametrize("documents", [FILES, KEDA], ids=["hpa", "keda"])
def test_files_to_begin_with_are_good(documents):
    config = loaded(documents)
    assert config.problems == ()
    assert len(config.configuration) == 2
    assert len(config.auxiliary_objects.manifests) == 3


@pytest.mark.parametrize(("documents", "name"), [*((FILES, name) for name in FILES), (KEDA, "hpa.yaml")])
def test_any_value_in_any_field_is_read_or_a_problem(documents, name):
    for path in places(documents[name]):
        for value in ODD:
            config = loaded({**documents, name: with_value(documents[name], path, value)})
            for auxiliary_object, given in config.auxiliary_objects.manifests.items():
                auxiliary_manifest(
                    APP, "uid", Kind("v1", auxiliary_object.kind, "any"), auxiliary_object.name, given, ""
                )
            for each in config.configuration:
                configuration_manifest(APP, "uid", each)
            for service, given in config.services.items():
                with suppress(InvalidInput):  # It says so where nothing names the ports.
                    service_drifted(LIVE, service_manifest(APP, "uid", service, "v1:3f", given, snapshot=""))

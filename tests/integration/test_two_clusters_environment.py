"""Pods that need ConfigMaps and Secrets: what a kubelet says while they are missing, and when it starts them.

The control plane's pods are those of the stand-in `tests.support.cluster.kubelet`: what is proven there is that the
real API server takes such a status and such Events, and that the agent and kubectl read both alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import collection, config_maps, events, path_in, pods
from tests.support.cluster.rawapi import Json
from tests.support.waiting import eventually

Container = dict[str, Any]


def pod(*containers: Container, **spec: Any) -> Json:
    """A pod of these containers."""
    return {"metadata": {"name": "one"}, "spec": {"containers": list(containers), **spec}}


def container(name: str = "web", **fields: Any) -> Container:
    return {"name": name, "image": "registry.example/web:v1", **fields}


def variable(source: str, name: str, key: str, **more: Any) -> Json:
    return {"name": "MESSAGE", "valueFrom": {source: {"name": name, "key": key, **more}}}


def volume(**source: Any) -> Json:
    return {"name": "config", **source}


MOUNTED = container(volumeMounts=[{"name": "config", "mountPath": "/etc/web"}])


def states(status: Json, field: str = "containerStatuses") -> dict[str, tuple[str, str]]:
    """Why each container waits, with the message; ``running`` or ``terminated`` for one that does not."""
    found = {}
    for each in status.get(field) or []:
        waiting = each["state"].get("waiting")
        said = (waiting["reason"], waiting.get("message", "")) if waiting else (next(iter(each["state"])), "")
        found[each["name"]] = said
    return found


def seen(cluster: TestCluster, namespace: str, predicate: Callable[[Json], bool]) -> Json:
    """The status of the pod, once it is as wanted."""
    found = cluster.watch_until(pods(namespace), lambda all_: bool(all_) and predicate(all_[0].get("status", {})))
    status: Json = found[0]["status"]
    return status


def is_ready(status: Json) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions") or [])


def waits(reason: str) -> Callable[[Json], bool]:
    return lambda status: reason in {said for said, _ in states(status).values()}


def told(cluster: TestCluster, namespace: str) -> list[tuple[str, str]]:
    return [(each["reason"], each["message"]) for each in cluster.list(events(namespace))]


def give(cluster: TestCluster, namespace: str, kind: str, data: Mapping[str, str]) -> None:
    field = "stringData" if kind == "Secret" else "data"
    cluster.create(collection("v1", kind, namespace), {"metadata": {"name": "web"}, field: dict(data)})


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("ConfigMap", {"env": [variable("configMapKeyRef", "web", "message")]}),
        ("ConfigMap", {"envFrom": [{"configMapRef": {"name": "web"}}]}),
        ("Secret", {"env": [variable("secretKeyRef", "web", "message")]}),
        ("Secret", {"envFrom": [{"secretRef": {"name": "web"}}]}),
    ],
)
def test_a_container_waits_for_the_source_of_its_variables_and_starts_when_it_is_there(
    cluster: TestCluster, namespace: str, kind: str, fields: Json
) -> None:
    cluster.create(pods(namespace), pod(container(**fields)))
    status = seen(cluster, namespace, waits("CreateContainerConfigError"))
    missing = f'{kind.lower()} "web" not found'
    assert status["phase"] == "Pending"
    assert states(status) == {"web": ("CreateContainerConfigError", missing)}
    eventually(lambda: told(cluster, namespace) == [("Failed", f"Error: {missing}")], what="the Event is there")
    give(cluster, namespace, kind, {"message": "hello"})
    assert seen(cluster, namespace, is_ready)["phase"] == "Running"


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("ConfigMap", {"configMap": {"name": "web"}}),
        ("Secret", {"secret": {"secretName": "web"}}),
        ("ConfigMap", {"projected": {"sources": [{"configMap": {"name": "web"}}]}}),
        ("Secret", {"projected": {"sources": [{"secret": {"name": "web"}}]}}),
    ],
)
def test_a_pod_waits_for_the_source_of_a_volume_and_an_event_says_so(
    cluster: TestCluster, namespace: str, kind: str, source: Json
) -> None:
    cluster.create(pods(namespace), pod(MOUNTED, volumes=[volume(**source)]))
    status = seen(cluster, namespace, waits("ContainerCreating"))
    assert status["phase"] == "Pending"
    said = f'MountVolume.SetUp failed for volume "config" : {kind.lower()} "web" not found'
    eventually(lambda: told(cluster, namespace) == [("FailedMount", said)], what="the Event is there")
    give(cluster, namespace, kind, {"message": "hello"})
    assert seen(cluster, namespace, is_ready)["phase"] == "Running"


@pytest.mark.parametrize(
    ("kind", "spec", "reason", "said"),
    [
        (
            "ConfigMap",
            pod(container(env=[variable("configMapKeyRef", "web", "message")])),
            "CreateContainerConfigError",
            "Error: couldn't find key message in ConfigMap {}/web",
        ),
        (
            "Secret",
            pod(container(env=[variable("secretKeyRef", "web", "message")])),
            "CreateContainerConfigError",
            "Error: couldn't find key message in Secret {}/web",
        ),
        (
            "ConfigMap",
            pod(MOUNTED, volumes=[volume(configMap={"name": "web", "items": [{"key": "message", "path": "m"}]})]),
            "ContainerCreating",
            'MountVolume.SetUp failed for volume "config" : configmap references non-existent config key: message',
        ),
        (
            "Secret",
            pod(MOUNTED, volumes=[volume(secret={"secretName": "web", "items": [{"key": "message", "path": "m"}]})]),
            "ContainerCreating",
            'MountVolume.SetUp failed for volume "config" : references non-existent secret key: message',
        ),
    ],
)
def test_a_missing_key_is_missing_like_the_whole(
    cluster: TestCluster, namespace: str, kind: str, spec: Json, reason: str, said: str
) -> None:
    give(cluster, namespace, kind, {"another": "key"})
    cluster.create(pods(namespace), spec)
    seen(cluster, namespace, waits(reason))
    wanted = said.format(namespace)
    eventually(lambda: [message for _, message in told(cluster, namespace)] == [wanted], what="the Event is there")
    field = "stringData" if kind == "Secret" else "data"
    cluster.patch(path_in(namespace, kind, "web"), {field: {"message": "hello"}})
    seen(cluster, namespace, is_ready)


@pytest.mark.parametrize(
    "spec",
    [
        pod(container(env=[variable("configMapKeyRef", "web", "message", optional=True)])),
        pod(container(env=[variable("secretKeyRef", "web", "message", optional=True)])),
        pod(container(envFrom=[{"configMapRef": {"name": "web", "optional": True}}])),
        pod(container(envFrom=[{"secretRef": {"name": "web", "optional": True}}])),
        pod(MOUNTED, volumes=[volume(configMap={"name": "web", "optional": True})]),
        pod(MOUNTED, volumes=[volume(secret={"secretName": "web", "optional": True})]),
        pod(
            MOUNTED,
            volumes=[
                volume(
                    configMap={"name": "web", "optional": True, "items": [{"key": "message", "path": "m"}]},
                )
            ],
        ),
        pod(MOUNTED, volumes=[volume(projected={"sources": [{"secret": {"name": "web", "optional": True}}]})]),
        pod(container(), volumes=[volume(configMap={"name": "web"})]),
    ],
    ids=[
        *("variable", "secret variable", "all variables", "all secret variables"),
        *("volume", "secret volume", "file", "projected volume", "volume that nobody mounts"),
    ],
)
def test_what_is_optional_or_not_mounted_is_not_waited_for(cluster: TestCluster, namespace: str, spec: Json) -> None:
    cluster.create(pods(namespace), spec)
    seen(cluster, namespace, is_ready)
    assert told(cluster, namespace) == []


def test_an_init_container_without_its_variables_keeps_the_others_from_starting(
    cluster: TestCluster, namespace: str
) -> None:
    broken = container("second", env=[variable("configMapKeyRef", "web", "message")])
    cluster.create(pods(namespace), pod(container(), initContainers=[container("first"), broken, container("third")]))
    status = seen(cluster, namespace, waits("PodInitializing"))
    assert (status["phase"], states(status)) == ("Pending", {"web": ("PodInitializing", "")})
    assert states(status, "initContainerStatuses") == {
        "first": ("terminated", ""),
        "second": ("CreateContainerConfigError", 'configmap "web" not found'),
        "third": ("PodInitializing", ""),
    }
    initialized = next(each for each in status["conditions"] if each["type"] == "Initialized")
    assert (initialized["status"], initialized["reason"]) == ("False", "ContainersNotInitialized")
    give(cluster, namespace, "ConfigMap", {"message": "hello"})
    seen(cluster, namespace, is_ready)


def test_the_other_containers_run_but_the_pod_is_not_ready(cluster: TestCluster, namespace: str) -> None:
    broken = container("broken", env=[variable("configMapKeyRef", "web", "message")])
    cluster.create(pods(namespace), pod(container(), broken))
    status = seen(cluster, namespace, waits("CreateContainerConfigError"))
    assert states(status)["web"] == ("running", "")
    assert (status["phase"], is_ready(status)) == ("Pending", False)


def test_a_pod_that_runs_outlives_what_it_was_configured_with(cluster: TestCluster, namespace: str) -> None:
    give(cluster, namespace, "ConfigMap", {"message": "hello"})
    body = pod(container(env=[variable("configMapKeyRef", "web", "message")]))
    cluster.create(pods(namespace), body | {"metadata": {"name": "one", "labels": {"app": "web"}}})
    seen(cluster, namespace, is_ready)
    cluster.delete(f"{config_maps(namespace)}/web")
    cluster.set_ready(namespace, {"app": "web"}, False)
    seen(cluster, namespace, lambda status: not is_ready(status))
    cluster.set_ready(namespace, {"app": "web"}, True)
    assert states(seen(cluster, namespace, is_ready)) == {"web": ("running", "")}

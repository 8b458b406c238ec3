"""`explain` and `get` of pods that do not start: the names of what is missing, and what to do; on both clusters."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.cli.conftest import Cli
from tests.support.cluster.paths import collection
from tests.support.scenario import App, Scenario


@pytest.fixture
def shop(either_world: Scenario) -> App:
    """The app `web`, its v1 live; the agent runs."""
    either_world.start()
    return either_world.app().deploy("v1")


@pytest.fixture
def shell(either_world: Scenario, tmp_path: Any) -> Cli:
    """The command line for that world."""
    return Cli(either_world.remote, either_world.cluster.kubeconfig, tmp_path)


def variable(kind: str, key: str = "url") -> dict[str, Any]:
    return {"env": [{"name": "URL", "valueFrom": {f"{kind}KeyRef": {"name": "settings", "key": key}}}]}


def push_with(app: App, container: dict[str, Any], **pod: Any) -> None:
    """Push v2 with these fields in its container and its pod."""
    app.container = container
    template = app.pod_template("v2")
    app.template = {"spec": template["spec"] | pod}
    app.push_image("v2")


def troubles(shell: Cli, app: App) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shell.json("explain", str(app.key))["troubles"]
    return found


MOUNT = {"volumeMounts": [{"name": "config", "mountPath": "/etc/web"}]}
VOLUME = {"volumes": [{"name": "config", "configMap": {"name": "settings"}}]}


@pytest.mark.parametrize(
    ("container", "pod", "reason", "message", "advice"),
    [
        (
            variable("configMap"),
            {},
            "CreateContainerConfigError",
            'configmap "settings" not found',
            "commit the ConfigMap settings as apps/{app}/configmap-settings.yaml, or: "
            "kubectl --namespace {namespace} create configmap settings …",
        ),
        (
            variable("secret"),
            {},
            "CreateContainerConfigError",
            'secret "settings" not found',
            "commit the Secret settings as apps/{app}/secret-settings.yaml, or: "
            "kubectl --namespace {namespace} create secret generic settings …",
        ),
        (
            MOUNT,
            VOLUME,
            "ContainerCreating",
            'MountVolume.SetUp failed for volume "config" : configmap "settings" not found',
            "commit the ConfigMap settings as apps/{app}/configmap-settings.yaml, or: "
            "kubectl --namespace {namespace} create configmap settings …",
        ),
        (
            {},
            {"initContainers": [{"name": "init", "image": "registry.example/init:v1", **variable("configMap")}]},
            "Init:CreateContainerConfigError",
            'configmap "settings" not found',
            "commit the ConfigMap settings as apps/{app}/configmap-settings.yaml, or: "
            "kubectl --namespace {namespace} create configmap settings …",
        ),
        (
            {},
            {"nodeSelector": {"disk": "fast"}},
            "Unschedulable",
            "0/4 nodes are available: 4 node(s) didn't match Pod's node affinity/selector.",
            "",
        ),
    ],
    ids=["ConfigMap", "Secret", "volume", "init container", "node"],
)
def test_a_missing_object_is_named_with_what_to_do(
    shell: Cli, shop: App, container: dict[str, Any], pod: dict[str, Any], reason: str, message: str, advice: str
) -> None:
    push_with(shop, container, **pod)
    shop.wait(lambda: troubles(shell, shop) and len(troubles(shell, shop)[0]["pods"]) == 2, "both pods are in trouble")
    [trouble] = troubles(shell, shop)
    assert (trouble["reason"], trouble["message"]) == (reason, message)
    assert trouble["advice"] == advice.format(app=shop.key, namespace=shop.key.namespace)
    assert f"2 pods: {reason}: {message}" in shell("explain", str(shop.key))


def test_a_missing_key_is_named_with_what_to_do(shell: Cli, shop: App) -> None:
    namespace = shop.key.namespace
    path = collection("v1", "ConfigMap", namespace)
    shop.scenario.cluster.create(path, {"metadata": {"name": "settings"}, "data": {"another": "key"}})
    push_with(shop, variable("configMap"))
    shop.wait(lambda: troubles(shell, shop), "pods are in trouble")
    assert troubles(shell, shop)[0]["message"] == f"couldn't find key url in ConfigMap {namespace}/settings"
    wanted = "give the ConfigMap settings the key url, or correct the reference in the target"
    assert troubles(shell, shop)[0]["advice"] == wanted
    shop.scenario.cluster.patch(f"{path}/settings", {"data": {"url": "here"}})
    shop.wait_offered("v2")
    assert troubles(shell, shop) == []


def test_an_image_that_cannot_be_had_is_named_with_what_to_do(shell: Cli, shop: App) -> None:
    shop.push_image("bad")
    shop.wait(lambda: troubles(shell, shop), "pods are in trouble")
    assert troubles(shell, shop)[0]["reason"] == "ImagePullBackOff"
    assert f"gitops-bg set-image {shop.key} CONTAINER=IMAGE" in shell("explain", str(shop.key))


def test_the_tree_says_what_a_pod_waits_for(shell: Cli, shop: App) -> None:
    push_with(shop, variable("configMap"))
    shop.wait(lambda: troubles(shell, shop), "pods are in trouble")
    assert "CreateContainerConfigError" in shell("get", str(shop.key))
    assert 'configmap "settings" not found' in shell("get", str(shop.key))

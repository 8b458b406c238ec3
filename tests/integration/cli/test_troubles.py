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
    app.container, app.template = container, {}
    template = app.pod_template("v2")
    app.template = {"spec": template["spec"] | pod}
    app.push_image("v2")


def troubles(shell: Cli, app: App) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shell.json("explain", str(app.key))["troubles"]
    return found


MOUNT = {"volumeMounts": [{"name": "config", "mountPath": "/etc/web"}]}
VOLUME = {"volumes": [{"name": "config", "configMap": {"name": "settings"}}]}
UNMADE = 'configmap "settings" not found'
COMMIT = (
    "commit the {kind} settings as apps/{app}/{lower}-settings.yaml, or: "
    "kubectl --namespace {namespace} create {words} settings …"
)
MISSING: dict[str, tuple[dict[str, Any], dict[str, Any], str, str, str]] = {
    "ConfigMap": (variable("configMap"), {}, "CreateContainerConfigError", UNMADE, "configmap"),
    "Secret": (variable("secret"), {}, "CreateContainerConfigError", 'secret "settings" not found', "secret generic"),
    "volume": (
        MOUNT,
        VOLUME,
        "ContainerCreating",
        f'MountVolume.SetUp failed for volume "config" : {UNMADE}',
        "configmap",
    ),
    "init container": (
        {},
        {"initContainers": [{"name": "init", "image": "registry.example/init:v1", **variable("configMap")}]},
        "Init:CreateContainerConfigError",
        UNMADE,
        "configmap",
    ),
    "node": (
        {},
        {"nodeSelector": {"disk": "fast"}},
        "Unschedulable",
        "0/4 nodes are available: 4 node(s) didn't match Pod's node affinity/selector.",
        "",
    ),
}


def test_what_is_missing_is_named_with_what_to_do(shell: Cli, shop: App) -> None:
    """One target after the other: objects, a node, an image, and at last a key, which somebody then adds."""
    namespace, key = shop.key.namespace, str(shop.key)
    for of, (container, pod, reason, message, words) in MISSING.items():
        push_with(shop, container, **pod)

        def is_told(reason: str = reason, message: str = message) -> bool:
            told = [(each["reason"], each["message"], len(each["pods"])) for each in troubles(shell, shop)]
            return told == [(reason, message, 2)]

        shop.wait(is_told, f"both pods are in trouble: {of}")
        kind = "Secret" if of == "Secret" else "ConfigMap"
        advice = COMMIT.format(kind=kind, lower=kind.lower(), words=words, app=shop.key, namespace=namespace)
        assert troubles(shell, shop)[0]["advice"] == (advice if words else "")
        assert f"2 pods: {reason}: {message}" in shell("explain", key)
        if of == "ConfigMap":
            assert reason in shell("get", key)
            assert message in shell("get", key)

    shop.container, shop.template = {}, {}
    shop.push_image("bad")
    shop.wait(lambda: [each["reason"] for each in troubles(shell, shop)] == ["ImagePullBackOff"], "no image")
    assert f"gitops-bg set-image {key} CONTAINER=IMAGE" in shell("explain", key)

    path = collection("v1", "ConfigMap", namespace)
    shop.scenario.cluster.create(path, {"metadata": {"name": "settings"}, "data": {"another": "key"}})
    push_with(shop, variable("configMap"))
    without = f"couldn't find key url in ConfigMap {namespace}/settings"
    shop.wait(lambda: [each["message"] for each in troubles(shell, shop)] == [without], "the key is missing")
    wanted = "give the ConfigMap settings the key url, or correct the reference in the target"
    assert troubles(shell, shop)[0]["advice"] == wanted
    shop.scenario.cluster.patch(f"{path}/settings", {"data": {"url": "here"}})
    shop.wait_offered("v2")
    assert troubles(shell, shop) == []

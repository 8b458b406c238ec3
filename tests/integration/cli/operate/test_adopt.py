"""`gitops-bg adopt`: from a live Deployment to an app, on both clusters; what cannot be whole writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_bg.cli.commands.files.adopted_folder import authored
from gitops_bg.core import names
from tests.support import manifests
from tests.support.auxiliary_objects import hpa
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import collection, path_of, services
from tests.support.command_line import Cli
from tests.support.scenario import Scenario
from tests.support.waiting import eventually


def orders(world: Scenario, **container: Any) -> dict[str, Any]:
    """A Deployment and its Service, as their author writes them, live and ready."""
    made = manifests.deployment(world.namespace, "orders", tag="v1")
    made["spec"]["template"]["spec"]["containers"][0] |= container
    world.cluster.apply(made, manager="kubectl")
    world.cluster.apply(manifests.service(world.namespace, "orders", app="orders"), manager="kubectl")
    eventually(lambda: len(world.cluster.ready_addresses(world.namespace, "orders")) == 2, what="it serves")
    path = path_of(made)
    eventually(lambda: world.cluster.get(path)["status"].get("availableReplicas") == 2, what="and says so")
    return made


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "gitops-bg.yaml").write_text(f"apiVersion: {names.API_VERSION}\nkind: Settings\n")
    return folder


@pytest.fixture
def either_cli(either_world: Scenario, tmp_path: Path) -> Cli:
    return Cli(either_world.remote, either_world.cluster.kubeconfig, tmp_path)


def folder(world: Scenario, tree: Path) -> Path:
    return tree / "apps" / world.namespace / "orders"


def parsed(file: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(file.read_text()))


def test_a_live_app_becomes_a_folder_and_the_agent_takes_it_over(
    either_world: Scenario, either_cli: Cli, tree: Path
) -> None:
    world = either_world
    settings = manifests.config_map(world.namespace, "settings", color="blue")
    world.cluster.apply(settings, manager="kubectl")
    written = orders(world, envFrom=[{"configMapRef": {"name": "settings"}}])
    said = either_cli("adopt", f"{world.namespace}/orders", "--checkout", str(tree), "--scale-down", "progressively")
    assert "After the push:" in said
    assert f"+++ b/apps/{world.namespace}/orders/app.yaml" in said
    place = folder(world, tree)
    assert sorted(each.name for each in place.iterdir()) == [
        "app.yaml",
        "configmap-settings.yaml",
        "services.yaml",
        "target.yaml",
    ]
    assert parsed(place / "target.yaml") == [written]
    assert parsed(place / "configmap-settings.yaml") == [settings]
    assert "no problem" in either_cli("check", str(tree))

    files = {f"apps/{world.namespace}/orders/{each.name}": each.read_text() for each in place.iterdir()}
    world.start()
    world.publish("Adopt orders", files)
    app = world.app("orders")
    app.wait(lambda: app.condition("Adopting")["reason"] == "Adopted", "the app is adopted")
    live = world.cluster.get(f"{services(world.namespace)}/orders")
    assert names.DIGEST in live["spec"]["selector"]
    assert world.cluster.get(path_of(written))["spec"]["replicas"] == 0
    assert app.condition("Conflict")["status"] == "Absent"
    assert app.condition("ServicesInGit")["status"] == "Absent"


def test_a_dry_run_writes_nothing_and_prints_all_for_programs(world: Scenario, cli: Cli, tree: Path) -> None:
    orders(world)
    said = cli.json("adopt", f"{world.namespace}/orders", "--checkout", str(tree), "--dry-run")
    assert (said["app"], said["written"]) == (f"{world.namespace}/orders", False)
    assert len(said["plan"]) == 5
    assert next(iter(said["files"])) == f"apps/{world.namespace}/orders/app.yaml"
    assert not (tree / "apps").exists()


def test_what_cannot_be_whole_writes_nothing_and_says_every_reason(world: Scenario, cli: Cli, tree: Path) -> None:
    """What is live, what `check` would refuse of it (a Service of another app has the name), and what is there."""
    orders(world)
    world.cluster.apply(manifests.service(world.namespace, "orders-metrics", app="orders"))
    world.cluster.apply(manifests.service(world.namespace, "orders-preview", app="else"))
    folder(world, tree).mkdir(parents=True)
    other = tree / "apps" / world.namespace / "cart"
    other.mkdir(parents=True)
    web = world.app("cart")
    web.strategy["activeService"] = "orders"
    (other / "app.yaml").write_text(web.app_yaml())
    (other / "target.yaml").write_text(web.target_yaml("v1"))
    said = cli("adopt", f"{world.namespace}/orders", "--checkout", str(tree), code=1)
    assert said.count("error: ") == 6
    assert "is there already" in said
    assert said.count("its role is not clear") == 2
    assert "--preview" in said
    assert f"the Service orders belongs to {world.namespace}/cart already" in said
    assert "nothing was written" in said
    assert list(folder(world, tree).iterdir()) == []
    nobody = cli("adopt", f"{world.namespace}/nobody", "--checkout", str(tree / "none"), code=1)
    assert nobody.count("error: ") == 2
    assert "is no folder" in nobody
    assert "there is no Deployment" in nobody


REFUSED = {
    "no Deployment": ("nothing", 5, "there is no Deployment"),
    "a StatefulSet": ("db", 5, "but a StatefulSet: only a Deployment can be adopted"),
}


@pytest.mark.control_plane
@pytest.mark.parametrize("name", REFUSED)
def test_only_a_deployment_can_be_adopted(control_plane_cluster: TestCluster, tmp_path: Path, name: str) -> None:
    namespace = control_plane_cluster.namespace()
    template = manifests.deployment(namespace, "db")["spec"]
    stateful = {
        **manifests.deployment(namespace, "db"),
        "kind": "StatefulSet",
        "spec": {**template, "serviceName": "db"},
    }
    control_plane_cluster.apply(stateful)
    who, code, said = REFUSED[name]
    runs = Cli.__new__(Cli)
    runs.env, runs.printed = {"GITOPS_BG_KUBECONFIG": str(control_plane_cluster.kubeconfig), "COLUMNS": "240"}, set()
    assert said in runs("adopt", f"{namespace}/{who}", "--checkout", str(tmp_path), code=code)


def test_a_folder_that_is_there_is_not_touched(world: Scenario, cli: Cli, tree: Path) -> None:
    folder(world, tree).mkdir(parents=True)
    assert "is there already" in cli("adopt", f"{world.namespace}/orders", "--checkout", str(tree), code=1)
    assert "in which namespace?" in cli("adopt", "orders", "--checkout", str(tree), code=2)


# What an author writes, with every field that the server fills in around it.
FULL = {
    "initContainers": [{"name": "migrate", "image": "registry.example/migrate:1", "command": ["true"]}],
    "containers": [
        {
            "name": "web",
            "image": "registry.example/web:1",
            "ports": [{"name": "http", "containerPort": 8080}, {"name": "dns", "containerPort": 53, "protocol": "UDP"}],
            "env": [
                {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "MODE", "value": "live"},
            ],
            "resources": {"requests": {"cpu": "100m"}},
            "readinessProbe": {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 3},
            "livenessProbe": {"tcpSocket": {"port": 8080}},
            "volumeMounts": [{"name": "settings", "mountPath": "/etc/web"}],
        },
        {"name": "sidecar", "image": "registry.example/sidecar", "imagePullPolicy": "IfNotPresent"},
    ],
    "volumes": [
        {"name": "settings", "configMap": {"name": "settings"}},
        {"name": "all", "projected": {"sources": [{"secret": {"name": "token"}}]}},
    ],
    "terminationGracePeriodSeconds": 45,
    "serviceAccountName": "web",
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
    ],
}


def objects(namespace: str) -> Iterator[dict[str, Any]]:
    full = manifests.deployment(namespace, "web")
    full["spec"] |= {
        "minReadySeconds": 5,
        "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}, "type": "RollingUpdate"},
    }
    full["spec"]["template"]["spec"] = FULL
    yield full
    yield manifests.deployment(namespace, "small")
    plain = manifests.service(namespace, "plain", app="web")
    del plain["spec"]["ports"][0]["protocol"]
    yield plain
    headless = manifests.service(namespace, "headless", app="web")
    headless["spec"] |= {"clusterIP": "None", "ports": [{"name": "http", "port": 8080}]}
    yield headless
    yield manifests.config_map(namespace, "settings", color="blue")


def test_what_the_server_adds_is_left_out_and_what_the_author_wrote_stays(cluster: TestCluster, namespace: str) -> None:
    for written in objects(namespace):
        cluster.create(path_of(written).rpartition("/")[0], written)
        expected = {**written, "spec": {**written["spec"]}} if "spec" in written else written
        if written["kind"] == "Service":
            del expected["spec"]["selector"]
        assert authored(cluster.get(path_of(written))) == expected, written["metadata"]["name"]


def test_an_autoscaler_is_written_as_it_is(world: Scenario, cli: Cli, tree: Path) -> None:
    orders(world)
    made = hpa()
    made["metadata"] = {"name": "orders", "namespace": world.namespace}
    made["spec"]["scaleTargetRef"] = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "orders"}
    world.cluster.create(collection(made["apiVersion"], made["kind"], world.namespace), made)
    cli("adopt", f"{world.namespace}/orders", "--checkout", str(tree))
    (written,) = parsed(folder(world, tree) / "autoscaler.yaml")
    assert written["spec"] == made["spec"]
    (app,) = parsed(folder(world, tree) / "app.yaml")
    assert app["spec"]["autoscalerRef"] == {"kind": "HorizontalPodAutoscaler", "name": "orders"}


def test_a_live_app_is_given_back_and_adopted_anew_by_a_revert(
    either_world: Scenario, either_cli: Cli, tree: Path
) -> None:
    world = either_world
    written = orders(world)
    either_cli("adopt", f"{world.namespace}/orders", "--checkout", str(tree), "--scale-down", "progressively")
    place = folder(world, tree)
    world.start()
    world.publish("Adopt", {f"apps/{world.namespace}/orders/{each.name}": each.read_text() for each in place.iterdir()})
    app = world.app("orders")
    app.wait(lambda: app.condition("Adopting")["reason"] == "Adopted", "the app is adopted")

    before = world.remote.head()
    assert "+  release:" in either_cli("release", f"{world.namespace}/orders", "--dry-run")
    assert world.remote.head() == before
    said = either_cli.json("release", f"{world.namespace}/orders", "--reason", "back for now")
    assert (said["deployment"], said["changed"]) == ("orders", True)
    world.wake()
    app.wait(lambda: app.condition("Released")["status"] == "True", "it is released")
    service = world.cluster.get(f"{services(world.namespace)}/orders")
    assert service["spec"]["selector"] == {"app": "orders"}
    assert not service["metadata"].get("ownerReferences")
    assert names.BEFORE_ADOPTION not in (service["metadata"].get("annotations") or {})
    assert world.cluster.get(path_of(written))["spec"]["replicas"] == 2
    eventually(lambda: [each.replicas for each in app.versions().values()] == [0], what="our pods have gone")
    assert len(world.cluster.ready_addresses(world.namespace, "orders")) == 2

    app.revert(said["commit"])
    app.wait(lambda: names.DIGEST in _selector(world), "it is adopted anew")
    assert world.cluster.get(path_of(written))["spec"]["replicas"] in (0, 2)


def _selector(world: Scenario) -> dict[str, str]:
    return dict(world.cluster.get(f"{services(world.namespace)}/orders")["spec"]["selector"])


def test_what_cannot_be_given_back_is_not_committed(world: Scenario, cli: Cli) -> None:
    """The app began without a Deployment: its Service selected nothing else."""
    world.start()
    web = world.app().deploy("v1")
    before = world.remote.head()
    said = cli("release", str(web.key), code=1)
    assert f"Deployment {world.namespace}/web: does not exist" in said
    assert f"Service {world.namespace}/web: was not taken over" in said
    assert world.remote.head() == before

"""The kinds of workload that users bring: each is taken over, promoted and rolled back while people use it.

Six are adopted, a DaemonSet begins as an app of ours; one is given back in the end, and one gets another name. All at
once, through the Gateway of their namespace: the sandbox's, and Traefik in front of a real control plane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from gitops_bg.core import names
from gitops_bg.core.checks.scheduling import LATE
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.version import WorkloadKind
from tests.integration.traffic.conftest import GatewayCluster
from tests.integration.traffic.gateway_users import Load
from tests.integration.traffic.stage import stage
from tests.support import manifests
from tests.support.cluster.gateway_api import install_gateway_api, open_gateway
from tests.support.cluster.paths import pods
from tests.support.cluster.rawapi import Json
from tests.support.command_line import Cli
from tests.support.scenario import App, Scenario, scenario
from tests.support.sightings import Sightings
from tests.support.waiting import eventually, stretched

OLD, REPLICAS, DELAY = "v0", 2, 300
NOT_OURS = ""
"""Who answers where a pod carries no digest of ours: the Deployment that is adopted."""

Pod = Callable[[str, str], Json]
"""The spec of a pod from the name of its app and a tag."""


def container(app: str, tag: str, number: int = 8080, **changes: Any) -> Json:
    ports = [{"name": "http", "containerPort": number}]
    return {"name": "web", "image": f"registry.example/{app}:{tag}", "ports": ports, **changes}


def single(app: str, tag: str) -> Json:
    return {"containers": [container(app, tag)]}


def sidecar(app: str, tag: str) -> Json:
    """The Service leads to the proxy, which comes second."""
    proxy = {"name": "proxy", "image": "registry.example/proxy:1", "ports": [{"name": "proxy", "containerPort": 9000}]}
    return {"containers": [{**container(app, tag), "ports": []}, proxy]}


def prepared(app: str, tag: str) -> Json:
    """With an init container of the version's own."""
    migrate = {"name": "migrate", "image": f"registry.example/{app}-migrations:{tag}"}
    return {"initContainers": [migrate], "containers": [container(app, tag)]}


def renumbered(app: str, tag: str) -> Json:
    """The Service knows the port by its name, and the second version has another number behind it."""
    return {"containers": [container(app, tag, 8080 if tag != "v2" else 9090)]}


def on_the_host(app: str, tag: str) -> Json:
    """Two versions of two pods need four nodes."""
    ports = [{"name": "http", "containerPort": 8080, "hostPort": 8080}]
    return {"containers": [container(app, tag, ports=ports)]}


def spread(app: str, tag: str) -> Json:
    """Never two pods more on one node than on another."""
    even = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
    }
    return {"containers": [container(app, tag)], "topologySpreadConstraints": [even]}


KINDS: dict[str, tuple[Pod, str]] = {
    "single": (single, "http"),
    "sidecar": (sidecar, "proxy"),
    "prepared": (prepared, "http"),
    "renumbered": (renumbered, "http"),
    "on-host": (on_the_host, "http"),
    "spread": (spread, "http"),
}
"""By the name of an app: its pod, and the name of the port that its Service leads to."""


class Routed(App):
    """An app that people reach through the Gateway, by its name."""

    service_port = 80

    @property
    def path(self) -> str:
        return f"/{self.name}"

    @property
    def request(self) -> tuple[str, str]:
        """What its users send."""
        return self.path, ""

    def short(self, tag: str) -> str:
        return short(self.digest(tag))

    def route(self) -> Json:
        rule = {
            "matches": [{"path": {"type": "PathPrefix", "value": self.path}}],
            "backendRefs": [{"name": self.name, "port": self.service_port}],
        }
        return {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "HTTPRoute",
            "metadata": {"name": self.name, "namespace": self.scenario.namespace},
            "spec": {"parentRefs": [{"name": "public"}], "rules": [rule]},
        }


class OnEveryNode(Routed):
    """A DaemonSet; the agent makes its Service, by the port of its pods."""

    service_port = 8080

    def __init__(self, world: Scenario, name: str) -> None:
        super().__init__(world, name)
        self.workload = WorkloadKind.DAEMON_SET


class Brought(Routed):
    """An app of one of the kinds, which is adopted from a Deployment that serves already."""

    def __init__(self, world: Scenario, name: str) -> None:
        super().__init__(world, name)
        self.pod, self.port = KINDS[name]
        self.spec["adopt"] = {"deployment": name, "scaleDown": "progressively"}
        self.objects["service.yaml"] = self.service()

    def pod_template(self, tag: str) -> Json:
        return {"metadata": {"labels": {"app": self.name}}, "spec": self.pod(self.name, tag)}

    def service(self) -> Json:
        made = manifests.service(self.scenario.namespace, self.name, app=self.name)
        made["spec"]["ports"][0]["targetPort"] = self.port
        return made

    def deployment(self) -> Json:
        made = manifests.deployment(self.scenario.namespace, self.name, REPLICAS, OLD)
        made["spec"]["template"] = self.pod_template(OLD)
        return made


@contextmanager
def serving(gateway: GatewayCluster, folder: Path) -> Iterator[tuple[Scenario, list[Brought], Load, Sightings]]:
    """Six Deployments with their Services answer; the agent runs, and has not heard of them."""
    with scenario(gateway, folder) as world:
        install_gateway_api(gateway)
        open_gateway(gateway, world.namespace)
        apps = [Brought(world, name) for name in KINDS]
        for app in apps:
            gateway.apply(app.deployment(), manager="kubectl")
            gateway.apply(app.service(), manager="kubectl")
        load = Load(gateway.gateway_url(world.namespace, "public"), [app.request for app in apps], names.DIGEST)
        for app in apps:  # Traefik drops a whole Gateway for a route to a Service that has no pods yet.
            eventually(partial(gateway.ready_addresses, world.namespace, app.name), what=f"{app.name} has pods")
            gateway.apply(app.route(), manager="kubectl")
        load.until_answered()
        world.start()
        with Sightings(gateway, world.namespace) as seen, load.running():
            expect(load, apps, OLD)
            load.answers.clear()
            yield world, apps, load, seen


def is_adopted(app: App) -> bool:
    found = app.scenario.live(names.PLURAL, app.name)
    return bool(found) and app.condition("Adopting")["reason"] == "Adopted"


def expect(load: Load, apps: Sequence[Routed], tag: str) -> None:
    """From now on this version answers everybody, or what was there before ours."""
    wanted = {app.request: app.short(tag) if tag != OLD else NOT_OURS for app in apps}
    load.until(wanted)
    load.expect(wanted)


def answered(load: Load, app: Routed, before: float | None = None) -> set[str]:
    """Who answered requests for an app that were sent before some moment, or ever."""
    return {each.by for each in load.answers if each.path == app.path and (before is None or each.sent < before)}


def nodes_of(gateway: GatewayCluster, app: Routed, tag: str) -> list[str]:
    labels = ",".join(f"{key}={value}" for key, value in names.selector(app.key, app.digest(tag)).items())
    return [each["spec"]["nodeName"] for each in gateway.list(pods(app.key.namespace), labelSelector=labels)]


def waits_for_a_node(world: Scenario, app: Brought) -> None:
    """The version that was left is warm still, so that each node has a pod: it says so until those pods are gone."""
    app.wait(lambda: "v3" in app.versions() and app.versions()["v3"].replicas == REPLICAS, "its pods are wanted")
    world.advance(LATE.total_seconds())
    app.wait(lambda: app.condition("Progressing")["reason"] == "PodsUnschedulable", "it says what it waits for")
    assert "4 node(s) didn't have free ports" in app.condition("Progressing")["message"]
    world.advance(DELAY)


def add_on_every_node(gateway: GatewayCluster, world: Scenario, load: Load) -> OnEveryNode:
    """An app as a DaemonSet, with people who use it from now on."""
    app = OnEveryNode(world, "every-node")
    app.deploy("v1")
    gateway.apply(app.route(), manager="kubectl")
    load.until_answered(app.request)
    load.requests.append(app.request)
    expect(load, [app], "v1")
    return app


def give_back(load: Load, app: Brought) -> None:
    """Live traffic goes back to the Deployment that the app was adopted from."""
    app.spec["release"] = {"deployment": app.name}
    app.configure()
    app.wait(lambda: app.condition("Released")["status"] == "True", "it is released")
    app.wait_told("released")
    expect(load, [app], OLD)
    app.wait(lambda: not any(each.replicas for each in app.versions().values()), "our pods have gone")


def rename(world: Scenario, app: Brought, name: str, folder: Path) -> None:
    """By `gitops-bg move`; the Service keeps its name, and whoever uses it notices nothing."""
    new = world.app(name)
    world.pull()
    cli = Cli(world.remote, world.cluster.kubeconfig, folder)
    cli("move", str(app.key), str(new.key), "--checkout", str(world.remote.clone))
    world.remote.run("add", "--all", "apps")
    world.remote.commit(f"Call {app.name} {name}")
    world.push()
    new.wait(partial(is_adopted, new), "the Service is taken over")

    def is_over() -> bool:
        world.advance(DELAY + 1)
        return world.live(names.PLURAL, app.name) is None

    eventually(is_over, what="the former app is gone")


def test_every_kind_is_taken_over_promoted_rolled_back_and_moved_without_a_lost_request(
    gateway: GatewayCluster, tmp_path: Path
) -> None:
    with serving(gateway, tmp_path) as (world, adopted, load, seen):
        for app in adopted:
            app.add("v1")
        for app in adopted:
            app.wait(partial(is_adopted, app), "the adoption is over")
        expect(load, adopted, "v1")
        lag = stretched(0.5)  # of the watch that saw it move
        for app in adopted:
            assert answered(load, app, before=seen.taken_over_at(app.name) - lag) <= {NOT_OURS}, app.name
        apps = [*adopted, add_on_every_node(gateway, world, load)]

        merges = {}
        for app in apps:
            app.push_image("v2")
        for app in apps:
            app.wait_offered("v2")
            assert app.short("v2") not in answered(load, app), f"{app.name}: nobody has promoted it"
        for app in apps:
            merges[app] = app.merge_offer()
        for app in apps:
            app.wait_live("v2")
        expect(load, apps, "v2")
        for app in adopted:
            if app.pod in (on_the_host, spread):
                assert len(set(nodes_of(gateway, app, "v2"))) == REPLICAS, f"{app.name} is on one node"

        for app in apps:
            app.revert(merges[app])
        for app in apps:
            app.wait_live("v1")
        expect(load, apps, "v1")
        for app in apps:
            app.push_image("v3")
        for app in adopted:
            if app.pod is on_the_host:
                waits_for_a_node(world, app)
        for app in apps:
            app.wait_preview("v3")
        expect(load, apps, "v1")

        single_one, with_proxy, *others = adopted
        give_back(load, single_one)
        rename(world, with_proxy, "proxied", tmp_path)
        expect(load, [with_proxy, *others], "v1")
        for app in apps:
            before = {NOT_OURS} if app in adopted else set()
            assert answered(load, app) == before | {app.short("v1"), app.short("v2")}, app.name
            seen.assert_traffic_was_safe(app.name)
    failed = [each for each in load.answers if each.status != 200]
    assert not failed
    assert len(load.answers) > 500


def test_a_daemon_set_is_promoted_and_rolled_back_without_a_lost_request(tmp_path: Path) -> None:
    """The seventh kind, which is not adopted: on fresh and on kept connections, also to pods that go."""
    with stage(tmp_path) as on:
        on.world.start()
        on.web.workload = "DaemonSet"
        on.web.strategy["scaleDownDelaySeconds"] = DELAY
        on.web.deploy("v1")
        on.load.start()
        merge = on.web.promote("v2")
        on.wait_used("v2")
        on.judge("promotion", 0)
        on.world.advance(DELAY + 1)
        on.web.wait(lambda: not on.web.versions()["v1"].available, "v1 is taken off its nodes")
        mark = len(on.load)
        on.web.revert(merge)
        on.web.wait_live("v1")
        on.web.wait_told("rolled-back")
        on.judge("revert to a version on no node", mark)

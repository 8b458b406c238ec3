"""The kinds of workload that users bring, as apps which people reach through a Gateway; and what becomes of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gitops_bg.core import names
from gitops_bg.core.model.version import WorkloadKind, short
from tests.support import manifests
from tests.support.cluster.rawapi import Json
from tests.support.scenario import App, Scenario

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


class Kind(NamedTuple):
    """A kind of workload, and what becomes of the app that is one."""

    pod: Pod
    port: str
    """The name of the port that its Service leads to."""
    scale_down: str
    """``adopt.scaleDown``."""
    end: str
    """``release``, ``move``, or the ``deletionPolicy`` of a folder that leaves main."""


KINDS = {
    "single": Kind(single, "http", "progressively", "release"),
    "sidecar": Kind(sidecar, "proxy", "onSuccess", "move"),
    "prepared": Kind(prepared, "http", "never", "revertToTarget"),
    "renumbered": Kind(renumbered, "http", "onSuccess", "orphan"),
    "on-host": Kind(on_the_host, "http", "progressively", "delete"),
    "spread": Kind(spread, "http", "never", "keep"),
}
"""By the name of an app."""

IN_ARGO_CD = ("prepared", "renumbered")
"""The Services that stay in Argo CD, by the recipe of docs/how-to/argo-cd-and-flux.md."""

GOES_BACK = {"release", "revertToTarget"}
"""The ends that give live traffic back to the Deployment that the app was adopted from."""


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
        self.pod, self.port, self.scale_down, self.end = KINDS[name]
        self.spec["adopt"] = {"deployment": name, "scaleDown": self.scale_down}
        if self.end not in ("release", "move"):
            self.spec["deletionPolicy"] = self.end
        self.objects["service.yaml"] = self.service()

    def pod_template(self, tag: str) -> Json:
        return {"metadata": {"labels": {"app": self.name}}, "spec": self.pod(self.name, tag)}

    def service(self) -> Json:
        made = manifests.service(self.scenario.namespace, self.name, app=self.name)
        made["spec"]["ports"][0]["targetPort"] = self.port
        return made

    def of_a_chart(self, team: str = "") -> Json:
        """Its Service as another tool's repository has it, which changes with ``team``."""
        made = self.service()
        labels = {names.MANAGED_BY: "Helm", "app.kubernetes.io/name": self.name}
        made["metadata"] |= {"labels": labels, "annotations": {"team": team}}
        return made

    def deployment(self) -> Json:
        made = manifests.deployment(self.scenario.namespace, self.name, REPLICAS, OLD)
        made["spec"]["template"] = self.pod_template(OLD)
        return made

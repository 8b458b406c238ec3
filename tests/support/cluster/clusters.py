"""The two clusters that tests run against, behind one face: the sandbox and a real control plane (DESIGN §9).

A test that takes the fixture `cluster` runs on both, so that the sandbox cannot drift from the truth. Everything
here is the tests' own view, as an administrator; the code under test gets `kubeconfig` and nothing else.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import urllib3
import yaml

from tests.support.cluster.control_plane import ControlPlane
from tests.support.cluster.kubelet import Kubelet
from tests.support.cluster.paths import collection, path_of, services
from tests.support.cluster.pod_servers import PodServers
from tests.support.cluster.rawapi import APPLY, JSON, USER_AGENT, Json, RawApi, decoded, target_of
from tests.support.growing_files import GrowingFile
from tests.support.waiting import HANGS, PATIENCE, eventually

if TYPE_CHECKING:
    from gitops_bg.sandbox import Sandbox

DEPLOY = Path(__file__).parents[3] / "deploy"
_OWN_AGENTS = (USER_AGENT, "kubelet")
_WRITING = {"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE", "deletecollection": "DELETE"}
_WORKED_ON = (
    ("gitops-bg.dev/v1alpha1", "BlueGreenDeployment"),
    ("gitops-bg.dev/v1alpha1", "ReleaseGroup"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "DaemonSet"),
    ("batch/v1", "Job"),
    ("v1", "Pod"),
)


@functools.cache
def our_definitions() -> tuple[Json, ...]:
    """The CustomResourceDefinitions of our kinds, as they are deployed. Nobody may change them."""
    files = (DEPLOY / name for name in ("crd.yaml", "crd-releasegroups.yaml"))
    return tuple(yaml.load(file.read_text(), yaml.CSafeLoader) for file in files)


class Write(NamedTuple):
    """One write that the API server was asked for by the code under test or by kubectl."""

    agent: str  # the User-Agent
    method: str  # POST, PUT, PATCH or DELETE
    path: str  # without the query
    status: int  # the HTTP code of the answer


class TestCluster(RawApi):
    """What both clusters can do. `get`, `list`, `create`, `patch`, `watch` … come from RawApi."""

    __test__ = False
    name: str

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        super().__init__(kubeconfig)
        self.kubeconfig = kubeconfig
        self.folder = folder
        self.namespaces: set[str] = set()
        self._preferred: dict[str, str] = {}
        self._knows_us = False

    def namespace(self) -> str:
        """Make a namespace with a name that nobody else has. What a test makes is forgotten at its end."""
        name = f"t-{uuid.uuid4().hex[:10]}"
        self.create("/api/v1/namespaces", {"metadata": {"name": name}})
        self.namespaces.add(name)
        return name

    def forget(self, namespace: str) -> None:
        """Let go of a test's namespace, without waiting: nothing that is in it is worked on from now on."""
        self.namespaces.discard(namespace)
        self._delete_content(namespace)

    def _delete_content(self, namespace: str) -> None:
        self.request("DELETE", f"/api/v1/namespaces/{namespace}")

    heard: Callable[[], int] | None = None
    """Where that costs nothing: a number that changes with every object (see `eventually`)."""

    def apply(self, manifest: Json, *, manager: str = "tests", force: bool = True) -> Json:
        """Server-side apply; the path follows from the manifest."""
        return self.patch(path_of(manifest), manifest, APPLY, fieldManager=manager, force="true" if force else "false")

    def kubectl(self, *arguments: str, input: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run the real kubectl against this cluster; never raises, see `returncode` and `stderr`."""
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "KUBECONFIG": str(self.kubeconfig)}
        return subprocess.run(
            ["kubectl", *arguments], input=input, env=env, capture_output=True, text=True, timeout=HANGS
        )

    def install_our_kind(self) -> None:
        """Install BlueGreenDeployment and ReleaseGroup, once for each cluster."""
        if not self._knows_us:
            for definition in our_definitions():
                self.install_crd(definition)
            self._knows_us = True

    def install_crd(self, manifest: Json) -> None:
        """Apply a CustomResourceDefinition and wait until the API server serves it."""
        self.apply(manifest)
        self.await_crd(manifest)

    def await_crd(self, manifest: Json) -> None:
        """Wait until the API server serves the kind of a CustomResourceDefinition that is there."""
        path, spec = path_of(manifest), manifest["spec"]

        def is_served() -> bool:
            conditions = self.get(path).get("status", {}).get("conditions") or []
            established = any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
            resources = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
            return established and self.request("GET", resources)[0] == 200

        eventually(is_served, what=f"{manifest['metadata']['name']} is served")

    def endpoint_slices(self, namespace: str) -> str:
        """The path of the EndpointSlices, in the version that this cluster has (1.20 has v1beta1 only)."""
        return collection(self.preferred("discovery.k8s.io"), "EndpointSlice", namespace)

    def preferred(self, group: str) -> str:
        """The group with the version that this cluster prefers, as an apiVersion."""
        if group not in self._preferred:
            self._preferred[group] = self.get(f"/apis/{group}")["preferredVersion"]["groupVersion"]
        return self._preferred[group]

    def ready_addresses(self, namespace: str, service: str) -> set[str]:
        """The addresses that a Service sends traffic to, by its EndpointSlices."""
        slices = self.list(self.endpoint_slices(namespace), labelSelector=f"kubernetes.io/service-name={service}")
        return {
            address
            for each in slices
            for endpoint in each.get("endpoints") or []
            if endpoint.get("conditions", {}).get("ready", True)
            for address in endpoint["addresses"]
        }

    def add_ready_endpoint(self, namespace: str, service: str, pod: Json | None = None) -> str:
        """Have a Service lead to a ready pod that no controller knows; returns the path of its EndpointSlice."""
        endpoint = {"addresses": ["10.0.0.1"], "conditions": {"ready": True}, **({"targetRef": pod} if pod else {})}
        metadata = {"name": f"{service}-by-hand", "labels": {"kubernetes.io/service-name": service}}
        path = self.endpoint_slices(namespace)
        self.create(path, {"metadata": metadata, "addressType": "IPv4", "endpoints": [endpoint], "ports": []})
        return f"{path}/{service}-by-hand"

    def watch_until(self, path: str, predicate: Callable[[list[Json]], bool], timeout: float = PATIENCE) -> list[Json]:
        """Follow a collection until its objects (by name, sorted) fulfil the predicate; returns them then."""
        first = self.get(path)
        seen = {each["metadata"]["name"]: each for each in first["items"]}
        objects = [seen[name] for name in sorted(seen)]
        if predicate(objects):
            return objects
        with self.watch(path, seconds=timeout, resourceVersion=first["metadata"]["resourceVersion"]) as events:
            for event in events:
                name = event["object"].get("metadata", {}).get("name")
                if event["type"] == "DELETED":
                    seen.pop(name, None)
                elif event["type"] in {"ADDED", "MODIFIED"}:
                    seen[name] = event["object"]
                objects = [seen[name] for name in sorted(seen)]
                if predicate(objects):
                    return objects
        raise AssertionError(f"not within {timeout} s on {path}; last: {json.dumps(objects, indent=1)[:4000]}")

    def set_ready(self, namespace: str, selector: Mapping[str, str], ready: bool) -> None:
        """Make the existing pods with these labels ready or unready, until further notice."""
        raise NotImplementedError

    def expire_history(self) -> None:
        """Forget old changes, where the cluster can be told to; a watch from back then is 410 Gone."""

    def writes(self) -> list[Write]:
        """Every write so far but those of the tests themselves and of the cluster's own controllers.

        Refused ones too; dry runs not. On the sandbox `sandbox.requests.clear` starts the count anew.
        """
        raise NotImplementedError


class ControlPlaneCluster(TestCluster):
    """The real API server and controllers, with our stand-in for the kubelet."""

    name = "control-plane"

    def __init__(self, control_plane: ControlPlane, kubelet: Kubelet, folder: Path) -> None:
        super().__init__(control_plane.kubeconfig, folder)
        self.control_plane = control_plane
        self.kubelet = kubelet
        self._audit_log = GrowingFile(control_plane.audit_log)
        self._audit: list[Json] = []

    @classmethod
    @contextmanager
    def run(
        cls,
        binaries: Path,
        folder: Path,
        servers: PodServers | None = None,
        *,
        with_gates: bool = True,
        beside: ControlPlane | None = None,
    ) -> Iterator[Self]:
        """Start everything (about four seconds), and stop it at the end; ``servers`` answer for the pods. Without gates
        an old release has those features only that it is shipped with. With ``beside`` there is no etcd of its own.
        """
        running = ControlPlane(binaries, folder, with_gates=with_gates, beside=beside)
        with running as control_plane, Kubelet(control_plane.kubeconfig, servers=servers) as kubelet:
            cluster = cls(control_plane, kubelet, folder)
            with contextlib.closing(cluster):
                yield cluster

    @functools.cached_property
    def minor(self) -> int:
        """The release of Kubernetes: 20 of 1.20."""
        return int(self.get("/version")["minor"].rstrip("+"))

    def _delete_content(self, namespace: str) -> None:
        """Delete what controllers, kubelet and agents work on. The namespace stays: its end costs three times as much.

        The namespace controller looks for objects of every kind that there is.
        """
        for group, kind in _WORKED_ON:
            self.request("DELETE", collection(group, kind, namespace), propagationPolicy="Background")
        policy, autoscaling = self.preferred("policy"), self.preferred("autoscaling")
        self.request("DELETE", collection(policy, "PodDisruptionBudget", namespace))
        self.request("DELETE", collection(autoscaling, "HorizontalPodAutoscaler", namespace))
        for service in self.list(services(namespace)):  # has no deletion of all before Kubernetes 1.23
            self.request("DELETE", f"{services(namespace)}/{service['metadata']['name']}")

    def set_ready(self, namespace: str, selector: Mapping[str, str], ready: bool) -> None:
        self.kubelet.set_ready(namespace, selector, ready)

    def refusals(self, namespace: str) -> set[tuple[str, str, str]]:
        """Group, resource with its subresource, and verb of what was refused for want of a right in a namespace."""
        asked = ((each["objectRef"], each["verb"]) for each in self._audited() if _code(each) == 403)
        return {(*_named(what), verb) for what, verb in asked if what.get("namespace") == namespace}

    def acting(self, namespace: str) -> set[tuple[str, str]]:
        """Resource, and whose rights counted, of allowed requests of a ServiceAccount about an object of a namespace.

        A request that may not impersonate is refused before the server knows for whom it was: it tells nothing here.
        """
        return {
            (each["objectRef"]["resource"], each.get("impersonatedUser", each["user"])["username"])
            for each in self._audited()
            if "system:serviceaccounts" in each["user"].get("groups", ())
            and each.get("objectRef", {}).get("namespace") == namespace
            and each["verb"] not in ("list", "watch")
            and _code(each) != HTTPStatus.FORBIDDEN
        }

    def requests(self, user: str, namespace: str) -> int:
        """How many requests a ServiceAccount has made about what is in a namespace; its watches are none."""
        return sum(
            each["verb"] != "watch"
            and each["user"]["username"] == user
            and each.get("objectRef", {}).get("namespace") == namespace
            for each in self._audited()
        )

    def _audited(self) -> list[Json]:
        self._audit.extend(map(json.loads, self._audit_log.lines()))
        return self._audit

    def writes(self) -> list[Write]:
        return [
            Write(each.get("userAgent", ""), _WRITING[each["verb"]], _path(each), _code(each))
            for each in self._audited()
            if each["stage"] == "ResponseComplete"
            and each["verb"] in _WRITING
            and each.get("userAgent") not in _OWN_AGENTS
            and "dryRun=All" not in each["requestURI"]
        ]


class SandboxCluster(TestCluster):
    """The sandbox of gitops_bg, in this process; `sandbox` gives access to its faults and traffic."""

    name = "sandbox"
    gateway_lags = False
    """Its router reads routes at each request, so what the agent says of them is so for users at that moment."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        super().__init__(sandbox.kubeconfig(folder / "kubeconfig"), folder)
        self.sandbox = sandbox
        self._read_headers = {name.lower(): value for name, value in self._headers.items()}

    @classmethod
    @contextmanager
    def run(
        cls, folder: Path, ready_after: float = 0.0, traffic: bool = False, route_delay: float = 0.0
    ) -> Iterator[SandboxCluster]:
        """Start a sandbox of one's own, and stop it at the end."""
        from gitops_bg.sandbox import Sandbox

        with Sandbox(ready_after=ready_after, traffic=traffic, route_delay=route_delay) as sandbox:
            for number in range(2, 5):  # as many nodes as the stand-in for the kubelet plays
                sandbox.add_node(f"node-{number}")
            cluster = cls(sandbox, folder)
            with contextlib.closing(cluster):
                yield cluster

    def request(
        self, method: str, path: str, body: Any = None, *, content_type: str = JSON, **query: str
    ) -> tuple[int, Json]:
        """As over HTTP. A read comes in behind the wire: a test looks often, and HTTP costs more than the answer."""
        if method != "GET" or body is not None:
            return super().request(method, path, body, content_type=content_type, **query)
        answer = self.sandbox.read(target_of(path, query), self._read_headers)
        if answer is None:
            raise urllib3.exceptions.ProtocolError("the sandbox cut the connection")
        return answer.status, decoded(answer.body)

    def heard(self) -> int:
        return self.sandbox.version

    def set_ready(self, namespace: str, selector: Mapping[str, str], ready: bool) -> None:
        self.sandbox.kubelet.set_ready(namespace, dict(selector), ready)

    def gateway_url(self, namespace: str, name: str) -> str:
        """Where people reach a Gateway."""
        return self.sandbox.gateway_url(namespace, name)

    def expire_history(self) -> None:
        self.sandbox.faults.expire_history()

    def writes(self) -> list[Write]:
        return [
            Write(each.user_agent, _WRITING[each.verb], each.path, each.status)
            for each in self.sandbox.requests.writes()
            if each.user_agent not in _OWN_AGENTS
        ]


def _named(reference: Json) -> tuple[str, str]:
    subresource = reference.get("subresource")
    resource = str(reference["resource"]) + (f"/{subresource}" if subresource else "")
    return str(reference.get("apiGroup", "")), resource


def _path(event: Json) -> str:
    return str(event["requestURI"]).partition("?")[0]


def _code(event: Json) -> int:
    return int(event.get("responseStatus", {}).get("code", 0))

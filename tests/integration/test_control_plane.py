"""The real control plane of the tests keeps its promises: it knows who asks, and it leaves nothing behind."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import urllib3

from tests.support import manifests
from tests.support.cluster import control_plane
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.cluster.paths import config_maps, path_in, pods
from tests.support.cluster.rawapi import Json, RawApi
from tests.support.waiting import eventually


def allow_reading(namespace: str, subject: Json) -> list[Json]:
    """A Role that reads ConfigMaps, bound to the subject."""
    group = "rbac.authorization.k8s.io"
    metadata = {"name": "reader", "namespace": namespace}
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}]
    role = {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": metadata, "rules": rules}
    reference = {"apiGroup": group, "kind": "Role", "name": "reader"}
    binding = {"apiVersion": f"{group}/v1", "kind": "RoleBinding", "metadata": metadata}
    return [role, {**binding, "roleRef": reference, "subjects": [subject]}]


@pytest.mark.control_plane
@pytest.mark.parametrize("taken", [0, 2], ids=["etcd", "kube-apiserver"])
def test_a_port_that_somebody_takes_before_it_is_used_costs_a_second_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    binaries = control_plane.assets()
    assert binaries is not None
    with socket.socket() as somebody:
        somebody.bind(("127.0.0.1", 0))
        somebody.listen()
        ports = control_plane.free_ports(3)
        ports[taken] = somebody.getsockname()[1]
        first, real = [ports], control_plane.free_ports
        monkeypatch.setattr(control_plane, "free_ports", lambda count: first.pop() if first else real(count))
        with control_plane.ControlPlane(binaries, tmp_path) as started:
            assert not first
            assert str(somebody.getsockname()[1]) not in started.url


@pytest.mark.control_plane
@pytest.mark.parametrize("who", ["service account", "user", "group"])
def test_an_identity_has_the_rights_it_was_given_and_no_others(
    control_plane_cluster: ControlPlaneCluster, who: str
) -> None:
    cluster = control_plane_cluster
    namespace = cluster.namespace()
    if who == "service account":
        kubeconfig = cluster.control_plane.service_account(namespace, "agent")
        subject: Json = {"kind": "ServiceAccount", "name": "agent", "namespace": namespace}
    else:
        kubeconfig = cluster.control_plane.user(f"jane-{namespace}", (f"readers-{namespace}",))
        name = f"jane-{namespace}" if who == "user" else f"readers-{namespace}"
        subject = {"kind": who.capitalize(), "name": name, "apiGroup": "rbac.authorization.k8s.io"}
    with contextlib.closing(RawApi(kubeconfig)) as api:
        assert api.request("GET", config_maps(namespace))[0] == 403
        for manifest in allow_reading(namespace, subject):
            cluster.apply(manifest)
        eventually(lambda: api.request("GET", config_maps(namespace))[0] == 200, what="the right arrives")
        assert api.request("POST", config_maps(namespace), manifests.config_map(namespace))[0] == 403


@pytest.mark.control_plane
def test_writes_of_others_are_counted_and_those_of_the_tests_are_not(
    control_plane_cluster: ControlPlaneCluster,
) -> None:
    cluster = control_plane_cluster
    namespace = cluster.namespace()
    before = len(cluster.writes())
    cluster.create(config_maps(namespace), manifests.config_map(namespace))
    assert cluster.writes()[before:] == []
    with contextlib.closing(RawApi(cluster.kubeconfig, user_agent="someone-else")) as api:
        api.get(f"{config_maps(namespace)}/one")
        api.patch(f"{config_maps(namespace)}/one", {"data": {"a": "1"}})
    (write,) = cluster.writes()[before:]
    assert (write.agent, write.method, write.status) == ("someone-else", "PATCH", 200)
    assert write.path == f"{config_maps(namespace)}/one"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
def test_a_leashed_process_dies_with_its_parent() -> None:
    program = (
        "import subprocess, sys\n"
        "from tests.support.agent.leash import leashed\n"
        "child = subprocess.Popen(leashed(['/bin/sleep', '60']))\n"
        "print(child.pid, flush=True)\n"
        "child.wait()\n"
    )
    root = str(Path(__file__).parents[2])
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=root) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        eventually(lambda: b"sleep" in Path(f"/proc/{child}/cmdline").read_bytes(), what="it became sleep")
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    eventually(lambda: not is_alive(child), what="the child is gone")


def is_alive(process: int) -> bool:
    """Whether a process runs; a zombie that nobody has reaped yet does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.control_plane
@pytest.mark.parametrize("trouble", ["broken connection", "conflict"])
def test_its_kubelet_tries_again_what_did_not_get_through(
    control_plane_cluster: ControlPlaneCluster, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    cluster = control_plane_cluster
    namespace = cluster.namespace()
    api = cluster.kubelet.api
    request, failed = api.request, set[str]()

    def fail_once(method: str, path: str, *arguments: Any, **options: Any) -> tuple[int, Json]:
        if f"/{namespace}/" not in path or method not in {"PATCH", "DELETE"} or method in failed:
            return request(method, path, *arguments, **options)
        failed.add(method)
        if trouble == "conflict":
            return 409, {}
        raise urllib3.exceptions.ProtocolError("Connection aborted.")

    monkeypatch.setattr(api, "request", fail_once)
    containers = [{"name": "web", "image": "registry.example/web:v1"}]
    cluster.create(pods(namespace), {"metadata": {"name": "web"}, "spec": {"containers": containers}})
    cluster.watch_until(pods(namespace), lambda found: found[0].get("status", {}).get("phase") == "Running")
    cluster.delete(path_in(namespace, "Pod", "web"))
    cluster.watch_until(pods(namespace), lambda found: not found)
    assert failed == {"PATCH", "DELETE"}

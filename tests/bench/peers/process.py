"""A controller in a process of its own, with all rights, as a ServiceAccount of its own; and what it has used."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.bench.peers.given import definitions
from tests.support.agent.leash import leashed
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.cluster.paths import collection, custom_resource_definitions

NAMESPACE = "controllers"
_RBAC = "rbac.authorization.k8s.io/v1"
_QUIET = 1.5
"""Seconds without a request after which nothing is left to do; Events are sent within one."""


def account(cluster: ControlPlaneCluster, name: str) -> tuple[Path, str]:
    """A kubeconfig for a ServiceAccount that may do all, and its name in the audit log, which has all its requests."""
    cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    kubeconfig = cluster.control_plane.service_account(NAMESPACE, name)
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    subject = {"kind": "ServiceAccount", "namespace": NAMESPACE, "name": name}
    binding = {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]}
    cluster.create(collection(_RBAC, "ClusterRoleBinding"), binding)
    return kubeconfig, f"system:serviceaccount:{NAMESPACE}:{name}"


def install(cluster: ControlPlaneCluster, folder: Path) -> None:
    """Install the kinds of a peer's folder.

    Created, not applied: the 1.20 of the tests drops what it does not know of a newer definition, but applies no such.
    """
    found = definitions(folder)
    for each in found:
        cluster.create(custom_resource_definitions(), each)
    for each in found:
        cluster.await_crd(each)


@contextmanager
def controller(command: Sequence[str], log: Path) -> Iterator[int]:
    """Run a command; its process id. It ends at the end, and with this process."""
    # Servers from 1.32 on can send lists as a watch; clients of that age wait for it on the 1.20 of the tests.
    environment = {**os.environ, "KUBE_FEATURE_WatchListClient": "false"}
    with log.open("ab") as output:
        process = subprocess.Popen(
            leashed(list(command)), stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
        )
    try:
        yield process.pid
    finally:
        if process.poll() is not None:
            raise RuntimeError(f"{command[0]} ended with {process.returncode}\n{log.read_text()[-4000:]}")
        process.kill()
        process.wait()


def wait_for_quiet(cluster: ControlPlaneCluster, user: str, namespace: str) -> None:
    """Wait until a controller has asked for nothing in a namespace for a while."""
    before, since = cluster.requests(user, namespace), time.monotonic()
    while time.monotonic() - since < _QUIET:
        time.sleep(0.1)
        asked = cluster.requests(user, namespace)
        if asked != before:
            before, since = asked, time.monotonic()

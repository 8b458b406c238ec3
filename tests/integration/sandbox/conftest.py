"""What the tests of the sandbox share: a sandbox of one's own, and a plain HTTP client for it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3

from gitops_bg.sandbox import Sandbox
from tests.support.waiting import HANGS

Json = dict[str, Any]
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
REPLICA_SETS = "/apis/apps/v1/namespaces/shop/replicasets"
SERVICES = "/api/v1/namespaces/shop/services"
CONFIG_MAPS = "/api/v1/namespaces/shop/configmaps"
PODS = "/api/v1/namespaces/shop/pods"


class Client:
    """A user of the API that sees status codes and bodies as they are."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.pool = urllib3.PoolManager(maxsize=8, retries=False)

    def __call__(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> tuple[int, Json]:
        headers = {"Content-Type": kind, "User-Agent": "test/1"}
        data = None if body is None else json.dumps(body)
        answer = self.pool.request(method, self._sandbox.url + path, body=data, headers=headers, timeout=10)
        return answer.status, json.loads(answer.data)

    def watch(self, path: str) -> Iterator[Json]:
        """Yield the events of a watch until it ends."""
        answer = self.pool.request("GET", self._sandbox.url + path, preload_content=False, timeout=10)
        try:
            for line in answer:
                yield json.loads(line)
        finally:
            answer.close()


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A sandbox with the namespace `shop`, whose pods are ready at once."""
    with Sandbox(ready_after=0) as running:
        running.create_namespace("shop")
        yield running


@pytest.fixture
def api(sandbox: Sandbox) -> Iterator[Client]:
    """A client of the sandbox."""
    client = Client(sandbox)
    yield client
    client.pool.clear()


def replica_set(name: str, image: str = "web:1", replicas: int = 1) -> Json:
    """A ReplicaSet whose pods carry the label `version: <name>`."""
    labels = {"version": name}
    pod = {"containers": [{"name": "web", "image": image, "ports": [{"containerPort": 80}]}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def service(name: str, version: str) -> Json:
    """A Service that selects the pods of the ReplicaSet named `version`."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"selector": {"version": version}, "ports": [{"port": 80}]},
    }


def config_map(name: str, **data: str) -> Json:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def ready_replicas(sandbox: Sandbox, name: str) -> int:
    """How many pods of a ReplicaSet its status counts as ready."""
    found = [obj for obj in sandbox.objects("apps/v1", "ReplicaSet", "shop") if obj["metadata"]["name"] == name]
    return int(found[0]["status"].get("readyReplicas", 0)) if found else 0


Kubectl = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def kubectl(sandbox: Sandbox, tmp_path: Path) -> Kubectl:
    """Run the real kubectl in the namespace `shop`; `fails=True` where it is to be refused."""
    binary = shutil.which("kubectl")
    if binary is None:
        pytest.skip("needs kubectl on the PATH: https://kubernetes.io/docs/tasks/tools/")
    config = sandbox.kubeconfig(tmp_path / "kubeconfig")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": str(config)}

    def run(*arguments: str, manifest: Json | None = None, fails: bool = False) -> subprocess.CompletedProcess[str]:
        text = None if manifest is None else json.dumps(manifest)
        command = [binary, "--namespace", "shop", *arguments]
        done = subprocess.run(command, input=text, env=environment, capture_output=True, text=True, timeout=HANGS)
        assert (done.returncode != 0) == fails, done.stderr
        return done

    return run

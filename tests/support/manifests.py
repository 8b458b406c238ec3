"""The smallest manifests that a test of a cluster needs."""

from __future__ import annotations

from tests.support.cluster.rawapi import Json


def config_map(namespace: str, name: str = "one", labels: dict[str, str] | None = None, **data: str) -> Json:
    """A ConfigMap, the plainest of objects."""
    metadata: Json = {"name": name, "namespace": namespace}
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def service(namespace: str, name: str = "web", **selector: str) -> Json:
    """A Service on port 80."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "selector": selector,
            "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}],
        },
    }


def deployment(namespace: str, name: str = "web", replicas: int = 2, tag: str = "v0", **labels: str) -> Json:
    """A Deployment whose pods carry the label `app` with its name, or other ones, and serve on port 8080."""
    carried = labels or {"app": name}
    ports = [{"name": "http", "containerPort": 8080}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": carried},
            "template": {
                "metadata": {"labels": carried},
                "spec": {"containers": [{"name": "web", "image": f"registry.example/{name}:{tag}", "ports": ports}]},
            },
        },
    }


def replica_set(
    namespace: str, name: str = "web", replicas: int = 1, image: str = "registry.example/web:v1", **spec: object
) -> Json:
    """A ReplicaSet whose pods carry the label `app` with its name."""
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "web", "image": image}]},
            },
            **spec,
        },
    }


def daemon_set(namespace: str, name: str = "web", image: str = "registry.example/web:v1", **spec: object) -> Json:
    """A DaemonSet whose pods carry the label `app` with its name."""
    made = replica_set(namespace, name, image=image, **spec)
    del made["spec"]["replicas"]
    return {**made, "kind": "DaemonSet"}


def custom_resource_definition(kind: str, group: str, version: str = "v1") -> Json:
    """A CRD of a namespaced kind with a status, that takes any field."""
    plural = f"{kind.lower()}s"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [served],
        },
    }


def job(namespace: str, name: str = "check", command: tuple[str, ...] = ("true",), **spec: object) -> Json:
    """A Job of one pod that is tried once; `command` decides how it ends (`sandbox.controllers.behaviours`)."""
    container: Json = {"name": "check", "image": "registry.example/check:v1", "command": list(command)}
    pod: Json = {"restartPolicy": "Never", "containers": [container]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"backoffLimit": 0, "template": {"spec": pod}, **spec},
    }

"""Where the API server keeps which kind of object."""

from __future__ import annotations

from typing import Any

_PLURALS = {
    "Ingress": "ingresses",
    "NetworkPolicy": "networkpolicies",
    "GatewayClass": "gatewayclasses",
    "Canary": "canaries",
}

# The kinds that live outside namespaces, of those that tests touch.
_CLUSTER_WIDE = {
    "Namespace",
    "Node",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleBinding",
    "GatewayClass",
}


def plural(kind: str) -> str:
    """The resource name of a kind, as in a URL."""
    return _PLURALS.get(kind, kind.lower() + "s")


def collection(api_version: str, kind: str, namespace: str | None = None) -> str:
    """The path of all objects of a kind; in all namespaces where none is given."""
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    inside = f"/namespaces/{namespace}" if namespace and kind not in _CLUSTER_WIDE else ""
    return f"{root}{inside}/{plural(kind)}"


def path_of(manifest: dict[str, Any]) -> str:
    """The path of the object that a manifest describes."""
    metadata = manifest["metadata"]
    return f"{collection(manifest['apiVersion'], manifest['kind'], metadata.get('namespace'))}/{metadata['name']}"


def services(namespace: str) -> str:
    """The Services of a namespace."""
    return collection("v1", "Service", namespace)


def pods(namespace: str) -> str:
    """The Pods of a namespace."""
    return collection("v1", "Pod", namespace)


def events(namespace: str) -> str:
    """The Events of a namespace."""
    return collection("v1", "Event", namespace)


def path_in(namespace: str, kind: str, name: str) -> str:
    """The path of one ConfigMap, Secret or Service."""
    return f"{collection('v1', kind, namespace)}/{name}"


def config_maps(namespace: str) -> str:
    """The ConfigMaps of a namespace."""
    return collection("v1", "ConfigMap", namespace)


def daemon_sets(namespace: str) -> str:
    """The DaemonSets of a namespace."""
    return collection("apps/v1", "DaemonSet", namespace)


def replica_sets(namespace: str) -> str:
    """The ReplicaSets of a namespace."""
    return collection("apps/v1", "ReplicaSet", namespace)


def jobs(namespace: str) -> str:
    """The Jobs of a namespace."""
    return collection("batch/v1", "Job", namespace)


def custom_resource_definitions() -> str:
    """All CustomResourceDefinitions."""
    return collection("apiextensions.k8s.io/v1", "CustomResourceDefinition")

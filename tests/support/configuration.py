"""ConfigMaps and Secrets of an app: manifests, a container that reads them, and the live copies."""

from __future__ import annotations

from typing import Any

from gitops_bg.core import names
from tests.support.cluster.paths import collection
from tests.support.cluster.rawapi import Json
from tests.support.scenario import App

SETTINGS = "settings.yaml"
PASSWORDS = "passwords.yaml"


def config_map(name: str = "settings", annotations: dict[str, str] | None = None, **data: str) -> dict[str, Any]:
    metadata = {"name": name, **({"annotations": annotations} if annotations else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def secret(name: str = "passwords", **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}


def reading(web: App) -> App:
    """Have the app's container take all of `settings`, and `db` of `passwords`, as far as they are there."""
    password = {"secretKeyRef": {"name": "passwords", "key": "db", "optional": True}}
    web.container |= {
        "envFrom": [{"configMapRef": {"name": "settings", "optional": True}}],
        "env": [{"name": "PASSWORD", "valueFrom": password}],
    }
    return web


def copies(web: App, kind: str = "ConfigMap") -> dict[str, Json]:
    """The live copies of an app by name."""
    found = web.scenario.cluster.list(
        collection("v1", kind, web.key.namespace), labelSelector=f"{names.APP}={web.name}"
    )
    return {each["metadata"]["name"]: each for each in found}


def held(web: App) -> list[Json]:
    """What the live copies of its ConfigMaps hold, sorted."""
    return sorted((each["data"] for each in copies(web).values()), key=str)


def read_by(web: App, digest: str) -> Json:
    """What the pods of a version read from `settings`, as its ReplicaSet says."""
    (container,) = web.replica_set(digest)["spec"]["template"]["spec"]["containers"]
    data: Json = copies(web)[container["envFrom"][0]["configMapRef"]["name"]]["data"]
    return data

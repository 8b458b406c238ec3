"""What stands in the way of an app's objects in a cluster: versions of the API that it has not, a live Deployment of
the app's name. Reads only.
"""

from collections.abc import Iterator, Mapping

from gitops_bg.cluster.api.kinds import DEPLOYMENTS
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.cluster.execution.auxiliary_kinds import FAMILIES, AuxiliaryKinds, why_unserved
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.layout import APP_FILE, PRIMARY_FILE, app_of, is_manifest
from gitops_bg.spec.manifests.target import value_at
from gitops_bg.spec.yaml.paths import Path
from gitops_bg.spec.yaml.reader import Document, read, read_one
from gitops_bg.spec.yaml.scalars import as_map

_ROUTES: Path = ("spec", "strategy", "blueGreen", "routes")


def object_problems(cluster: Cluster, files: Mapping[str, bytes | Problem]) -> Iterator[Problem]:
    """Yield a problem for each object whose kind the cluster does not serve in a version that has its fields, and for
    each app beside whose pods those of a Deployment of its name would go on.

    Raises as `Cluster`.
    """
    kinds = AuxiliaryKinds(cluster.client)
    for path, content in sorted(files.items()):
        found = app_of(path)
        if found is None or not isinstance(content, bytes):
            continue
        app, name = found
        if name == APP_FILE:
            document, _ = read_one(path, content)
            if document is not None:
                yield from _unserved_route(kinds, document)
                yield from _beside_deployment(cluster, app, document)
        elif is_manifest(name) and name != PRIMARY_FILE:
            for document in read(path, content).documents:
                yield from _unserved(kinds, document)


def _unserved(kinds: AuxiliaryKinds, document: Document) -> Iterator[Problem]:
    kind, version = (as_map(document.value).get(key) for key in ("kind", "apiVersion"))
    if isinstance(kind, str) and isinstance(version, str) and kind in FAMILIES and kinds.kind(kind, version) is None:
        yield document.problem(("apiVersion",), *_lacking(kind, version))


def _unserved_route(kinds: AuxiliaryKinds, document: Document) -> Iterator[Problem]:
    routes = value_at(document.value, _ROUTES)
    if isinstance(routes, Mapping):
        kind = "GRPCRoute" if routes.get("protocol") == "grpc" else "HTTPRoute"
        if kinds.kind(kind) is None:
            yield document.problem(_ROUTES, *_lacking(kind, ""))


def _lacking(kind: str, version: str) -> tuple[str, str]:
    """Message and remedy."""
    message, _, remedy = why_unserved(kind, version).partition(": ")
    return message, remedy or "write a version that it serves: `kubectl api-versions` lists them"


def _beside_deployment(cluster: Cluster, app: AppKey, document: Document) -> Iterator[Problem]:
    """An app that adopts something says already whose pods serve until then."""
    if value_at(document.value, ("spec", "adopt")) is not None:
        return
    live = cluster.client.get(DEPLOYMENTS, app.namespace, app.name)
    if live is not None and live["spec"].get("replicas", 1):
        message = f"{DEPLOYMENTS.called(app.namespace, app.name)} is live: its pods would go on beside those of the app"
        remedy = f"let `gitops-bg adopt {app}` take it over, or delete it: docs/how-to/adopt.md"
        yield document.problem(("metadata", "name"), message, remedy)

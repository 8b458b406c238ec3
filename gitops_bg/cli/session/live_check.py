"""What a cluster lacks for the files of a repository, for `check --live`: kinds and their versions, namespaces, and
what their Gateways have of listeners and hosts. Reads only.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from gitops_bg.cluster.api.errors import KindMissing, missing_kind
from gitops_bg.cluster.api.kinds import APPS, DEPLOYMENTS, GATEWAYS, Object
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.cluster.observation.auxiliary_kinds import FAMILIES, AuxiliaryKinds, why_unserved
from gitops_bg.cluster.observation.routes import hosts_served, is_served
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.spec import host_of
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.layout import APP_FILE, GROUP_FILE, PRIMARY_FILE, ROUTES_FILE, app_of, group_of, is_manifest
from gitops_bg.spec.manifests.target import value_at
from gitops_bg.spec.yaml.reader import Document, read, read_one
from gitops_bg.spec.yaml.scalars import Path, as_map

_Path = tuple[str | int, ...]
_OF_GROUP: _Path = ("spec", "gateway", "parentRefs")
_OF_APP: _Path = ("spec", "strategy", "blueGreen", "routes", "parentRefs")
_ROUTES: Path = ("spec", "strategy", "blueGreen", "routes")
_FIELD = ("metadata", "namespace")
_A_DIGEST = "0123456789"
"""In the place of a version's digest in a host: a wildcard serves whichever it is."""


def live_problems(cluster: Cluster, files: Mapping[str, bytes | Problem]) -> Iterator[Problem]:
    """Yield a problem for each app.yaml and group.yaml whose namespace does not exist, then those of objects and
    of Gateways.

    Raises `KindMissing` where nobody has installed our kinds, and as `Cluster`.
    """
    if not cluster.client.serves(APPS):
        raise KindMissing(missing_kind(APPS.path(), 404, {}))
    exists: dict[str, bool] = {}
    for path, content in sorted(files.items()):
        namespace = _namespace_of(path)
        if namespace and namespace not in exists:
            exists[namespace] = cluster.has_namespace(namespace)
        if namespace and not exists[namespace]:
            yield _missing(path, content, namespace)
    yield from object_problems(cluster, files)
    yield from gateway_problems(cluster, files)


def _namespace_of(path: str) -> str:
    """Return the namespace of what a file defines, if it is the file of an app or a group; else empty."""
    for found, name in ((app_of(path), APP_FILE), (group_of(path), GROUP_FILE)):
        if found is not None and found[1] == name:
            return found[0].namespace
    return ""


def _missing(path: str, content: bytes | Problem, namespace: str) -> Problem:
    message, remedy = f"namespace {namespace} does not exist in this cluster", f"kubectl create namespace {namespace}"
    document = read_one(path, content)[0] if isinstance(content, bytes) else None
    return document.problem(_FIELD, message, remedy) if document else Problem(path, message, remedy=remedy)


def gateway_problems(cluster: Cluster, files: Mapping[str, bytes | Problem]) -> Iterator[Problem]:
    """Yield a problem for each parentRef without a Gateway or a listener, and each host that none of them serves.

    Raises as `Cluster`.
    """
    gateways = _Gateways(cluster)
    of_groups: dict[tuple[str, str], list[str]] = {}
    for path, document in _documents(files):
        group, app = group_of(path), app_of(path)
        if group is not None and group[1] == GROUP_FILE:
            served, problems = gateways.of(document, group[0].namespace, _OF_GROUP)
            of_groups[group[0].namespace, group[0].name] = served
            yield from problems
            yield from _hosts_unserved(document, _hosts(document, ("spec", "hosts")), served)
        elif app is not None and app[1] == APP_FILE:
            served, problems = gateways.of(document, app[0].namespace, _OF_APP)
            yield from problems
            yield from _hosts_unserved(document, _hosts(document, (*_OF_APP[:-1], "hosts")), served)
            preview = _hosts(document, (*_OF_APP[:-2], "previewHosts"))
            named = ((where, host_of(str(host), _A_DIGEST)) for where, host in preview)
            yield from _hosts_unserved(document, named, served)
    for path, document in _documents(files):
        group = group_of(path)
        if group is not None and path.endswith(f"/{ROUTES_FILE}"):
            served = of_groups.get((group[0].namespace, group[0].name), [])
            for place, route in _mappings(document, ("routes",)):
                if route.get("host"):
                    yield from _hosts_unserved(document, [(("routes", place, "host"), route["host"])], served)


@dataclass
class _Gateways:
    """The Gateways of a cluster; each is read once."""

    cluster: Cluster
    known: dict[tuple[str, str], Object | None] = field(default_factory=dict)

    def of(self, document: Document, namespace: str, where: _Path) -> tuple[list[str], list[Problem]]:
        """Return the hosts of all listeners that the parentRefs of a file mean, and what is missing of them.

        No hosts where anything is missing: nobody knows what it would serve.
        """
        hosts: list[str] = []
        problems: list[Problem] = []
        for place, ref in _mappings(document, where):
            name, there = ref.get("name"), ref.get("namespace") or namespace
            section, port = ref.get("sectionName") or "", ref.get("port") or 0
            if not (isinstance(name, str) and isinstance(there, str) and isinstance(port, int)):
                continue  # what is no reference is found without a cluster
            gateway = self._read(there, name)
            served = hosts_served(gateway, section, port) if gateway else ()
            hosts += served
            if gateway is None:
                message = f"this cluster has no {GATEWAYS.called(there, name)}"
                problems.append(document.problem((*where, place, "name"), message, "make it, or name one that exists"))
            elif not served:
                names = ", ".join(f"{each['name']} ({each['port']})" for each in gateway["spec"].get("listeners") or ())
                message = f"{GATEWAYS.called(there, name)} has no such listener"
                remedy = f"name one of {names}" if names else "give the Gateway one"
                problems.append(document.problem((*where, place), message, remedy))
        return ([] if problems else hosts), problems

    def _read(self, namespace: str, name: str) -> Object | None:
        key = namespace, name
        if key not in self.known:
            self.known[key] = self.cluster.client.get(GATEWAYS, namespace, name)
        return self.known[key]


def _hosts_unserved(document: Document, hosts: Iterable[tuple[_Path, Any]], served: list[str]) -> Iterator[Problem]:
    """Yield a problem for each host that no listener serves, by its place; none where listeners are unknown."""
    for where, host in hosts:
        if served and not any(is_served(str(host), by) for by in served):
            message = f"no listener of the Gateway serves {host}"
            remedy = f"use a host of {', '.join(sorted(set(served)))}, or add a listener for it"
            yield document.problem(where, message, remedy)


def _documents(files: Mapping[str, bytes | Problem]) -> Iterator[tuple[str, Document]]:
    for path, content in sorted(files.items()):
        if isinstance(content, bytes) and path.endswith((f"/{GROUP_FILE}", f"/{ROUTES_FILE}", f"/{APP_FILE}")):
            document = read_one(path, content)[0]
            if document is not None:
                yield path, document


def _mappings(document: Document, where: _Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the mappings of a list, each with its place."""
    found = value_at(document.value, where)
    for place, each in enumerate(found if isinstance(found, list) else ()):
        if isinstance(each, Mapping):
            yield place, each


def _hosts(document: Document, where: _Path) -> Iterator[tuple[_Path, Any]]:
    """Yield the hosts of a list, each with its path."""
    found = value_at(document.value, where)
    for place, each in enumerate(found if isinstance(found, list) else ()):
        yield (*where, place), each


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
                yield from _still_served_by_deployment(cluster, app, document)
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
    """Return message and remedy."""
    message, _, remedy = why_unserved(kind, version).partition(": ")
    return message, remedy or "write a version that it serves: `kubectl api-versions` lists them"


def _still_served_by_deployment(cluster: Cluster, app: AppKey, document: Document) -> Iterator[Problem]:
    """Yield an app that adopts something says already whose pods serve until then."""
    if value_at(document.value, ("spec", "adopt")) is not None:
        return
    live = cluster.client.get(DEPLOYMENTS, app.namespace, app.name)
    if live is not None and live["spec"].get("replicas", 1):
        message = f"{DEPLOYMENTS.called(app.namespace, app.name)} is live: its pods would go on beside those of the app"
        remedy = f"let `gitops-bg adopt {app}` take it over, or delete it: docs/how-to/adopt.md"
        yield document.problem(("metadata", "name"), message, remedy)

"""What the Gateways of a cluster lack for the files of a repository: themselves, listeners, hosts. Reads only."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_bg.cluster.api.kinds import GATEWAYS, Object
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.cluster.observation.gateways import hosts_served, is_served
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.layout import APP_FILE, app_of
from gitops_bg.spec.groups.layout import GROUP_FILE, ROUTES_FILE, group_of
from gitops_bg.spec.yaml.reader import Document, read_one

_Path = tuple[str | int, ...]
_OF_GROUP: _Path = ("spec", "gateway", "parentRefs")
_OF_APP: _Path = ("spec", "strategy", "blueGreen", "routes", "parentRefs")


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
            yield from _unserved(document, ("spec", "hosts"), served)
        elif app is not None and app[1] == APP_FILE:
            served, problems = gateways.of(document, app[0].namespace, _OF_APP)
            yield from problems
            yield from _unserved(document, (*_OF_APP[:-1], "hosts"), served)
    for path, document in _documents(files):
        group = group_of(path)
        if group is not None and path.endswith(f"/{ROUTES_FILE}"):
            served = of_groups.get((group[0].namespace, group[0].name), [])
            for place, _ in enumerate(_list(document, ("routes",))):
                yield from _unserved(document, ("routes", place, "host"), served)


@dataclass
class _Gateways:
    """The Gateways of a cluster; each is read once."""

    cluster: Cluster
    known: dict[tuple[str, str], Object | None] = field(default_factory=dict)

    def of(self, document: Document, namespace: str, where: _Path) -> tuple[list[str], list[Problem]]:
        """The hosts of all listeners that the parentRefs of a file mean, and what is missing of them."""
        hosts: list[str] = []
        problems: list[Problem] = []
        for place, ref in enumerate(_list(document, where)):
            name, there = str(ref.get("name")), str(ref.get("namespace") or namespace)
            gateway = self._read(there, name)
            section = str(ref.get("sectionName") or "")
            served = hosts_served(gateway, section, int(ref.get("port") or 0)) if gateway else ()
            hosts += served
            if gateway is None:
                message = f"this cluster has no {GATEWAYS.called(there, name)}"
                problems.append(document.problem((*where, place, "name"), message, "make it, or name one that exists"))
            elif not served:
                names = ", ".join(f"{each['name']} ({each['port']})" for each in gateway["spec"].get("listeners") or ())
                message = f"{GATEWAYS.called(there, name)} has no such listener"
                remedy = f"name one of {names}" if names else "give the Gateway one"
                problems.append(document.problem((*where, place), message, remedy))
        return hosts, problems

    def _read(self, namespace: str, name: str) -> Object | None:
        key = namespace, name
        if key not in self.known:
            self.known[key] = self.cluster.client.get(GATEWAYS, namespace, name)
        return self.known[key]


def _unserved(document: Document, where: _Path, served: list[str]) -> Iterator[Problem]:
    """Yield a problem for each host of a field, one or several, that no listener serves; none without listeners."""
    found = _at(document.value, where)
    hosts = list(enumerate(found)) if isinstance(found, list) else [(None, found)] if found else []
    for place, host in hosts:
        if served and not any(is_served(str(host), by) for by in served):
            message = f"no listener of the Gateway serves {host}"
            remedy = f"use a host of {', '.join(sorted(set(served)))}, or add a listener for it"
            yield document.problem(where if place is None else (*where, place), message, remedy)


def _documents(files: Mapping[str, bytes | Problem]) -> Iterator[tuple[str, Document]]:
    for path, content in sorted(files.items()):
        if isinstance(content, bytes) and path.endswith((f"/{GROUP_FILE}", f"/{ROUTES_FILE}", f"/{APP_FILE}")):
            document = read_one(path, content)[0]
            if document is not None:
                yield path, document


def _list(document: Document, where: _Path) -> list[Mapping[str, Any]]:
    found = _at(document.value, where)
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def _at(value: Any, where: _Path) -> Any:
    for step in where:
        value = value.get(step) if isinstance(value, Mapping) and isinstance(step, str) else _item(value, step)
    return value


def _item(value: Any, step: str | int) -> Any:
    return value[step] if isinstance(value, list) and isinstance(step, int) and step < len(value) else None

"""Which ports a Service has while it selects a version: Git's once that version can serve them (DESIGN §3, §4.2)."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.delivery.world import answered_once
from gitops_bg.core.foreign_json import read_json
from gitops_bg.core.model.desired import Desired
from gitops_bg.core.model.observed import ServiceView
from gitops_bg.core.model.version import ServicePorts, Version, short
from gitops_bg.core.world import World

NONE = "[]"
"""The ports of a Service without ports, as a headless one may be."""


Target = tuple[str | int, str]
"""A targetPort, by name or number, and its protocol."""


@answered_once
def ports_of(world: World, version: Version, service: str) -> str:
    """Return the JSON of the ports that a Service should have while it selects a version; empty where that is
    unknown.
    """
    views = (*(view for _, view in world.active_services), world.observed.preview_service)
    live = next((view for view in views if view is not None and view.name == service), None)
    known = version if version.snapshot.text else replace(version, snapshot=world.snapshot(version))
    is_preview = service == world.spec.strategy.preview_service
    routed = world.record.routing.preview if is_preview else world.record.routing.traffic
    sources = sources_of(world.desired, known, service, live, serving=routed == version.digest)
    if is_preview and sources.git == "" and not derived_ports(sources.template):
        sources = replace(sources, git=_of_active(world))
    return choose(sources)


def _of_active(world: World) -> str:
    """Return the ports that a preview Service copies where Git has neither of the two: those of the first active one
    that has any. Only where the template implies none, which the active one gets as well (`Desired.ports`).
    """
    live = (view.ports for _, view in world.active_services if view)
    return next((copied_ports(ports) for ports in live if ports not in ("", NONE)), "")


@answered_once
def services_of(world: World, version: Version) -> tuple[ServicePorts, ...]:
    """Return the ports of live traffic while it goes to a version, for primary.yaml: of each active Service with ports
    other than those that the template implies.
    """
    said = ((name, ports_of(world, version, name)) for name in world.spec.strategy.active_services)
    derived = derived_ports(world.snapshot(version).text)
    return tuple(ServicePorts(name, ports) for name, ports in said if ports not in ("", NONE, derived))


@dataclass(frozen=True, slots=True)
class PortSources:
    """Every source of the ports that a Service may have while it selects one version.

    JSON texts; an empty one says nothing.
    """

    git: str | None
    """The ports of its manifest in main.

    Empty where main has no manifest, so that ports are derived; None where main cannot be read.
    """
    template: str
    kept: str
    """The ports that the version was served with last."""
    promoted: str
    """The ports of primary.yaml, where that names the version."""
    live: str
    """The live ports of the Service, where it selects the version."""
    there: str
    """The live ports of the Service, whatever it selects."""
    serving: bool
    """Whether the Service should already select the version."""
    wanted: bool
    """Whether the target names the version."""


def sources_of(
    desired: Desired, version: Version, service: str, live: ServiceView | None, *, serving: bool
) -> PortSources:
    """Return the sources for one Service and one version, whose snapshot must have its text."""
    is_there = live is not None and live.digest == short(version.digest)
    return PortSources(
        git=_find(desired.ports, service, None),
        template=version.snapshot.text,
        kept=_find(version.ports, service, "") or "",
        promoted=_find(promoted_ports(desired, version), service, "") or "",
        live=live.ports if live is not None and is_there else "",
        there=live.ports if live is not None else "",
        serving=serving,
        wanted=_is_wanted(desired, version),
    )


def _is_wanted(desired: Desired, version: Version) -> bool:
    target = desired.target
    return target.snapshot.digest == version.digest if target else False


def promoted_ports(desired: Desired, version: Version) -> tuple[ServicePorts, ...]:
    """Return the ports that ``primary.yaml`` names for a version; none if it names another version."""
    primary = desired.primary
    return primary.services if primary and primary.snapshot.digest == version.digest else ()


def _find(ports: Iterable[ServicePorts], service: str, otherwise: str | None) -> str | None:
    return next((each.ports for each in ports if each.service == service), otherwise)


def choose(known: PortSources) -> str:
    """Return Git's ports if the version can serve them, else those it was served or promoted with, else the best guess.

    A version that serves keeps its ports; one that is to serve takes those of its promotion. Where only the target's
    version is known, Git's ports are meant for it. A guess changes no more than a targetPort, for clients call the
    rest: of Git's ports, or of the live ones where main says nothing. Empty: leave the ports as they are.
    """
    derived = derived_ports(known.template)
    now = derived if known.git == "" else known.git
    before = (known.kept, known.promoted, known.live) if known.serving else (known.promoted, known.kept, known.live)
    if now and not unservable(known.template, now, before):
        return now
    guess = _guessed(known, known.there if known.git is None else now or "")
    return next(filter(None, before), "") or guess or derived or now or ""


def _guessed(known: PortSources, ports: str) -> str:
    is_meant = known.git is not None and known.wanted
    return ports if is_meant else retargeted(ports, known.template)


def retargeted(ports: str, template: str) -> str:
    """Return the ports, of which each that leads nowhere leads to a port of the template's containers, as far as there
    is one.

    It is the one of its name, else of its number, else the next that no port leads to.

    >>> template = '{"spec":{"containers":[{"ports":[{"name":"http","containerPort":8080}]}]}}'
    >>> retargeted('[{"port":80,"targetPort":"web"}]', template)
    '[{"port":80,"targetPort":"http"}]'
    """
    missing = set(unservable(template, ports))
    if not missing or not container_ports(template):
        return ports
    listed, declared = _listed(ports), filter(_is_sound, map(_derived, _declared(template)))
    lost = [place for place, port in enumerate(listed) if missing.intersection(targets(written([port])))]
    used = set(targets(written(port for place, port in enumerate(listed) if place not in lost)))
    free = [port for port in declared if not used.intersection(_ways_to(port))]
    found: dict[int, Mapping[str, Any]] = {}
    for alike in (_same_name, _same_number, _same_protocol):
        for place in (one for one in lost if one not in found):
            one = next((port for port in free if alike(listed[place], port)), None)
            if one is not None:
                found[place] = one
                free.remove(one)
    return written(
        {**port, "targetPort": found[place]["targetPort"]} if place in found else port
        for place, port in enumerate(listed)
    )


def _is_sound(derived: Mapping[str, Any]) -> bool:
    """Return whether a container's port is what the API server accepts; a template is of any shape until it has seen
    it.
    """
    types = {"name": str, "port": int, "protocol": str, "targetPort": str | int}
    return all(isinstance(derived[key], expected) for key, expected in types.items())


def _ways_to(derived: Mapping[str, Any]) -> set[Target]:
    """Return the targets by which a container's port is reached."""
    return {(derived[key], derived["protocol"]) for key in ("targetPort", "port")}


def _same_protocol(port: Mapping[str, Any], derived: Mapping[str, Any]) -> bool:
    return bool((port.get("protocol") or "TCP") == derived["protocol"])


def _same_name(port: Mapping[str, Any], derived: Mapping[str, Any]) -> bool:
    return port.get("name") == derived["name"] and _same_protocol(port, derived)


def _same_number(port: Mapping[str, Any], derived: Mapping[str, Any]) -> bool:
    return port.get("port") == derived["port"] and _same_protocol(port, derived)


def unservable(template: str, ports: str, before: Iterable[str] = ()) -> tuple[Target, ...]:
    """Return the targetPorts among ``ports`` that the pods of a template do not serve.

    A name must be that of a container's port. A number must be declared, or have been served ``before``; where no
    container declares a port, nobody can tell, and every number is accepted.
    """
    declared = container_ports(template)
    if not declared:
        return tuple(target for target in targets(ports) if isinstance(target[0], str))
    missing = [target for target in targets(ports) if target not in declared]
    used = {target for text in before for target in targets(text) if isinstance(target[0], int)} if missing else set()
    return tuple(target for target in missing if target not in used)


@lru_cache(maxsize=512)
def container_ports(template: str) -> frozenset[Target]:
    """Return the ports that the containers of a pod template declare, each by its number and, where it has one, its
    name.

    >>> sorted(map(str, container_ports('{"spec":{"containers":[{"ports":[{"name":"http","containerPort":80}]}]}}')))
    ["('http', 'TCP')", "(80, 'TCP')"]
    """
    found = set()
    for port in _declared(template):
        protocol = str(port.get("protocol") or "TCP")
        names = (port.get("name"), port.get("containerPort"))  # of any type, until the API server has seen them
        found |= {(key, protocol) for key in names if key and isinstance(key, str | int)}
    return frozenset(found)


@lru_cache(maxsize=2048)
def targets(ports: str) -> tuple[Target, ...]:
    """Return the targets of a Service's ports: each targetPort, or the port's own number where it has none.

    >>> targets('[{"port":80,"targetPort":"http"},{"port":9090}]')
    (('http', 'TCP'), (9090, 'TCP'))
    """
    return tuple(
        (target, port.get("protocol") or "TCP")
        for port in _listed(ports)
        if isinstance(target := port.get("targetPort") or port.get("port"), str | int)
    )


def service_ports(ports: str) -> frozenset[int]:
    """Return the numbers of a Service's ports.

    >>> sorted(service_ports('[{"port":80,"targetPort":"http"},{"port":9090}]'))
    [80, 9090]
    """
    return frozenset(number for port in _listed(ports) if isinstance(number := port.get("port"), int))


@lru_cache(maxsize=512)
def derived_ports(template: str) -> str:
    """Return one named Service port for each container port, so that versions may differ in the number behind the name.

    Empty where the template declares none.
    """
    ports = [_derived(port) for port in _declared(template)]
    return written(ports) if ports else ""


def _derived(port: Mapping[str, Any]) -> Mapping[str, Any]:
    number, protocol = port["containerPort"], port.get("protocol", "TCP")
    name = port.get("name") or f"{protocol.lower()}-{number}"
    return {"name": name, "port": number, "protocol": protocol, "targetPort": port.get("name") or number}


def written(ports: Iterable[Mapping[str, Any]]) -> str:
    """Return the ports of a Service as one text, in their order, with their fields in order.

    >>> written([{"port": 80}])
    '[{"port":80}]'
    """
    return json.dumps(list(ports), separators=(",", ":"))


_COPIED = ("name", "port", "protocol", "appProtocol", "targetPort")


def copied_ports(ports: str) -> str:
    """Return the ports that a second Service has to be called as the first one is: without what only one Service can
    have.

    >>> copied_ports('[{"name":"http","nodePort":30080,"port":80}]')
    '[{"name":"http","port":80}]'
    """
    kept = [{key: port[key] for key in _COPIED if key in port} for port in _listed(ports)]
    return written(kept) if kept else ""


def _declared(template: str) -> Iterator[Mapping[str, Any]]:
    """Yield the ports of all containers that run as long as the pod, including sidecars among the init containers."""
    spec = (read_json(template) if template else {}).get("spec") or {}
    sidecars = [each for each in _maps(spec.get("initContainers")) if each.get("restartPolicy") == "Always"]
    for container in (*_maps(spec.get("containers")), *sidecars):
        yield from (port for port in _maps(container.get("ports")) if "containerPort" in port)


def _listed(ports: str) -> list[Mapping[str, Any]]:
    return _maps(read_json(ports)) if ports else []


def _maps(value: Any) -> list[Mapping[str, Any]]:
    """Return the maps of a list; the API server refuses items of any other shape."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []

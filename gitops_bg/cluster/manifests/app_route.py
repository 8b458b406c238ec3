"""What of the route in front of an app's Services follows the cluster: the version that it names, and ports. Pure.

Git's rule for the candidate has one match, with the word ``candidate`` in the version header; a version is named by a
second match, with the short digest (docs/decisions/0038).
"""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from gitops_bg.cluster.api.kinds import GRPC_ROUTES, HTTP_ROUTES, Object
from gitops_bg.core.model.auxiliary import CANDIDATE, ROUTES, BackendPorts

_ATTACHMENT = ("parentRefs", "hostnames")


def route_kind_in(spec: Mapping[str, Any]) -> str:
    """The kind of the route that the spec of a BlueGreenDeployment asks for; empty where it asks for none."""
    routes = ((spec.get("strategy") or {}).get("blueGreen") or {}).get("routes")
    if not routes:
        return ""
    return (GRPC_ROUTES if routes.get("protocol") == "grpc" else HTTP_ROUTES).name


def following(manifest: Object, digest: str, ports: BackendPorts) -> Object:
    """Return the route so that it names a version (a short digest; empty: none), and leads to these ports."""
    changed = with_ports(manifest, ports)
    return with_named_version(changed, digest) if digest else changed


def with_named_version(manifest: Object, digest: str) -> Object:
    """Return the route with a version (a short digest) that requests may name; as it is where none chooses a
    candidate.
    """
    changed = copy.deepcopy(manifest)
    for rule in changed["spec"]["rules"]:
        for match in _choosing(rule):
            named = copy.deepcopy(match)
            for header in named["headers"]:
                header["value"] = digest
            rule["matches"].append(named)
    return changed


def with_ports(manifest: Object, ports: BackendPorts) -> Object:
    """Return the route with these ports of its Services, without the rules that lead to others; as it is where no port
    is known.
    """
    changed, known = copy.deepcopy(manifest), dict(ports)
    if known:
        rules = changed["spec"]["rules"]
        changed["spec"]["rules"] = [each for each in rules if all(ref["name"] in known for ref in each["backendRefs"])]
    for ref in _backends(changed):
        ref["port"] = known.get(ref["name"], ref["port"])
    return changed


def attached_as(manifest: Object, live: Object) -> Object:
    """Return the route with the Gateways and hosts of a live one."""
    spec = {key: value for key, value in manifest["spec"].items() if key not in _ATTACHMENT}
    return {**manifest, "spec": {**spec, **{key: live["spec"][key] for key in _ATTACHMENT if key in live["spec"]}}}


def attachment_of(route: Object) -> tuple[object, ...]:
    """What decides which requests reach a route at all: its Gateways and its hosts, in no order."""
    spec = route.get("spec") or {}
    return frozenset(map(_identity, spec.get("parentRefs") or ())), frozenset(spec.get("hostnames") or ())


def _identity(parent: Mapping[str, Any]) -> tuple[object, ...]:
    defaults = {"group": "gateway.networking.k8s.io", "kind": "Gateway"}
    return tuple(sorted(((key, str(value)) for key, value in {**defaults, **parent}.items() if value)))


def ports_of(live: Mapping[str, Any]) -> BackendPorts:
    """The ports of the Services that a live route leads to; none for any other object."""
    if live.get("kind") not in ROUTES:
        return ()
    return tuple(sorted({ref["name"]: int(ref.get("port") or 0) for ref in _backends(live)}.items()))


def _backends(route: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for rule in (route.get("spec") or {}).get("rules") or ():
        yield from rule.get("backendRefs") or ()


def named_version_of(live: Mapping[str, Any]) -> str:
    """The short digest that a live route names; empty for none, and for any other object."""
    if live.get("kind") not in ROUTES:
        return ""
    for rule in (live.get("spec") or {}).get("rules") or ():
        if _choosing(rule):
            others = [match for match in rule["matches"] if match not in _choosing(rule)]
            values = (header.get("value", "") for match in others for header in match.get("headers") or ())
            return str(next(values, ""))
    return ""


def _choosing(rule: Mapping[str, Any]) -> list[Any]:
    """The matches of a rule that choose the candidate by that word."""
    return [match for match in rule.get("matches") or () if _chooses(match)]


def _chooses(match: Mapping[str, Any]) -> bool:
    headers: list[Mapping[str, Any]] = match.get("headers") or []
    return len(headers) == 1 and headers[0].get("value") == CANDIDATE

"""HTTPRoutes and GRPCRoutes of the Gateway API as manifests: the specs of the core's rules, and the route in front of
an app's Services. Pure; `cluster.group_objects` reads HTTPRoutes back.

https://gateway-api.sigs.k8s.io/reference/spec/#httproute and #grpcroute
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitops_bg.core.checks.ports import derived_ports, service_ports, written
from gitops_bg.core.model.auxiliary import (
    CANDIDATE,
    AppRoute,
    AuxiliaryObject,
    Backend,
    Deny,
    HttpMatch,
    HttpRoute,
    HttpRule,
    ParentRef,
    PathKind,
    claim_of,
)
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import fit
from gitops_bg.spec.app import models
from gitops_bg.spec.app.gateway import Routes, parents_of
from gitops_bg.spec.app.layout import member_of
from gitops_bg.spec.manifests.references import Named
from gitops_bg.spec.yaml.paths import Path
from gitops_bg.spec.yaml.reader import Document

# --- specs ---

Object = dict[str, Any]


def http_route_spec(route: HttpRoute) -> Object:
    """The spec of an HTTPRoute."""
    return _spec(route, list(map(_rule, route.rules)))


def grpc_route_spec(route: HttpRoute) -> Object:
    """The spec of a GRPCRoute with the same rules; gRPC has no paths, so only headers match."""
    return _spec(route, [_grpc_rule(rule) for rule in route.rules])


def _spec(route: HttpRoute, rules: list[Object]) -> Object:
    # No hosts are said, too: of a field that is not applied, what somebody else wrote would stay.
    return {"parentRefs": list(map(_parent, route.parents)), "hostnames": list(route.hosts), "rules": rules}


def _grpc_rule(rule: HttpRule) -> Object:
    said = {key: each for key, each in _rule(rule).items() if key in ("backendRefs", "filters")}
    matches = [{"headers": _headers(match)} for match in rule.matches if match.headers]
    return {"matches": matches, **said} if matches else said


def _parent(ref: ParentRef) -> Object:
    said: Object = {"group": ref.group, "kind": ref.kind, "name": ref.name}
    more = {"namespace": ref.namespace, "sectionName": ref.section, "port": ref.port}
    return said | {key: value for key, value in more.items() if value}


def _rule(rule: HttpRule) -> Object:
    said: Object = {"matches": list(map(_match, rule.matches))}
    if rule.rewrite:
        said["filters"] = [
            {"type": "URLRewrite", "urlRewrite": {"path": rewritten_path(rule.matches[0].kind, rule.rewrite)}}
        ]
    match rule.to:
        case Backend() as backend:
            said["backendRefs"] = [_backend(backend)]
        case Deny(backend=Backend() as backend):
            said["backendRefs"] = [_backend(backend)]
        case Deny(extension=extension) if extension is not None:
            ref = {"group": extension.group, "kind": extension.kind, "name": extension.name}
            said["filters"] = [{"type": "ExtensionRef", "extensionRef": ref}]
    if rule.timeout:
        said["timeouts"] = {"request": rule.timeout}
    return said


def rewritten_path(matched: PathKind, by: str) -> Object:
    """How the path of a request is rewritten: the prefix that was ``matched``, else the whole path."""
    if matched is PathKind.PREFIX:
        return {"type": "ReplacePrefixMatch", "replacePrefixMatch": by}
    return {"type": "ReplaceFullPath", "replaceFullPath": by}


def _backend(backend: Backend) -> Object:
    return {"group": "", "kind": "Service", "name": backend.service, "port": backend.port, "weight": 1}


def _match(match: HttpMatch) -> Object:
    said: Object = {"path": {"type": match.kind.value, "value": match.path}}
    if match.headers:
        said["headers"] = _headers(match)
    if match.method:
        said["method"] = match.method
    return said


def _headers(match: HttpMatch) -> list[Object]:
    return [{"type": "Exact", "name": name, "value": value} for name, value in match.headers]


# --- the route of an app, as `spec.strategy.blueGreen.routes` asks for it (docs/decisions/0038) ---
# Requests without the version header go to the live Service, those that say ``candidate`` to the preview Service. The
# digest that names the candidate as well is filled in when the route is applied.

API_VERSION = "gateway.networking.k8s.io/v1"
_FIELD: Path = ("spec", "strategy", "blueGreen", "routes")


def port_of(
    app: Document, blue_green: models.BlueGreen, manifests: Mapping[Named, Document], template: Any
) -> tuple[int | None, tuple[Problem, ...]]:
    """Return the port of the Services that the route leads to; None and the problems where there is none, or several.

    Without a Service in the folder its ports are those of the target's containers, as everywhere.
    """
    routes = blue_green.routes
    assert routes is not None
    problems = [*_of_member(app)]
    ports = {
        name: _ports(_copied_by(name, blue_green, manifests), manifests, template) for name in _services(blue_green)
    }
    if None in ports.values():
        return None, tuple(problems)  # A broken target is a problem of its own.
    chosen = routes.port
    common = frozenset.intersection(*(frozenset(each or ()) for each in ports.values()))
    if chosen is None and len(common) == 1:
        (chosen,) = common
    for name, its in ports.items():
        if chosen is None:
            message = f"the Services have {len(common) or 'no'} ports in common, so port is needed"
            problems.append(
                app.problem(_FIELD, message, f"write port: {min(common)}" if common else "add a port to them")
            )
            break
        if chosen not in (its or ()):
            known = " or ".join(map(str, sorted(its or ()))) or "a port of the Service"
            problems.append(
                app.problem((*_FIELD, "port"), f"the Service {name} has no port {chosen}", f"write {known}")
            )
    return (None, tuple(problems)) if problems else (chosen, ())


def route_of(app: AppKey, blue_green: models.BlueGreen, port: int) -> tuple[AppRoute, dict[str, Any]]:
    """Return the core's view of the route, and its manifest."""
    routes = blue_green.routes
    assert routes is not None
    route = HttpRoute(
        app.name, tuple(routes.hosts or ()), parents_of(routes.parent_refs), tuple(_rules(routes, blue_green, port))
    )
    kind, spec = (
        ("GRPCRoute", grpc_route_spec(route)) if routes.protocol == "grpc" else ("HTTPRoute", http_route_spec(route))
    )
    manifest = {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": app.name}, "spec": spec}
    live, beside = AuxiliaryObject(kind, app.name), AuxiliaryObject(kind, _replacement_name(route))
    return AppRoute(live, port, beside, claim_of(route)), manifest


def _replacement_name(route: HttpRoute) -> str:
    """The name of a route that is attached like this one, while the live one is attached otherwise."""
    identity = repr((sorted(map(repr, route.parents)), sorted(route.hosts)))
    return fit(f"{route.name}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}")


def _rules(routes: Routes, blue_green: models.BlueGreen, port: int) -> Iterator[HttpRule]:
    """The rule with the header comes first: of rules that are equally specific, the first one wins."""
    if blue_green.preview_service:
        match = HttpMatch(headers=((routes.version_header, CANDIDATE),))
        yield HttpRule((match,), Backend(blue_green.preview_service, port))
    yield HttpRule((HttpMatch(),), Backend(blue_green.live_services[0], port))


def _services(blue_green: models.BlueGreen) -> Iterator[str]:
    yield blue_green.live_services[0]
    if blue_green.preview_service:
        yield blue_green.preview_service


def _copied_by(name: str, blue_green: models.BlueGreen, manifests: Mapping[Named, Document]) -> tuple[str, ...]:
    """The Services whose manifests may say the ports of a Service: its own; of a preview without one, the active ones
    (`spec.manifests.service_ports`).
    """
    copies = name == blue_green.preview_service and ("Service", name) not in manifests
    return tuple(blue_green.live_services) if copies else (name,)


def _ports(names: Iterable[str], manifests: Mapping[Named, Document], template: Any) -> frozenset[int] | None:
    """The ports of the first of these Services that Git says any of, else those of the target; None where that cannot
    be read.
    """
    for document in filter(None, (manifests.get(("Service", name)) for name in names)):
        spec = document.value.get("spec")
        if isinstance(spec, Mapping) and spec.get("ports"):
            return service_ports(written(spec["ports"]))
    return service_ports(derived_ports(json.dumps(template))) if template is not None else None


def _of_member(app: Document) -> Iterator[Problem]:
    if member_of(app.folder):
        message = "a service of a release group has its routes in routes.yaml: the group decides where they lead"
        yield app.problem(_FIELD, message, "remove it")

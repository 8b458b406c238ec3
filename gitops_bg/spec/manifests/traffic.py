"""The traffic of an app, or a release group, as manifests: the Services in Git, and the routes in front of them. Pure.

Of the Services: which field of app.yaml names which, their ports, and whether the pods of its target can serve them;
the core decides which ports live traffic gets, and when (``core.transitions.switching``). Of HTTPRoutes and GRPCRoutes
of the Gateway API: their specs, by the core's rules; `cluster.group_objects` reads HTTPRoutes back.

https://gateway-api.sigs.k8s.io/reference/spec/#httproute and #grpcroute
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitops_bg.core import names
from gitops_bg.core.checks.ports import (
    NONE,
    container_ports,
    copied_ports,
    derived_ports,
    service_ports,
    unservable,
    written,
)
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
from gitops_bg.core.model.spec import DIGEST_IN_HOST, Strategy
from gitops_bg.core.model.version import AppKey, ServicePorts
from gitops_bg.core.names import fit
from gitops_bg.spec.app import models
from gitops_bg.spec.app.fields import Routes, parents_of
from gitops_bg.spec.app.layout import member_of
from gitops_bg.spec.manifests.configuration import Named
from gitops_bg.spec.yaml.reader import Document
from gitops_bg.spec.yaml.scalars import Path, nearest

_LIVE, _CANDIDATE = "live traffic", "the candidate"
_BLUE_GREEN: Path = ("spec", "strategy", "blueGreen")


def service_fields(strategy: Strategy, app: Mapping[str, Any]) -> Iterator[tuple[str, Path, str]]:
    """Yield for each Service: its name, the field of ``app`` (app.yaml as written) that names it, so that `check` can
    report its line, and what it carries.
    """
    said = app.get("spec", {}).get("strategy", {}).get("blueGreen", {})
    for place, name in enumerate(strategy.active_services):
        field: Path = ("activeServices", place) if said.get("activeServices") else ("activeService",)
        yield name, (*_BLUE_GREEN, *field), _LIVE
    if strategy.preview_service:
        yield strategy.preview_service, (*_BLUE_GREEN, "previewService"), _CANDIDATE


EXTERNAL = "ExternalName"


def ports_in_git(
    strategy: Strategy, services: Mapping[str, Mapping[str, Any]], *, whole: bool
) -> Iterator[ServicePorts]:
    """Yield the ports of each Service of an app and of its folder; empty where they are derived from its pods.

    A preview Service without a manifest has those of the active one: who tries a version there calls it as clients do.
    Unless the whole folder could be read (``whole``), a Service that is missing there is left out.
    """
    named = {*strategy.active_services, strategy.preview_service} if whole else set()
    for name in sorted({name for name in named if name} | services.keys()):
        copies = name == strategy.preview_service and name not in services
        yield ServicePorts(name, _copied(strategy, services) if copies else _ports(services.get(name) or {}))


def _copied(strategy: Strategy, services: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the ports of the first active Service that has a manifest with ports; empty where none has."""
    of_active = (_ports(services.get(name) or {}) for name in strategy.active_services)
    return next((copied_ports(ports) for ports in of_active if ports not in ("", NONE)), "")


def _ports(manifest: Mapping[str, Any]) -> str:
    spec = manifest.get("spec")
    return written(spec.get("ports") or []) if spec else ""


def is_external(document: Document) -> bool:
    """Return whether a Service is only another name of something else, so that it can have no pods."""
    return bool((document.value.get("spec") or {}).get("type") == EXTERNAL)


def check_ports(document: Document) -> Iterator[Problem]:
    """Check that its ports can be told apart, as the API server demands of every Service."""
    ports = (document.value.get("spec") or {}).get("ports") or ()
    names: set[str] = set()
    numbers: set[tuple[int, str]] = set()
    for place, port in enumerate(ports):
        field: Path = ("spec", "ports", place)
        name, number = port.get("name") or "", (port["port"], port.get("protocol") or "TCP")
        if not name and len(ports) > 1:
            yield document.problem(field, "has no name, which one of several ports needs", "add name")
        if name and name in names:
            yield document.problem((*field, "name"), f"{name} is the name of another port", "write another one")
        if number in numbers:
            message = f"{number[0]} ({number[1]}) is another port's number"
            yield document.problem((*field, "port"), message, "remove one of the two")
        names.add(name)
        numbers.add(number)


def check_service(document: Document, target_file: str, template: str) -> Iterator[Problem]:
    """Yield all reasons why pods of a template (empty: unknown) would not get the traffic of a Service."""
    spec = document.value.get("spec") or {}
    if is_external(document):
        message = "ExternalName has no pods behind it, so its traffic cannot be moved"
        yield document.problem(("spec", "type"), message, "write ClusterIP")
    for place, port in enumerate(spec.get("ports") or ()) if template else ():
        for name, protocol in unservable(template, written([port])):
            if isinstance(name, str):
                yield _dangling(document, place, name, protocol, target_file, template)


def _dangling(document: Document, place: int, name: str, protocol: str, target_file: str, template: str) -> Problem:
    known = sorted(key for key, of in container_ports(template) if isinstance(key, str) and of == protocol)
    guess = nearest(name, known) or (known[0] if len(known) == 1 else "")
    field: Path = ("spec", "ports", place, "targetPort")
    message = f"no container of {target_file} has a {protocol} port named {name}, so no request would arrive"
    remedy = f"write {guess}, or name a containerPort {name}" if guess else f"name a containerPort {name}"
    others = f"; it has {', '.join(known)}" if known and not guess else ""
    return document.problem(field, message + others, f"{remedy} in {target_file}")


# --- specs ---

Object = dict[str, Any]


def http_route_spec(route: HttpRoute) -> Object:
    """Return the spec of an HTTPRoute."""
    return _spec(route, list(map(_rule, route.rules)))


def grpc_route_spec(route: HttpRoute) -> Object:
    """Return the spec of a GRPCRoute with the same rules; gRPC has no paths, so only headers match."""
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
    """Return how the path of a request is rewritten: the prefix that was ``matched``, else the whole path."""
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
        name: _backend_ports(_copied_by(name, blue_green, manifests), manifests, template)
        for name in _services(blue_green)
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


def route_of(app: AppKey, blue_green: models.BlueGreen, port: int) -> tuple[AppRoute, dict[AuxiliaryObject, Any]]:
    """Return the core's view of the route, and its manifest; with that for the hosts of the candidate, where there are
    any: ``{digest}`` in it stands for the version that it names.
    """
    routes = blue_green.routes
    assert routes is not None
    route = HttpRoute(
        app.name, tuple(routes.hosts or ()), parents_of(routes.parent_refs), tuple(_rules(routes, blue_green, port))
    )
    kind, spec_of = ("GRPCRoute", grpc_route_spec) if routes.protocol == "grpc" else ("HTTPRoute", http_route_spec)

    def manifest(one: HttpRoute, **labels: str) -> dict[str, Any]:
        metadata = {"name": one.name, **({"labels": labels} if labels else {})}
        return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec_of(one)}

    live, beside = AuxiliaryObject(kind, app.name), AuxiliaryObject(kind, _replacement_name(route))
    manifests = {live: manifest(route)}
    strategy, preview = blue_green.strategy, None
    if strategy.preview_hosts and strategy.preview_service:
        rule = HttpRule((HttpMatch(),), Backend(strategy.preview_service, port))
        one = HttpRoute(names.candidate_route(app), strategy.preview_hosts, route.parents, (rule,))
        preview = AuxiliaryObject(kind, one.name)
        manifests[preview] = manifest(one, **({names.DIGEST: DIGEST_IN_HOST} if strategy.hosts_name_version else {}))
    return AppRoute(live, port, beside, claim_of(route), preview), manifests


def _replacement_name(route: HttpRoute) -> str:
    """Return the name of a route that is attached like this one, while the live one is attached otherwise."""
    identity = repr((sorted(map(repr, route.parents)), sorted(route.hosts)))
    return fit(f"{route.name}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}")


def _rules(routes: Routes, blue_green: models.BlueGreen, port: int) -> Iterator[HttpRule]:
    """Yield the rules, that with the header first: of rules that are equally specific, the first one wins."""
    if blue_green.strategy.preview_service:
        match = HttpMatch(headers=((routes.version_header, CANDIDATE),))
        yield HttpRule((match,), Backend(blue_green.strategy.preview_service, port))
    yield HttpRule((HttpMatch(),), Backend(blue_green.live_services[0], port))


def _services(blue_green: models.BlueGreen) -> Iterator[str]:
    yield blue_green.live_services[0]
    if blue_green.strategy.preview_service:
        yield blue_green.strategy.preview_service


def _copied_by(name: str, blue_green: models.BlueGreen, manifests: Mapping[Named, Document]) -> tuple[str, ...]:
    """Return the Services whose manifests may say the ports of a Service: its own; of a preview without one, the active
    ones (`spec.manifests.traffic`).
    """
    copies = name == blue_green.strategy.preview_service and ("Service", name) not in manifests
    return tuple(blue_green.live_services) if copies else (name,)


def _backend_ports(names: Iterable[str], manifests: Mapping[Named, Document], template: Any) -> frozenset[int] | None:
    """Return the ports of the first of these Services that Git says any of, else those of the target; None where that
    cannot be read.
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

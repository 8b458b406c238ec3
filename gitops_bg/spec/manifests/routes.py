"""The specs of HTTPRoutes and GRPCRoutes of the Gateway API. Pure; `cluster.groups.routes` reads HTTPRoutes back.

https://gateway-api.sigs.k8s.io/reference/spec/#httproute and #grpcroute
"""

from typing import Any

from gitops_bg.core.model.http_routes import Backend, Deny, HttpMatch, HttpRoute, HttpRule, ParentRef, PathKind

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

"""HTTPRoutes as objects of the Gateway API. Pure; `cluster.groups.routes` reads them back.

https://gateway-api.sigs.k8s.io/reference/spec/#httproute
"""

from gitops_bg.cluster.api.kinds import HTTP_ROUTES, Object
from gitops_bg.core.model.http_routes import Backend, Deny, HttpMatch, HttpRoute, HttpRule, ParentRef, PathKind


def http_route(namespace: str, labels: dict[str, str], route: HttpRoute) -> Object:
    """The manifest of an HTTPRoute."""
    spec: Object = {"parentRefs": list(map(_parent, route.parents)), "rules": list(map(_rule, route.rules))}
    if route.hosts:
        spec["hostnames"] = list(route.hosts)
    return {
        "apiVersion": HTTP_ROUTES.api_version,
        "kind": HTTP_ROUTES.name,
        "metadata": {"name": route.name, "namespace": namespace, "labels": dict(labels)},
        "spec": spec,
    }


def _parent(ref: ParentRef) -> Object:
    said: Object = {"group": ref.group, "kind": ref.kind, "name": ref.name}
    more = {"namespace": ref.namespace, "sectionName": ref.section, "port": ref.port}
    return said | {key: value for key, value in more.items() if value}


def _rule(rule: HttpRule) -> Object:
    said: Object = {"matches": list(map(_match, rule.matches))}
    if rule.rewrite:
        said["filters"] = [{"type": "URLRewrite", "urlRewrite": {"path": _rewrite(rule)}}]
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


def _rewrite(rule: HttpRule) -> Object:
    if rule.matches[0].kind is PathKind.PREFIX:
        return {"type": "ReplacePrefixMatch", "replacePrefixMatch": rule.rewrite}
    return {"type": "ReplaceFullPath", "replaceFullPath": rule.rewrite}


def _backend(backend: Backend) -> Object:
    return {"group": "", "kind": "Service", "name": backend.service, "port": backend.port, "weight": 1}


def _match(match: HttpMatch) -> Object:
    said: Object = {"path": {"type": match.kind.value, "value": match.path}}
    if match.headers:
        said["headers"] = [{"type": "Exact", "name": name, "value": value} for name, value in match.headers]
    if match.method:
        said["method"] = match.method
    return said

"""Live HTTPRoutes as the core's, and what their Gateways say of them. Pure; the counterpart of rendering.

https://gateway-api.sigs.k8s.io/reference/spec/#routeparentstatus
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.core.model.http_routes import (
    Backend,
    Deny,
    ExtensionRef,
    HttpMatch,
    HttpRoute,
    HttpRule,
    ParentRef,
    PathKind,
)

_GATEWAY_API = "gateway.networking.k8s.io"
_MUST_HOLD = ("Accepted", "ResolvedRefs")


class _Foreign(Exception):
    """The object says something that no agent writes."""


def read_route(body: Object) -> HttpRoute | None:
    """What an HTTPRoute says, without what the API server adds by default; None where it says more than we write."""
    spec = body.get("spec") or {}
    try:
        _only(spec, "hostnames", "parentRefs", "rules")
        return HttpRoute(
            name=body["metadata"]["name"],
            hosts=tuple(spec.get("hostnames") or ()),
            parents=tuple(map(_parent, spec.get("parentRefs") or ())),
            rules=tuple(map(_rule, spec.get("rules") or ())),
        )
    except (_Foreign, KeyError, TypeError, ValueError):
        return None


def acceptance(body: Object) -> tuple[bool | None, str]:
    """Whether every Gateway that the route names has taken this generation, and what one says against it.

    None: at least one has never said anything of it, and none says anything against it. What former parents said does
    not count.
    """
    generation, namespace = body["metadata"].get("generation", 0), body["metadata"].get("namespace", "")
    said: defaultdict[tuple[object, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for status in (body.get("status") or {}).get("parents") or ():
        said[_identity(status["parentRef"], namespace)].append(status)
    wanted = [_identity(ref, namespace) for ref in (body.get("spec") or {}).get("parentRefs") or ()]
    answers = [_answer(said[parent], generation) for parent in wanted]
    against = [reason for taken, reason in answers if taken is False]
    if against:
        return False, against[0]
    return (True, "") if answers and all(taken for taken, _ in answers) else (None, "")


def _answer(statuses: Iterable[Mapping[str, Any]], generation: int) -> tuple[bool | None, str]:
    """What one parent says, by all controllers that ever wrote for it: one that is gone leaves an old entry behind."""
    found = [_verdict(status, generation) for status in statuses]
    refusals = [reason for taken, reason in found if taken is False]
    if refusals:
        return False, refusals[0]
    if any(taken for taken, _ in found):
        return True, ""
    return (False, "a Gateway has not taken its last change yet") if found else (None, "")


def _identity(ref: Mapping[str, Any], namespace: str) -> tuple[object, ...]:
    """Identify a parent, with the defaults that the API server may leave out of a status."""
    group, kind = ref.get("group", _GATEWAY_API), ref.get("kind", "Gateway")
    return group, kind, ref.get("namespace") or namespace, ref["name"], ref.get("sectionName", ""), ref.get("port", 0)


def _verdict(status: Mapping[str, Any], generation: int) -> tuple[bool | None, str]:
    """Whether one controller has taken this generation, or why it refuses it; None: it has not said so yet."""
    known = {
        each.get("type"): each
        for each in status.get("conditions") or ()
        if each.get("observedGeneration", 0) >= generation
    }
    refused = [known[name] for name in _MUST_HOLD if known.get(name, {}).get("status") == "False"]
    if refused:
        return False, f"{refused[0].get('reason', '')}: {refused[0].get('message', '')}"
    is_taken = all(known.get(name, {}).get("status") == "True" for name in _MUST_HOLD)
    return (True, "") if is_taken else (None, "")


def _rule(rule: Mapping[str, Any]) -> HttpRule:
    _only(rule, "matches", "filters", "backendRefs", "timeouts", "name")
    matches = tuple(map(_match, rule.get("matches") or ()))
    rewrite, extension = "", None
    for each in rule.get("filters") or ():
        if each.get("type") == "URLRewrite":
            rewrite = _rewrite(each["urlRewrite"])
        elif each.get("type") == "ExtensionRef":
            extension = _extension(each["extensionRef"])
        else:
            raise _Foreign
    timeouts = rule.get("timeouts") or {}
    _only(timeouts, "request")
    return HttpRule(matches, _destination(rule, extension, rewrite), rewrite, timeouts.get("request", ""))


def _destination(rule: Mapping[str, Any], extension: ExtensionRef | None, rewrite: str) -> Backend | Deny:
    backends = list(map(_backend, rule.get("backendRefs") or ()))
    if extension is not None:
        if backends or rewrite:
            raise _Foreign
        return Deny(extension=extension)
    if len(backends) > 1:
        raise _Foreign
    return backends[0] if backends else Deny()


def _backend(ref: Mapping[str, Any]) -> Backend:
    _only(ref, "group", "kind", "name", "port", "weight")
    if (ref.get("group", ""), ref.get("kind", "Service"), ref.get("weight", 1)) != ("", "Service", 1):
        raise _Foreign
    return Backend(ref["name"], int(ref["port"]))


def _rewrite(said: Mapping[str, Any]) -> str:
    _only(said, "path")
    path = said["path"]
    _only(path, "type", "replacePrefixMatch", "replaceFullPath")
    return str(path.get("replacePrefixMatch") or path["replaceFullPath"])


def _extension(ref: Mapping[str, Any]) -> ExtensionRef:
    _only(ref, "group", "kind", "name")
    return ExtensionRef(ref["group"], ref["kind"], ref["name"])


def _match(match: Mapping[str, Any]) -> HttpMatch:
    _only(match, "path", "headers", "method")
    path = match.get("path") or {}
    headers = tuple(sorted(_headers(match.get("headers") or ())))
    return HttpMatch(path.get("value", "/"), PathKind(path.get("type", "PathPrefix")), headers, match.get("method", ""))


def _headers(headers: Any) -> Iterator[tuple[str, str]]:
    for header in headers:
        _only(header, "type", "name", "value")
        if header.get("type", "Exact") != "Exact":
            raise _Foreign
        yield header["name"], header["value"]


def _parent(ref: Mapping[str, Any]) -> ParentRef:
    _only(ref, "group", "kind", "name", "namespace", "sectionName", "port")
    return ParentRef(
        ref["name"],
        ref.get("namespace", ""),
        ref.get("sectionName", ""),
        int(ref.get("port", 0)),
        ref.get("kind", "Gateway"),
        ref.get("group", _GATEWAY_API),
    )


def _only(said: Mapping[str, Any], *known: str) -> None:
    if set(said) - set(known):
        raise _Foreign

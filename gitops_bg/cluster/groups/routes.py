"""Live HTTPRoutes as the core's. Pure; the counterpart of rendering."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.cluster.groups.manifests import owner_in
from gitops_bg.cluster.observation.gateways import acceptance, is_reported
from gitops_bg.core import names
from gitops_bg.core.model.auxiliary import (
    Backend,
    Deny,
    ExtensionRef,
    HttpMatch,
    HttpRoute,
    HttpRule,
    ParentRef,
    PathKind,
    RivalRoute,
    RouteClaim,
)
from gitops_bg.spec.manifests.routes import rewritten_path

_GATEWAY_API = "gateway.networking.k8s.io"


_T = TypeVar("_T")


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
    except (_Foreign, LookupError, TypeError, ValueError):
        return None


def rival_of(body: Object) -> RivalRoute:
    """What an HTTPRoute of somebody else claims. What it says in a way that no agent writes, is left out: only requests
    that a group says in the same words are asked for.
    """
    metadata, spec = body["metadata"], body.get("spec") or {}
    labels = metadata.get("labels") or {}
    manager = labels.get(names.MANAGED_BY)
    rules: list[dict[str, Any]] = spec.get("rules") or []
    matches: list[dict[str, Any]] = [each for rule in rules for each in rule.get("matches") or [{}]]
    parents, hosts = spec.get("parentRefs") or [], tuple(spec.get("hostnames") or ())
    claim = RouteClaim(tuple(_known(_parent, parents)), hosts, tuple(dict.fromkeys(_known(_match, matches))))
    is_ours = manager == names.MANAGER
    return RivalRoute(
        name=metadata["name"],
        owner=owner_in(labels) or manager or "somebody else",
        claim=claim,
        born=metadata.get("creationTimestamp", ""),
        whole=(len(claim.parents), len(list(_known(_match, matches)))) == (len(parents), len(matches)),
        answered=is_reported(body),
        taken=acceptance(body)[0],
        app=labels.get(names.APP, "") if is_ours else "",
        group=labels.get(names.RELEASE_GROUP, "") if is_ours else "",
    )


def _known(read: Callable[[Mapping[str, Any]], _T], parts: Iterable[Mapping[str, Any]]) -> Iterator[_T]:
    for each in parts:
        with suppress(_Foreign, LookupError, TypeError, ValueError):
            yield read(each)


def _rule(rule: Mapping[str, Any]) -> HttpRule:
    _only(rule, "matches", "filters", "backendRefs", "timeouts", "name")
    matches = tuple(map(_match, rule.get("matches") or ()))
    rewrite, extension = "", None
    for each in rule.get("filters") or ():
        if each.get("type") == "URLRewrite":
            rewrite = _rewrite(each["urlRewrite"], matches[0].kind)
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


def _rewrite(said: Mapping[str, Any], matched: PathKind) -> str:
    _only(said, "path")
    path = said["path"]
    by = str(path.get("replacePrefixMatch") or path["replaceFullPath"])
    if path != rewritten_path(matched, by):
        raise _Foreign
    return by


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

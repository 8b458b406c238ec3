"""How HTTPRoutes and Services differ from those wanted: rule by rule, by what each matches. Pure.

Compares what they say, never server-defaulted objects; a rule in between changes no line of another one.
"""

from collections.abc import Iterator, Mapping

from gitops_bg.core.groups.observed import LiveRoute, StableService
from gitops_bg.core.model.http_routes import Backend, Deny, HttpMatch, HttpRoute, HttpRule, ParentRef, PathKind
from gitops_bg.spec.manifests.differences import Difference


def route_differences(live: Mapping[str, LiveRoute], wanted: Mapping[str, HttpRoute]) -> Iterator[Difference]:
    """Yield them by the names of the HTTPRoutes; ``wanted`` are as they read back from a cluster."""
    for name in sorted({*live, *wanted}):
        yield from _of_route(f"HTTPRoute {name}", live.get(name), wanted.get(name))


def service_differences(live: Mapping[str, StableService], wanted: Mapping[str, str]) -> Iterator[Difference]:
    """Yield the Services that follow another member than the wanted one, by name."""
    for name in sorted({*live, *wanted}):
        before = _followed(live[name]) if name in live else None
        after = f"follows {wanted[name]}" if name in wanted else None
        if before != after:
            yield Difference(f"Service {name}", before, after)


def _followed(service: StableService) -> str:
    return service.foreign or f"follows {service.member or 'no member'}"


def _of_route(name: str, live: LiveRoute | None, wanted: HttpRoute | None) -> Iterator[Difference]:
    if live is not None and (live.foreign or live.route is None):
        after = "as main asks for it" if wanted else None
        yield Difference(name, live.foreign or "says what no agent writes", after)
        return
    route = live.route if live is not None else None
    before, after_lines = (_lines(each) if each else {} for each in (route, wanted))
    found = [
        Difference(f"{name}: {key}", before.get(key), after_lines.get(key))
        for key in {**before, **after_lines}
        if before.get(key) != after_lines.get(key)
    ]
    yield from found
    if not found and route != wanted:
        yield Difference(f"{name}: its rules", "in another order", "in the wanted order")


def _lines(route: HttpRoute) -> dict[str, str]:
    """Return what a route says: its parents, its hosts, and where each match leads. Of two that are alike the first
    one wins.
    """
    said = {"parentRefs": ", ".join(map(_parent, route.parents)), "hostnames": ", ".join(route.hosts) or "all"}
    for rule in route.rules:
        for match in rule.matches:
            said.setdefault(match_text(match), _to(rule))
    return said


def match_text(match: HttpMatch) -> str:
    """Return what a rule matches.

    >>> match_text(HttpMatch("/cart", PathKind.EXACT, (("X-Version", "v2"),), "GET"))
    'GET /cart (Exact), X-Version: v2'
    """
    kind = "" if match.kind is PathKind.PREFIX else f" ({match.kind})"
    headers = (f"{name}: {value}" for name, value in match.headers)
    return ", ".join((f"{match.method} {match.path}{kind}".strip(), *headers))


def _to(rule: HttpRule) -> str:
    rewrite = f", rewritten to {rule.rewrite}" if rule.rewrite else ""
    timeout = f", at most {rule.timeout}" if rule.timeout else ""
    return _target(rule.to) + rewrite + timeout


def _target(to: Backend | Deny) -> str:
    backend = to if isinstance(to, Backend) else to.backend
    if backend is not None:
        return f"{backend.service}:{backend.port}"
    extension = to.extension if isinstance(to, Deny) else None
    return f"{extension.kind} {extension.name}" if extension else "no backend"


def _parent(ref: ParentRef) -> str:
    place = f"{ref.namespace}/" if ref.namespace else ""
    section = f", section {ref.section}" if ref.section else ""
    return f"{ref.kind} {place}{ref.name}{section}" + (f", port {ref.port}" if ref.port else "")

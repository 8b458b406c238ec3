"""Who else has live HTTPRoutes for the requests of a group: of two that say the same requests, the older one has them.

https://gateway-api.sigs.k8s.io/reference/spec/#httprouterule. A promotion of the group would change nothing for users
as long as an older route of somebody else answers them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gitops_bg.core.groups.observed import RivalRoute
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.http_routes import HttpMatch, HttpRoute, ParentRef, PathKind


def first_of_others(world: GroupWorld, routes: Iterable[HttpRoute]) -> str:
    """Which route of somebody else gets requests before these of the group, in a sentence; empty where none does."""
    for name, rival, match in (found for route in routes for found in _before(world, route)):
        has = f"HTTPRoute {name} of {rival.owner} has the requests {match.path} first"
        return f"{has}: it says the same ones, and is older"
    return ""


def _before(world: GroupWorld, route: HttpRoute) -> Iterator[tuple[str, RivalRoute, HttpMatch]]:
    """The older routes of others that claim requests of a route, each with one of these."""
    live = world.observed.routes.get(route.name)
    own = {_in_one_spelling(match) for rule in route.rules for match in rule.matches}
    for name, rival in sorted(world.observed.rivals.items()):
        is_older = live is None or (rival.born, name) < (live.born, route.name)
        is_first = is_older and _meet(world.key.namespace, route, rival)
        shared = own.intersection(map(_in_one_spelling, rival.matches)) if is_first else set[HttpMatch]()
        for match in sorted(shared, key=lambda each: (each.path, each.method)):
            yield name, rival, match


def _in_one_spelling(match: HttpMatch) -> HttpMatch:
    """A match with the words that others of the same requests have: the slash at the end of a prefix and the case of a
    header's name say nothing.
    """
    path = (match.path.rstrip("/") or "/") if match.kind is PathKind.PREFIX else match.path
    headers = tuple(sorted((name.lower(), value) for name, value in match.headers))
    return replace(match, path=path, headers=headers)


def _meet(namespace: str, route: HttpRoute, rival: RivalRoute) -> bool:
    ours, theirs = ([_in_full(namespace, each) for each in parents] for parents in (route.parents, rival.parents))
    return _same_hosts(route.hosts, rival.hosts) and any(_same_parent(one, other) for one in ours for other in theirs)


def _in_full(namespace: str, parent: ParentRef) -> ParentRef:
    return replace(parent, namespace=parent.namespace or namespace)


def _same_hosts(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two routes have a host in common; the more specific host wins before any age counts."""
    return bool(set(one) & set(other)) or (not one and not other)


def _same_parent(one: ParentRef, other: ParentRef) -> bool:
    is_same = (one.group, one.kind, one.namespace, one.name) == (other.group, other.kind, other.namespace, other.name)
    sections = not one.section or not other.section or one.section == other.section
    return is_same and sections and (not one.port or not other.port or one.port == other.port)

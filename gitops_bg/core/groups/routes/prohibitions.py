"""Which requests for a version must not fall through to the active one, though it would answer them.

A request without a route of its own version is answered by the active version. That is wrong where the version has the
service, and has left the route out, or where the route is younger than the version (versions-and-routes.md §8).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from gitops_bg.core.groups.model import GroupState, Route, RouteMatch, VersionStage


@dataclass(frozen=True, slots=True)
class Prohibition:
    """Requests for ``version`` that match are denied."""

    version: str
    match: RouteMatch


def prohibitions(state: GroupState) -> frozenset[Prohibition]:
    """Return all prohibitions; the active version and archived ones have none."""
    return frozenset(_found(state))


def _found(state: GroupState) -> Iterator[Prohibition]:
    active = state.only(VersionStage.ACTIVE)
    theirs = [route for route in state.routes if route.version == active]
    for version in state.at(VersionStage.CANDIDATE, VersionStage.LEGACY):
        own = {route.match.requests for route in state.routes if route.version == version}
        for route in theirs:
            if route.match.requests not in own and _hides(state, version, active, route):
                yield Prohibition(version, route.match)


def _hides(state: GroupState, version: str, active: str, route: Route) -> bool:
    """Return whether a version must not have a route of the active one."""
    is_newer = state.stage(version) is VersionStage.LEGACY and route.initial_version == active
    return is_newer or state.has(route.service, version)

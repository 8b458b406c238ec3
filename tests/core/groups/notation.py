"""Groups in the notation of the conformance table (`test_lifecycle`), read and written.

``v1A v2C`` are versions in stages (R: archived), ``svc@v2(v1)`` pods of v1 that serve in v2, ``/t->svc@v1`` a route,
and ``/t->404@v2`` a request that must not fall through to the active version.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from gitops_bg.core.groups.model import (
    Endpoint,
    GroupState,
    GroupVersion,
    Registration,
    Route,
    RouteMatch,
    VersionStage,
)
from gitops_bg.core.groups.routing import prohibitions

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
_STAGES = {"A": VersionStage.ACTIVE, "C": VersionStage.CANDIDATE, "L": VersionStage.LEGACY, "R": VersionStage.ARCHIVED}
_LETTERS = {stage: letter for letter, stage in _STAGES.items()}
_PART = re.compile(r"(?:(?P<path>/[^-]*)->)?(?P<service>\w+)@(?P<version>v\d+)(?:\((?P<initial>v\d+)\))?")


def group(versions: str, parts: str = "", registry: str = "") -> GroupState:
    """Read a group."""
    made = GroupState(tuple(GroupVersion(each[:-1], _STAGES[each[-1]], NOW) for each in versions.split()))
    endpoints, routes = [], []
    for found in map(_PART.fullmatch, parts.split()):
        assert found is not None
        place = (found["service"], found["version"], found["initial"] or found["version"])
        if found["path"]:
            routes.append(Route(*place, RouteMatch(found["path"])))
        else:
            endpoints.append(Endpoint(*place))
    rows = [found for found in map(_PART.fullmatch, registry.split()) if found]
    listed = tuple(Registration(row["service"], row["version"], row["initial"] or row["version"]) for row in rows)
    return GroupState(made.versions, tuple(endpoints), listed, tuple(routes))


def versions_of(state: GroupState) -> str:
    return " ".join(f"{each.name}{_LETTERS[each.stage]}" for each in state.versions)


def parts_of(state: GroupState) -> set[str]:
    """Its endpoints, routes and prohibitions."""
    endpoints = {_named(each) for each in state.endpoints}
    routes = {f"{each.match.path}->{_named(each)}" for each in state.routes}
    assert len(endpoints) == len(state.endpoints), "an endpoint twice"
    assert len(routes) == len(state.routes), "a route twice"
    return endpoints | routes | {f"{each.match.path}->404@{each.version}" for each in prohibitions(state)}


def registry_of(state: GroupState) -> set[str]:
    return {_named(each) for each in state.registrations}


def _named(part: Endpoint | Registration | Route) -> str:
    born = "" if part.initial_version == part.version else f"({part.initial_version})"
    return f"{part.service}@{part.version}{born}"

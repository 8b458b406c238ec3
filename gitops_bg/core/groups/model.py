"""What a release group consists of: versions in stages, and what each version serves; how versions change their stages,
and what they serve goes with them. All or nothing.

After Netcracker's control plane (versions-and-routes.md §6, §7), without its defects (versions-and-routes.md §10).
"""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import field, replace
from datetime import datetime
from enum import StrEnum
from typing import Annotated, TypeVar

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.auxiliary import NO_BACKEND, Deny, ParentRef, PathKind
from gitops_bg.core.written import Matching

VERSION = r"v[1-9][0-9]{0,8}"
"""The names of versions, which are also those of their folders."""
VersionName = Annotated[str, Matching(VERSION, "write the name of a version: v1, v2, … v10")]


class VersionStage(StrEnum):
    """Where a version is in its life: candidate → active → legacy → archived; a rollback leads back."""

    CANDIDATE = "Candidate"
    ACTIVE = "Active"
    LEGACY = "Legacy"
    ARCHIVED = "Archived"


class TransitionStep(StrEnum):
    """How far a promotion or a rollback is; each step is over once the Gateway has taken its routes."""

    PREPARE = "Prepare"
    """Both versions have rules with the version's header; requests without it go where they went."""
    SWITCH = "Switch"
    """Requests without the header go to the new active version."""


class Rejection(StrEnum):
    """Why a change of stages was rejected."""

    NO_SUCH_VERSION = "NoSuchVersion"
    NOT_A_CANDIDATE = "NotACandidate"
    NO_ACTIVE = "NoActiveVersion"
    NO_LEGACY = "NoLegacyVersion"
    IS_ACTIVE = "IsActive"
    WRONG_SIZE = "WrongArchiveSize"
    PASSED = "VersionHasPassed"


class PromotionRejected(GitopsBgError):
    """Nothing was changed: the group is in no stage for what was asked."""

    reason = "PromotionRejected"

    def __init__(self, why: Rejection, message: str) -> None:
        super().__init__(message)
        self.why = why


def version_number(name: str) -> int:
    """Return the number of a version's name, by which versions are in order; 0 where it is none.

    >>> sorted(["v12", "v2", "v1", "v10"], key=version_number)
    ['v1', 'v2', 'v10', 'v12']
    >>> version_number("v01"), version_number("2")
    (0, 0)
    """
    return int(name[1:]) if re.fullmatch(VERSION, name) else 0


def version_in(digest: str) -> str:
    """Return the version of what a run, or a hold, is about: its name, and what its folder says
    (`GroupWorld.digest_of`).

    >>> version_in("v2-3f9c"), version_in("v2")
    ('v2', 'v2')
    """
    return digest.partition("-")[0]


@dataclass(frozen=True, slots=True)
class GroupVersion:
    """A version of the whole group."""

    name: str
    stage: VersionStage
    changed_at: datetime
    """When it came to this stage."""


@dataclass(frozen=True, slots=True)
class Part:
    """Something of a service that a version has."""

    service: str
    version: str
    """The version that it serves in now."""
    initial_version: str
    """The version that it was deployed in; it never changes."""


@dataclass(frozen=True, slots=True)
class Endpoint(Part):
    """Pods of a service."""


@dataclass(frozen=True, slots=True)
class Registration(Part):
    """The word that a service belongs to a version, also where it has no pods of its own."""


@dataclass(frozen=True, slots=True)
class RouteMatch:
    """The requests that a route is for."""

    path: str
    kind: PathKind = PathKind.PREFIX
    host: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    methods: tuple[str, ...] = ()

    @property
    def requests(self) -> tuple[object, ...]:
        """What two matches of the same requests have in common, however they are written.

        >>> RouteMatch("/", headers=(("X-Beta", "1"),)).requests == RouteMatch("/", headers=(("x-beta", "1"),)).requests
        True
        """
        headers = sorted((name.lower(), value) for name, value in self.headers)
        return self.host, self.kind, self.path, tuple(headers), tuple(sorted(self.methods))


@dataclass(frozen=True, slots=True)
class Route(Part):
    """Leads requests to a service. With ``allowed`` false nobody may send them, whatever the version."""

    match: RouteMatch
    allowed: bool = True
    port: int = 80
    """The port of the service's Service."""
    rewrite: str = ""
    """What replaces the matched path (`HttpRule.rewrite`)."""
    timeout: str = ""
    """How long a request may take, as ``10s``; empty: no limit."""


@dataclass(frozen=True, slots=True)
class GroupGateway:
    """How requests from outside reach the versions of a group."""

    parents: tuple[ParentRef, ...]
    hosts: tuple[str, ...] = ()
    """Of routes that name none; empty: every host of the Gateway."""
    version_header: str = "X-Version"
    deny: Deny = NO_BACKEND
    """What becomes of requests that the version they name must not answer."""
    base: str = ""
    """What the names of its HTTPRoutes begin with; empty: the name of the group. Routes that take the place of others
    have another one, to be beside them (`core.groups.attaching`).
    """

    @property
    def attachment(self) -> tuple[object, ...]:
        """What decides which requests reach the routes, or whether a Gateway takes them at all: it refuses a route as a
        whole for a filter that it does not know.
        """
        return frozenset(self.parents), frozenset(self.hosts), self.version_header.lower(), self.deny


@dataclass(frozen=True, slots=True)
class GroupState:
    """All of a group. The versions are in the order of their numbers."""

    versions: tuple[GroupVersion, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    registrations: tuple[Registration, ...] = ()
    routes: tuple[Route, ...] = field(default=())

    def at(self, *stages: VersionStage) -> tuple[str, ...]:
        """Return the names of the versions in one of these stages, lowest number first."""
        return tuple(each.name for each in self.versions if each.stage in stages)

    def stage(self, name: str) -> VersionStage | None:
        """Return the stage of a version; None for one that does not exist."""
        for each in self.versions:  # Asked dozens of times a decision.
            if each.name == name:
                return each.stage
        return None

    def only(self, stage: VersionStage) -> str:
        """Return the version in a stage that holds at most one; empty if it holds none."""
        for each in self.versions:
            if each.stage is stage:
                return each.name
        return ""

    def has(self, service: str, version: str) -> bool:
        """Return whether a version has a service of its own: pods, or the word that it belongs to it."""
        return any(
            (each.service, each.version) == (service, version) for each in (*self.endpoints, *self.registrations)
        )


def by_number(versions: Iterable[GroupVersion]) -> tuple[GroupVersion, ...]:
    """Return versions by number, and those without one by name before them."""
    return tuple(sorted(versions, key=lambda each: (version_number(each.name), each.name)))


_P = TypeVar("_P", bound=Part)
_Stages = dict[VersionStage, VersionStage]


def promote(state: GroupState, version: str, archive_size: int, now: datetime) -> GroupState:
    """Make a candidate the active version.

    The active one becomes legacy and the legacy one archived; of the archived ones the ``archive_size`` newest remain.
    The other candidates are deleted. What the new version does not bring itself serves on in it. Raises
    `PromotionRejected`.
    """
    if archive_size < 0:
        raise PromotionRejected(Rejection.WRONG_SIZE, f"archiveSize is {archive_size}: write 0 or more")
    active = _only(state, VersionStage.ACTIVE, Rejection.NO_ACTIVE)
    stage = _stage(state, version)
    if stage is not VersionStage.CANDIDATE:
        message = f"{version} is {stage.lower()}, and only a candidate is promoted"
        raise PromotionRejected(Rejection.NOT_A_CANDIDATE, message)
    moved = _in_stages(state, _ON, now, but={each for each in state.at(VersionStage.CANDIDATE) if each != version})
    archived = moved.at(VersionStage.ARCHIVED)
    too_many = archived[: max(0, len(archived) - archive_size)]
    others = moved.at(VersionStage.CANDIDATE)
    return _handed_over(_without_versions(moved, {*others, *too_many}), active, version, _always)


def rollback(state: GroupState, now: datetime) -> GroupState:
    """Make the legacy version active again, and the active one a candidate; the other candidates are deleted.

    What was born in the version rolled back stays in it. There is no legacy version afterwards, so that two rollbacks
    never follow one another. Raises `PromotionRejected`.
    """
    active = _only(state, VersionStage.ACTIVE, Rejection.NO_ACTIVE)
    legacy = _only(state, VersionStage.LEGACY, Rejection.NO_LEGACY)
    left = _without_versions(state, set(state.at(VersionStage.CANDIDATE)))
    moved = _in_stages(left, _BACK, now)
    return _handed_over(moved, active, legacy, lambda part: part.initial_version != active)


def delete(state: GroupState, version: str) -> GroupState:
    """Delete a version that is not the active one, with all it has. Raises `PromotionRejected`."""
    if _stage(state, version) is VersionStage.ACTIVE:
        raise PromotionRejected(Rejection.IS_ACTIVE, f"{version} is active: promote another one, or roll back, first")
    return _without_versions(state, {version})


def add_service(
    state: GroupState, service: str, version: str, matches: Iterable[RouteMatch], now: datetime, *, pods: bool = True
) -> GroupState:
    """Note what a version brings of a service: its pods, unless ``pods`` is false, and its routes.

    A new version is a candidate. A version that has passed gets no new routes. Raises `PromotionRejected`.
    """
    place = _endpoint_of(state, service, version)
    state = _with_version(state, place.version, now)
    keys = {(each.match, each.initial_version) for each in state.routes if each.service == service}
    new = [match for match in matches if (match, place.initial_version) not in keys]
    passed = state.stage(place.version) in (VersionStage.LEGACY, VersionStage.ARCHIVED)
    if passed and (new or not state.has(service, place.version)):
        message = f"{place.version} has passed: it gets nothing new of {service}"
        raise PromotionRejected(Rejection.PASSED, message)
    routes = tuple(Route(service, place.version, place.initial_version, match) for match in new)
    kept = tuple(each for each in state.endpoints if each != place)
    return replace(
        state,
        endpoints=(*kept, place) if pods else state.endpoints,
        registrations=_with_part(state.registrations, Registration(service, place.version, place.initial_version)),
        routes=(*state.routes, *routes),
    )


def remove_service(state: GroupState, service: str, version: str) -> GroupState:
    """Take the word back that a service belongs to a version. A candidate that is left with nothing is deleted."""
    kept = tuple(each for each in state.registrations if (each.service, each.version) != (service, version))
    left = replace(state, registrations=kept)
    has_something = any(each.version == version for each in (*left.endpoints, *left.registrations, *left.routes))
    is_candidate = left.stage(version) is VersionStage.CANDIDATE
    return left if has_something or not is_candidate else _without_versions(left, {version})


_ON: _Stages = {
    VersionStage.CANDIDATE: VersionStage.ACTIVE,
    VersionStage.ACTIVE: VersionStage.LEGACY,
    VersionStage.LEGACY: VersionStage.ARCHIVED,
}
_BACK: _Stages = {VersionStage.LEGACY: VersionStage.ACTIVE, VersionStage.ACTIVE: VersionStage.CANDIDATE}


def _only(state: GroupState, stage: VersionStage, missing: Rejection) -> str:
    found = state.only(stage)
    if not found:
        raise PromotionRejected(missing, f"the group has no {stage.lower()} version")
    return found


def _stage(state: GroupState, version: str) -> VersionStage:
    stage = state.stage(version)
    if stage is None:
        raise PromotionRejected(Rejection.NO_SUCH_VERSION, f"the group has no version {version}")
    return stage


def _in_stages(state: GroupState, stages: _Stages, now: datetime, but: Collection[str] = ()) -> GroupState:
    moved = (
        replace(each, stage=stages[each.stage], changed_at=now)
        if each.stage in stages and each.name not in but
        else each
        for each in state.versions
    )
    return replace(state, versions=tuple(moved))


def _without_versions(state: GroupState, gone: Collection[str]) -> GroupState:
    """Delete versions with all they have."""
    return GroupState(
        tuple(each for each in state.versions if each.name not in gone),
        tuple(each for each in state.endpoints if each.version not in gone),
        tuple(each for each in state.registrations if each.version not in gone),
        tuple(each for each in state.routes if each.version not in gone),
    )


@dataclass(frozen=True, slots=True)
class _Move:
    """From one version to another, for what may go."""

    source: str
    target: str
    goes: Callable[[Part], bool]

    def of(self, part: _P) -> _P:
        return replace(part, version=self.target) if part.version == self.source and self.goes(part) else part


def _handed_over(state: GroupState, source: str, target: str, goes: Callable[[Part], bool]) -> GroupState:
    """Let what ``target`` does not bring itself serve on in it: pods, and the routes to them."""
    both = {each.service for each in (*state.endpoints, *state.registrations) if state.has(each.service, target)}
    move = _Move(source, target, lambda part: part.service not in both and goes(part))
    services = {each.service for each in (*state.endpoints, *state.registrations) if move.of(each) != each}
    taken = {each.match.requests for each in state.routes if each.version == target}
    with_pods = _Move(
        source, target, lambda part: part.service in services and goes(part) and _requests(part) not in taken
    )
    return replace(
        state,
        endpoints=tuple(map(move.of, state.endpoints)),
        registrations=tuple(map(move.of, state.registrations)),
        routes=tuple(map(with_pods.of, state.routes)),
    )


def _always(_: Part) -> bool:
    return True


def _requests(part: Part) -> tuple[object, ...]:
    return part.match.requests if isinstance(part, Route) else ()


def _endpoint_of(state: GroupState, service: str, version: str) -> Endpoint:
    """Return where a service of a version serves now: pods that were deployed in it may serve in another one."""
    active = state.only(VersionStage.ACTIVE)
    wanted = version or active
    if not wanted:
        raise PromotionRejected(Rejection.NO_ACTIVE, "the group has no active version, and none is named")
    own = [each for each in state.endpoints if each.service == service]
    found = [each for each in own if each.initial_version == wanted] or [each for each in own if each.version == wanted]
    if found and version_number(wanted) <= version_number(active):
        return found[0]
    return Endpoint(service, wanted, wanted)


def _with_version(state: GroupState, version: str, now: datetime) -> GroupState:
    """Add a version that is new; the first one of all is active."""
    if state.stage(version) is not None:
        return state
    active = state.only(VersionStage.ACTIVE)
    if active and version_number(version) < version_number(active):
        raise PromotionRejected(Rejection.PASSED, f"{version} is new, and lower than the active {active}")
    stage = VersionStage.CANDIDATE if active else VersionStage.ACTIVE
    return replace(state, versions=by_number((*state.versions, GroupVersion(version, stage, now))))


def _with_part(parts: tuple[_P, ...], part: _P) -> tuple[_P, ...]:
    return parts if part in parts else (*parts, part)

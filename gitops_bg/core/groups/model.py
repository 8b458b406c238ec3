"""What a release group consists of: versions in stages, and what each version serves."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.http_routes import NO_BACKEND, Deny, ParentRef, PathKind

_NAME = re.compile(r"v([1-9][0-9]{0,8})")


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
    found = _NAME.fullmatch(name)
    return int(found[1]) if found else 0


def version_in(digest: str) -> str:
    """The version of what a run, or a hold, is about: its name, and what its folder says (`GroupWorld.digest_of`).

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
    have another one, to be beside them (`core.groups.routes.attaching`).
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

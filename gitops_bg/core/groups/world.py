"""All that a decision on a group depends on, in one value, and whether the services of its versions run. Each step
takes one world and returns one with another record.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.delivery.ledger import with_entry
from gitops_bg.core.groups.inputs import DesiredGroup, DesiredRoute, GroupSpec, Member, ObservedGroup
from gitops_bg.core.groups.model import (
    Endpoint,
    GroupGateway,
    GroupState,
    Route,
    RouteMatch,
    VersionStage,
    version_in,
    version_number,
)
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.routing import captures
from gitops_bg.core.model.analysis import MOST_RUNS, Analyses, AnalysisRun, AnalysisStage
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.hooks import HookRun
from gitops_bg.core.model.journal import SuspensionChanged
from gitops_bg.core.model.record import Event, HookState, LedgerEntry, OperatorState
from gitops_bg.core.model.version import GroupKey, Source, SubjectKind

UNKNOWN_MEMBER = Member(reason="is not there yet")


def member_name(service: str, version: str) -> str:
    """Return the app of a service in a version, and its Service.

    >>> member_name("cart", "v1")
    'cart-v1'
    """
    return f"{service}-{version}"


@dataclass(frozen=True)  # Without slots, so that what a decision asks for many times is worked out once.
class GroupWorld:
    """The group at one moment; ``spec`` is that of a usable folder."""

    key: GroupKey
    spec: GroupSpec
    desired: DesiredGroup
    observed: ObservedGroup
    record: GroupRecord
    now: datetime
    rejected: tuple[str, str] = ("", "")
    """Why what Git asks for is not done: a reason and a sentence; empty where it is."""

    def with_record(self, **changes: object) -> "GroupWorld":
        """Return the world with some fields of the record changed: this very one, and what it has answered, where none
        is.
        """
        record = replace(self.record, **changes)  # type: ignore[arg-type]
        return self if record == self.record else replace(self, record=record)

    def with_part(self, part: Analyses | HookState | OperatorState) -> "GroupWorld":
        """Return the world with ``part`` in its record; each try to promote a version has a number of its own."""
        kept = part.within(MOST_RUNS, MOST_RUNS) if isinstance(part, Analyses) else part
        record = self.record.with_part(kept)
        runs: tuple[AnalysisRun | HookRun, ...] = (*record.analyses.runs, *record.hook_state.runs)
        record = replace(record, rollout=max((record.rollout, *(run.rollout for run in runs))))
        return self if record == self.record else replace(self, record=record)

    def with_ledger_entry(
        self,
        event: Event,
        *,
        to: str = "",
        origin: str = "",
        by: str = "",
        reason: str = "",
        asked: bool = True,
        source: Source | None = None,
    ) -> "GroupWorld":
        """Return the world with one more ledger entry to write to Git; ``asked``: main asked for it, by the commit
        ``source``, which is empty where nobody can tell; None: by what it says now.
        """
        if source is None or not asked:
            source = Source(self.desired.commit if asked else "")
        entry = LedgerEntry(
            sequence=0,
            at=self.now,
            event=event,
            from_version=version_number(origin) or None,
            to_version=version_number(to) or None,
            commit=source.commit,
            by=by or source.author,
            reason=reason,
        )
        return replace(self, record=with_entry(self.record, entry))

    # --- what the steps of `core.delivery` ask (`core.delivery.world.DeliveryWorld`) ------------------------------

    @property
    def kind(self) -> SubjectKind:
        """That it is a release group."""
        return self.key.kind

    @property
    def is_in_main(self) -> bool:
        """Whether main has its folder: of one that left, another function decides (`core.group_engine`)."""
        return True

    @property
    def ledger_at(self) -> tuple[str, int] | None:
        """The last entry that Git has of it, by epoch and number; None while nobody has looked."""
        return self.observed.git.ledger_at

    @property
    def suspended_by(self) -> Source:
        """The commit that suspended it, or ended that; main's head without an author where that is unknown."""
        return self.desired.journal.by(SuspensionChanged) or Source(self.desired.commit)

    @property
    def history(self) -> tuple[str, str]:
        """The commit that main has lost, and the one that the ledger was told of; empty: none."""
        return self.record.lost, self.record.history

    def with_history(self, lost: str, told: str) -> "GroupWorld":
        """Return the world with that in its record."""
        return self.with_record(lost=lost, history=told)

    def with_ledger_entry_of(
        self, event: Event, digest: str = "", *, reason: str = "", by: str = "", commit: str = ""
    ) -> "GroupWorld":
        """Return the world with one more ledger entry, about a version or about none."""
        return self.with_ledger_entry(event, to=version_in(digest), reason=reason, by=by, source=Source(commit))

    # --- what its own steps ask -------------------------------------------------------------------------------

    @cached_property
    def known(self) -> dict[object, Any]:
        """What was answered about this world (`core.delivery.world`)."""
        return {}

    @cached_property
    def suspended(self) -> bool:
        """Whether ``suspend`` of group.yaml is in force now."""
        suspend = self.spec.suspend
        return suspend is not None and suspend.lasts(self.now)

    @cached_property
    def resumed_at(self) -> datetime | None:
        """When the last suspension ended; None where there was none, or while the first one lasts."""
        return self.record.operator.resumed_by(self.now, suspended=self.suspended)

    @property
    def lost(self) -> str:
        """The commit that main lacks although it was seen: as the record remembers, or this look found; or empty."""
        return self.record.lost or self.desired.main.lost

    @property
    def gateway(self) -> GroupGateway | None:
        """How the routes that carry traffic are attached; None: nowhere.

        What group.yaml says takes its place once the Gateway has taken it (`core.groups.attaching`).
        """
        return self.record.gateway or self.spec.gateway

    @property
    def wanted(self) -> str:
        """The version that shall be active: what group.yaml names, or, where that was left, the one before.

        An override that is still remembered has not been answered (`core.groups.requests.lift_answered`).
        """
        return self.record.wanted(self.spec.active)

    @property
    def fallback(self) -> str:
        """The version that the group goes back to if the one that serves does not pass; empty where none may be."""
        override, run = self.record.override, self.record.analyses.run(AnalysisStage.POST)
        if override is not None:
            return version_in(override.to_digest)
        return run.fallback if run is not None and (run.running or run.paused) else ""

    @cached_property
    def state(self) -> GroupState:
        """The state of the record with the routes that Git gives it, but for those that wait for a promotion, each with
        a port that its Service has.
        """
        state = with_routes(self.record.state, self.desired)
        state = _held_back(state, self.held_back(state))
        before = {_place_of(each): each.port for each in self.record.state.routes}
        routes = (replace(each, port=self._port(each, before.get(_place_of(each)))) for each in state.routes)
        return replace(state, routes=tuple(routes))

    def _port(self, route: Route, before: int | None) -> int:
        """Return the port that a route leads to: Git's once the Service has it, else the one ``before``, else its only
        one.

        Ports come to a Service, and go, with the pods that serve them, as with an app's own route (decision 38).
        """
        has = self.member(route.service, route.initial_version).ports
        if not has:
            return before or route.port
        chosen = (port for port in (route.port, before) if port in has)
        return next(chosen, None) or (next(iter(has)) if len(has) == 1 else route.port)

    def held_back(self, state: GroupState | None = None) -> Iterator[tuple[Route, Route]]:
        """Yield the routes of the active version that Git gives requests which another of its services answers, each
        with the one that has them: who answers a request changes by a promotion, with all its gates.
        """
        now = state or with_routes(self.record.state, self.desired)
        active, hosts = now.only(VersionStage.ACTIVE), self.spec.gateway.hosts if self.spec.gateway else ()
        serving = {(each.service, each.initial_version) for each in now.endpoints}
        own = [each for each in self.record.state.routes if each.version == active]
        known = set(map(_place_of, own))
        answering = [each for each in own if each.allowed and (each.service, each.initial_version) in serving]
        for route in now.routes:
            if route.version != active or not route.allowed or _place_of(route) in known:
                continue
            for was in answering:
                if (was.service, was.initial_version) != (route.service, route.initial_version) and captures(
                    route.match, was.match, hosts
                ):
                    yield route, was

    def answers(self, member: str) -> bool:
        """Return whether a member has pods that answer."""
        return self.observed.members.get(member, UNKNOWN_MEMBER).available

    def member(self, service: str, initial_version: str) -> Member:
        """Return what the cluster shows of a service of a version."""
        return self.observed.members.get(member_name(service, initial_version), UNKNOWN_MEMBER)

    def content(self, version: str) -> str:
        """Return what identifies the folder of a version; empty where it has none."""
        found = self.desired.versions.get(version)
        return found.content if found else ""

    def digest_of(self, version: str) -> str:
        """Return what a run, or a hold, is about: the version, and what its folder says."""
        return f"{version}-{self.content(version)}"


def with_routes(state: GroupState, desired: DesiredGroup) -> GroupState:
    """Add the routes: those of each service's folder lead to where the service serves now, but for those that come too
    late (`late_routes`). A service whose folder left main keeps its last routes.

    Where several services claim the same requests of a version, because an older one still serves in it, the one that
    was born last has them, and the route of an older one stays behind (versions-and-routes.md §7).
    """
    late = set(late_routes(state, desired))
    written = [each for each in _written(state, desired) if each not in late]
    newest: dict[tuple[str, tuple[object, ...]], str] = {}
    for place, route in sorted(written, key=lambda each: version_number(each[0].initial_version)):
        newest[place.version, route.match.requests] = place.initial_version
    routes = (
        _route_in(place, route, place.version)
        if newest[place.version, route.match.requests] == place.initial_version
        else _route_in(place, route, _version_that_keeps(state, place))
        for place, route in written
    )
    return replace(state, routes=(*routes, *_routes_without_folder(state, desired)))


def _place_of(route: Route) -> tuple[str, str, RouteMatch]:
    """Return what stays of a route, whatever version it serves in."""
    return route.service, route.initial_version, route.match


def _held_back(state: GroupState, held: Iterable[tuple[Route, Route]]) -> GroupState:
    """Return the state without what is held back: what has its requests keeps them, also where Git gives them up, and
    is not left behind in another version as well.
    """
    pairs = tuple(held)
    new, before = {route for route, _ in pairs}, {_place_of(was): was for _, was in pairs}
    active = state.only(VersionStage.ACTIVE)
    others = [each for each in state.routes if each not in new]
    stays = before | {_place_of(each): each for each in others if each.version == active and _place_of(each) in before}
    routes = (*(each for each in others if _place_of(each) not in stays), *stays.values())
    return replace(state, routes=routes)


def late_routes(state: GroupState, desired: DesiredGroup) -> Iterator[tuple[Endpoint, DesiredRoute]]:
    """Yield the routes that folders say of the legacy version, and that it did not have when it was active.

    A version that has passed gets no new routes (versions-and-routes.md §6); it may lose and change those that it has.
    Nobody knows which it had where none of it is remembered: then none comes too late.
    """
    known = set(map(_place_of, state.routes))
    legacy = state.only(VersionStage.LEGACY)
    if any(route.version == legacy for route in state.routes):
        for place, route in _written(state, desired):
            if place.version == legacy and (place.service, place.initial_version, route.match) not in known:
                yield place, route


def _written(state: GroupState, desired: DesiredGroup) -> Iterator[tuple[Endpoint, DesiredRoute]]:
    for place in state.endpoints:
        version = desired.versions.get(place.initial_version)
        service = version.services.get(place.service) if version is not None else None
        for route in service.routes if service is not None else ():
            yield place, route


def with_served_routes(state: GroupState) -> GroupState:
    """Keep the routes of the active and the legacy version only: what is remembered for services whose folder leaves
    main.
    """
    served = state.at(VersionStage.ACTIVE, VersionStage.LEGACY)
    return replace(state, routes=tuple(each for each in state.routes if each.version in served))


def is_in_main(place: Endpoint, desired: DesiredGroup) -> bool:
    """Return whether the folder of a service is there."""
    version = desired.versions.get(place.initial_version)
    service = version.services.get(place.service) if version else None
    return service is not None and service.pods


def _routes_without_folder(state: GroupState, desired: DesiredGroup) -> Iterator[Route]:
    for place in state.endpoints:
        if not is_in_main(place, desired):
            own = (place.service, place.initial_version)
            kept = (each for each in state.routes if (each.service, each.initial_version) == own)
            yield from kept  # A promotion or rollback has moved them already, but for those that a newer service took.


def _version_that_keeps(state: GroupState, place: Endpoint) -> str:
    """Return the version that keeps a route which a newer service has taken over: the one before, or where it was
    born.
    """
    legacy = state.only(VersionStage.LEGACY)
    is_active = state.stage(place.version) is VersionStage.ACTIVE
    served = legacy and version_number(place.initial_version) <= version_number(legacy)
    return legacy if is_active and served else place.initial_version


def _route_in(place: Endpoint, route: DesiredRoute, version: str) -> Route:
    return Route(
        place.service,
        version,
        place.initial_version,
        route.match,
        route.allowed,
        route.port,
        route.rewrite,
        route.timeout,
    )


_MOST_NAMED = 3


def members_healthy(world: GroupWorld, version: str) -> GateResult:
    """Require that every service which the version brings runs what its folder says, at today's size: one that fails
    stops all. A version without any cannot be judged, by nobody: no policy, analysis or approval is about it.
    """
    if not any(brought_by(world, version)):
        remedy = f"add the folder of a service to {version}/"
        reason = f"{version} brings no service with pods, so that nothing of it can be judged"
        return GateResult(GateKind.AVAILABILITY, open=False, reason=reason, remedy=remedy)
    ill = [
        f"{member_name(each.service, each.initial_version)}: {member.reason or 'is not healthy'}"
        for each in brought_by(world, version)
        if not (member := world.member(each.service, each.initial_version)).healthy
    ]
    return _availability(ill, f"every service of {version} is healthy")


def members_available(world: GroupWorld, version: str) -> GateResult:
    """Require that every service which the version brought has pods that answer; a rollback waits for no more (I1)."""
    gone = [
        f"{member_name(each.service, each.initial_version)} has no pod that answers"
        for each in brought_by(world, version)
        if not world.member(each.service, each.initial_version).available
    ]
    return _availability(gone, f"every service of {version} answers")


def brought_by(world: GroupWorld, version: str) -> Iterator[Endpoint]:
    """Return the endpoints that serve in a version now: its own, and those that it inherited."""
    return (each for each in world.record.state.endpoints if each.version == version)


def _availability(wrong: list[str], right: str) -> GateResult:
    if not wrong:
        return GateResult(GateKind.AVAILABILITY, open=True, reason=right)
    more = f", and {len(wrong) - _MOST_NAMED} more" if len(wrong) > _MOST_NAMED else ""
    return GateResult(GateKind.AVAILABILITY, open=False, reason="; ".join(wrong[:_MOST_NAMED]) + more)

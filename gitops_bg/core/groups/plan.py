"""What shall be live of a group, and the actions that make it so: the difference between the record and the cluster.

The group never touches a pod: it writes HTTPRoutes, and the Services with the services' own names.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import takewhile

from gitops_bg.core import names
from gitops_bg.core.checks.auxiliary import OwnRoute, rivalries
from gitops_bg.core.delivery.world import MERGED, UNWANTED, answered_once, may_tidy
from gitops_bg.core.groups.model import (
    GroupState,
    PromotionRejected,
    TransitionStep,
    VersionStage,
    promote,
    rollback,
    version_in,
)
from gitops_bg.core.groups.record import (
    AdoptObject,
    ApplyGroup,
    ApplyRoute,
    CommitActive,
    DeleteGroup,
    DeleteRoute,
    DeleteService,
    FollowMember,
    GroupAction,
    GroupGitAction,
    Move,
    TransitionKind,
)
from gitops_bg.core.groups.routing import claims_requests, during, led_by_default, render
from gitops_bg.core.groups.world import GroupWorld, member_name
from gitops_bg.core.model.auxiliary import Backend, HttpRoute, as_stored, claim_of
from gitops_bg.core.model.drift import DriftLoop
from gitops_bg.core.model.main import away
from gitops_bg.core.model.version import GroupKey


@answered_once
def after_of(world: GroupWorld, version: str, archive_size: int | None = None) -> GroupState:
    """Return the state after the group has moved to a version. Raises `PromotionRejected`."""
    state = world.state
    if state.stage(version) is VersionStage.LEGACY:
        return rollback(state, world.now)
    return promote(state, version, world.spec.archive_size if archive_size is None else archive_size, world.now)


@answered_once
def wanted_routes(world: GroupWorld) -> tuple[HttpRoute, ...]:
    """Return the HTTPRoutes that shall be live now; none without a gateway."""
    return (*carrying_routes(world), *replacement_routes(world))


@answered_once
def carrying_routes(world: GroupWorld) -> tuple[HttpRoute, ...]:
    """Return the HTTPRoutes that carry traffic now, or shall."""
    gateway, moving = world.gateway, world.record.transition
    if gateway is None or not world.observed.has_gateway_api:
        return ()
    if moving is None:
        return render(world.state, world.key, gateway)
    after = after_of(world, moving.target, moving.archive_size)
    return during(world.state, after, world.key, gateway, moving.step)


def routes_after(world: GroupWorld, version: str) -> tuple[HttpRoute, ...]:
    """Return the HTTPRoutes that would carry traffic once requests have moved to a version; none where they cannot."""
    gateway = world.gateway
    if gateway is None or not world.observed.has_gateway_api:
        return ()
    try:
        after = after_of(world, version)
    except PromotionRejected:
        return ()
    return during(world.state, after, world.key, gateway, TransitionStep.SWITCH)


def replacement_routes(world: GroupWorld) -> tuple[HttpRoute, ...]:
    """Return those that are to take their place at another Gateway, or for other hosts (`core.groups.attaching`)."""
    beside = world.record.reattachment
    if beside is None or not world.observed.has_gateway_api:
        return ()
    return render(world.state, world.key, beside.to)


def wanted_services(world: GroupWorld) -> Mapping[str, str]:
    """Return the member that each stable Service shall follow: what serves in the active version."""
    moving, state = world.record.transition, world.state
    if moving is not None and moving.step is TransitionStep.SWITCH:
        state = after_of(world, moving.target, moving.archive_size)
    return members_of(state)


def members_of(state: GroupState) -> dict[str, str]:
    """Return the member that serves in the active version, by its service."""
    active = state.only(VersionStage.ACTIVE)
    serving = (each for each in state.endpoints if each.version == active)
    return {each.service: member_name(each.service, each.initial_version) for each in serving}


def is_in_place(world: GroupWorld) -> bool:
    """Return whether all that shall be live is live, and no Gateway has anything against it; for backends see
    `unresolved`.
    """
    live = [world.observed.routes.get(each.name) for each in wanted_routes(world)]
    against = any(each is not None and (each.foreign or each.accepted is False) for each in live)
    return is_written(world) and not against and not foreign_service(world)


@answered_once
def is_written(world: GroupWorld) -> bool:
    """Return whether all that shall be live is written, as far as it is the group's, whatever a Gateway says of it. A
    way back waits for no more (I6).
    """
    live = world.observed.routes
    routes = {each.name: as_stored(each) for each in wanted_routes(world) if not _is_passed_over(world, each)}
    own = {name: each.route for name, each in live.items() if not each.foreign}
    said = all(own.get(name) == route for name, route in routes.items() if name in own or name not in live)
    followed = all(_is_followed(world, service, member) for service, member in wanted_services(world).items())
    return said and followed and own.keys() <= routes.keys()


def _is_passed_over(world: GroupWorld, route: HttpRoute) -> bool:
    """Return whether a way back does not wait for an HTTPRoute that would lead to the version which it leaves: somebody
    else has its requests, and that version does not answer them. What leads to the other one takes its place.
    """
    moving = world.record.transition
    is_back = moving is not None and moving.kind is TransitionKind.ROLLBACK and not moving.withdrawn
    is_prepared = moving is not None and moving.step is TransitionStep.PREPARE
    return is_back and is_prepared and route.name not in world.observed.routes and not _may_come(world, route)


def awaited_member(world: GroupWorld) -> str:
    """Return the member without a pod that answers of the version that a move is to go back to; empty where there is
    none.
    """
    moving = world.record.transition
    if moving is None or not moving.withdrawn:
        return ""
    members = sorted(members_of(world.state).values())
    return next((member for member in members if not world.answers(member)), "")


def _is_followed(world: GroupWorld, service: str, member: str) -> bool:
    """Return whether a Service follows a member, or need not now: it can follow none without pods, and traffic that is
    to leave the version must not wait for them. On the way back it must not stay with the version that is left, either.
    """
    live, moving = world.observed.services.get(service), world.record.transition
    if live is not None and (live.member == member or live.foreign):
        return True
    if moving is None or world.answers(member):
        return False
    if moving.step is TransitionStep.SWITCH:
        return live is None and members_of(world.state).get(service) == member  # Nothing of it moves.
    left = members_of(after_of(world, moving.target, moving.archive_size)).get(service)
    return not moving.withdrawn or live is None or live.member != left


def actions_of(world: GroupWorld) -> tuple[GroupAction, ...]:
    """Return the actions, in an order that keeps every prefix safe: rules come before rules go, Services follow in
    between.
    """
    repair: tuple[GroupAction, ...] = (ApplyGroup(),) if world.observed.drifted else ()
    if without_pods(world):
        return repair
    routes = _apply_routes(world)
    gone = () if routes else _delete_routes(world)
    return (*repair, *routes, *_led_services(world), *gone, *_delete_services(world))


@answered_once
def without_pods(world: GroupWorld) -> str:
    """Return the member without a pod that answers to which a step would lead requests without the header, away from
    one that has pods; empty where there is none. Then the step waits, routes and Services alike (I1).
    """
    moves = moves_by(world, wanted_routes(world))
    lost = (to for leaves, to in moves if not any(map(world.answers, to)) and any(map(world.answers, leaves)))
    return next((min(to) for to in lost), "")


def moves_by(world: GroupWorld, routes: Iterable[HttpRoute]) -> Iterator[Move]:
    """Yield how these routes move requests without the header. At rest none move to another service
    (`GroupWorld.held_back`): all else is repaired, whatever has no pods.
    """
    if world.record.transition is None:
        return
    live = [each.route for each in world.observed.routes.values() if each.route is not None and not each.foreign]
    now = led_by_default(live, world.gateway)
    for request, to in led_by_default(routes, world.gateway).items():
        losing = [now[request]] if request in now else [by for old, by in now.items() if claims_requests(request, old)]
        if leaves := frozenset[str]().union(*losing) - to:
            yield Move(leaves, to)


def unresolved(world: GroupWorld) -> Iterator[tuple[str, str]]:
    """Yield the routes with a backend that a Gateway does not find, each with what it says."""
    for name, live in sorted(world.observed.routes.items()):
        if live.unresolved and not live.foreign:
            yield name, live.unresolved


def unexplained(world: GroupWorld) -> bool:
    """Return whether a Gateway does not find a backend of a route all of whose members answer: it may be any of them,
    also the one that requests move to. Else it is one that does not answer, as of a candidate that does not come up.
    """
    wanted = {each.name: each for each in wanted_routes(world)}
    found = (wanted[name] for name, _ in unresolved(world) if name in wanted)
    return any(all(map(world.answers, members_in(route))) for route in found)


def members_in(route: HttpRoute) -> frozenset[str]:
    """Return the members that a route leads requests to."""
    return frozenset(rule.to.service for rule in route.rules if isinstance(rule.to, Backend))


def foreign_service(world: GroupWorld) -> str:
    """Return a Service that shall follow a member and is somebody else's, with its owner; empty where there is none."""
    for service in sorted(wanted_services(world)):
        live = world.observed.services.get(service)
        if live is not None and live.foreign:
            return f"Service {service}: {live.foreign}"
    return ""


def write_to_git(world: GroupWorld) -> tuple[GroupGitAction, ...]:
    """Return what main, or the group's branch, is to say; nothing while the remote is unreachable, or main does not
    count.

    What somebody else asks for on the branch stays there. Where main has it, it goes, whoever asked for it.
    """
    if away(world.observed.git) or not world.desired.main.counts:
        return ()
    wanted, branch = return_of_override(world), world.observed.branch
    merged = (MERGED,) if branch is not None and branch.is_merged else ()
    if wanted is not None and not world.observed.main_refused:
        return (*merged, wanted)  # A branch that nobody can delete is not in the way of main.
    if merged:
        return merged  # First: what takes its place would be in its way.
    if wanted is None:
        return (UNWANTED,) if branch is not None and branch.is_own and may_tidy(world) else ()
    is_to_renew = branch is not None and branch.is_own and branch.is_outdated
    stands = branch is not None and branch.active == wanted.version and not is_to_renew
    return () if stands or world.observed.not_offered(wanted.version) else (replace(wanted, offered=True),)


def return_of_override(world: GroupWorld) -> CommitActive | None:
    """Return the commit that tells Git that traffic is back from a version that failed (DESIGN §1): main still names
    that one.

    A version whose folder left main cannot be named.
    """
    override, is_moving = world.record.override, world.record.transition is not None
    to = version_in(override.to_digest) if override is not None else ""
    is_back = world.record.state.only(VersionStage.ACTIVE) == to
    if override is None or is_moving or not is_back or to not in world.desired.versions:
        return None
    return CommitActive(override.main_named, to, override.reason, override.by)


def _apply_routes(world: GroupWorld) -> tuple[GroupAction, ...]:
    """Write new HTTPRoutes first, alone: where paths move into them, the old ones give these up in a later pass."""
    wanted, live = wanted_routes(world), world.observed.routes
    new = [route for route in wanted if route.name not in live]
    differs = (route for route in wanted if route.name in live and live[route.name].route != as_stored(route))
    changed = [route for route in differs if not live[route.name].foreign]
    coming = [route for route in new if _may_come(world, route)]
    waits = any(route in new for route in carrying_routes(world))
    written = coming or ([] if waits else changed)
    return tuple(ApplyRoute(route, frozenset(moves_by(world, [route]))) for route in written)


def _may_come(world: GroupWorld, route: HttpRoute) -> bool:
    """Return whether a new HTTPRoute may be made. While somebody else has one for the same requests, what it leads
    these to answers first, or has answered: it may be before that one, since of two of the same second the name
    decides.
    """
    own = OwnRoute(route.name, claim_of(route), born=None)
    shared = [each.match for each in rivalries(world.key.namespace, own, world.observed.rivals)]
    led = led_by_default((route,), world.gateway).items() if shared else ()
    taken = (to for request, to in led if any(claims_requests(request, ((), match)) for match in shared))
    return all(world.answers(member) or _has_answered(world, member) for to in taken for member in to)


def _has_answered(world: GroupWorld, member: str) -> bool:
    """Return whether the group has had the Service of a member's service follow some member: none is made before."""
    live = world.observed.services.get(member.rpartition("-")[0])
    return live is not None and not live.foreign


def _led_services(world: GroupWorld) -> Iterator[GroupAction]:
    for service, member in sorted(wanted_services(world).items()):
        live = world.observed.services.get(service)
        moves = live is None or (live.member != member and not live.foreign)
        found = world.observed.members.get(member)
        if moves and found is not None and found.available:
            yield FollowMember(service, member, live.member if live else "")


def _delete_routes(world: GroupWorld) -> Iterator[GroupAction]:
    """Yield what no version needs any more, once all that is wanted is written."""
    wanted = {each.name for each in wanted_routes(world)}
    if not wanted <= world.observed.routes.keys():
        return
    for name, live in sorted(world.observed.routes.items()):
        if name not in wanted and not live.foreign:
            yield DeleteRoute(name)


def _delete_services(world: GroupWorld) -> Iterator[GroupAction]:
    """Yield what nothing leads to any more. A Service stays as long as versions move: the way back may need it."""
    if world.record.transition is None:
        services = wanted_services(world)
        for service, stable in sorted(world.observed.services.items()):
            if service not in services and not stable.foreign:
                yield DeleteService(service)


def object_of(group: GroupKey, action: GroupAction) -> tuple[str, str]:
    """Return the kind and the name of the object that an action writes."""
    if isinstance(action, ApplyGroup):
        return names.GROUP_KIND, group.name
    if isinstance(action, ApplyRoute):
        return "HTTPRoute", action.route.name
    if isinstance(action, DeleteRoute):
        return "HTTPRoute", action.name
    if isinstance(action, AdoptObject):
        return action.kind, action.name
    if isinstance(action, DeleteGroup):
        return names.GROUP_KIND, action.name
    return "Service", action.service


def due_now(world: GroupWorld, actions: tuple[GroupAction, ...]) -> tuple[GroupAction, ...]:
    """Return the actions to carry out now. Their order keeps every prefix safe, so that none passes one that waits, but
    for the ReleaseGroup, which no traffic depends on.
    """
    traffic = (each for each in actions if not isinstance(each, ApplyGroup))
    own = tuple(each for each in actions if isinstance(each, ApplyGroup) and not _is_paused(world, each))
    return (*own, *takewhile(lambda each: not _is_paused(world, each), traffic))


def contest_moments(world: GroupWorld) -> Iterator[datetime]:
    """Return when each pause between two repairs is over."""
    return (each.next_repair(live=_is_live(each)) for each in world.observed.contests)


def _is_paused(world: GroupWorld, action: GroupAction) -> bool:
    kind, name = object_of(world.key, action)
    of_it = (each for each in world.observed.contests if (each.kind, each.name) == (kind, name))
    return any(not each.is_due(world.now, live=_is_live(each)) for each in of_it)


def _is_live(contest: DriftLoop) -> bool:
    return contest.kind != names.GROUP_KIND

"""What main would make of a live group: the moves, and who answers which request before and after them. Pure.

The same functions that the engine acts by, on the state in which all that main asks for is done. Gates are not waited
for: `decide_group` says which are shut.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from gitops_bg.core.groups.desired import DesiredGroup
from gitops_bg.core.groups.model import GroupGateway, GroupState, PromotionRejected, VersionStage
from gitops_bg.core.groups.observed import ObservedGroup
from gitops_bg.core.groups.plan import after_of, wanted_routes, wanted_services
from gitops_bg.core.groups.record import GroupRecord, TransitionKind
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.inspect.answers import Answers, SampleRequest, sample_requests
from gitops_bg.core.model.http_routes import HttpRoute, as_stored
from gitops_bg.core.model.version import GroupKey


@dataclass(frozen=True, slots=True)
class Ahead:
    """A promotion or rollback that is under way, or that main asks for."""

    kind: TransitionKind
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Changed:
    """Something by its name, before and after; empty where it does not exist."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ChangedAnswer:
    """A request that somebody else answers afterwards."""

    request: SampleRequest
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Forecast:
    """The group once all that main asks for is done, and what is different then."""

    ahead: Ahead | None
    routes: tuple[HttpRoute, ...]
    """All HTTPRoutes then, as they read back from a cluster."""
    services: Mapping[str, str]
    """The member that each stable Service follows then."""
    stages: tuple[Changed, ...] = ()
    """The versions that change their stage."""
    answers: tuple[ChangedAnswer, ...] = ()
    same_answers: int = 0
    """How many of the requests are answered as before."""
    followers: tuple[Changed, ...] = ()
    """The stable Services that follow another member then."""


def forecast(
    key: GroupKey, desired: DesiredGroup, observed: ObservedGroup, record: GroupRecord, now: datetime
) -> Forecast:
    """Return what becomes of a group; ``record`` is that of its decision. Without a usable folder nothing changes."""
    if desired.spec is None or observed.foreign:
        return Forecast(None, _live_routes(observed), _live_services(observed))
    world = GroupWorld(key, desired.spec, desired, observed, record, now)
    ahead = _move_ahead(world)
    after = after_of(world, ahead.target, _archive_size(world)) if ahead else world.state
    done = world.with_record(state=after, transition=None)
    routes, services = tuple(map(as_stored, wanted_routes(done))), wanted_services(done)
    changed, same = _changed_answers(_live_routes(observed), routes, desired.spec.gateway)
    return Forecast(
        ahead=ahead,
        routes=routes,
        services=services,
        stages=tuple(_changed(_stage_names(world.state), _stage_names(after))),
        answers=changed,
        same_answers=same,
        followers=tuple(_changed(_live_services(observed), services)),
    )


def _move_ahead(world: GroupWorld) -> Ahead | None:
    """Return where the group goes; nowhere if it goes back, or if what main asks for is rejected. From a version that
    failed it goes to the one before, whatever main asks for.
    """
    moving, state, wanted = world.record.transition, world.record.state, world.record.next_of(world.spec.active)
    if moving is not None:
        return None if moving.withdrawn else Ahead(moving.kind, moving.source, moving.target)
    source, stage = state.only(VersionStage.ACTIVE), state.stage(wanted)
    if not source or stage is VersionStage.ACTIVE:
        return None
    try:
        after_of(world, wanted)
    except PromotionRejected:  # The condition PromotionRejected of the decision says why.
        return None
    is_back = stage is VersionStage.LEGACY
    return Ahead(TransitionKind.ROLLBACK if is_back else TransitionKind.PROMOTION, source, wanted)


def _archive_size(world: GroupWorld) -> int | None:
    return world.record.transition.archive_size if world.record.transition else None


def _live_routes(observed: ObservedGroup) -> tuple[HttpRoute, ...]:
    """Return the group's own HTTPRoutes, without those that say something no agent writes."""
    return tuple(each.route for each in observed.routes.values() if each.route is not None and not each.foreign)


def _live_services(observed: ObservedGroup) -> dict[str, str]:
    return {name: each.member for name, each in observed.services.items() if not each.foreign}


def _changed_answers(
    before: tuple[HttpRoute, ...], after: tuple[HttpRoute, ...], gateway: GroupGateway | None
) -> tuple[tuple[ChangedAnswer, ...], int]:
    if gateway is None:
        return (), 0
    header = gateway.version_header
    now, then = (Answers(routes, header, gateway.deny) for routes in (before, after))
    both = [ChangedAnswer(each, now.of(each), then.of(each)) for each in sample_requests((*before, *after), header)]
    changed = tuple(each for each in both if each.before != each.after)
    return changed, len(both) - len(changed)


def _stage_names(state: GroupState) -> dict[str, str]:
    return {each.name: each.stage.value for each in state.versions}


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Changed]:
    for name in sorted({*before, *after}):
        each = Changed(name, before.get(name, ""), after.get(name, ""))
        if each.before != each.after:
            yield each

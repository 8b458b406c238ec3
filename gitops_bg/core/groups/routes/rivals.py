"""Whose routes stand before those of a group, and which give their requests up (`core.checks.routes`)."""

from collections.abc import Iterable, Iterator

from gitops_bg.core.checks.routes import OwnRoute, first_of_others, given_up, unclaimed
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.plan import carrying_routes, is_written, routes_after
from gitops_bg.core.groups.routes.taking import led_by_default
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.http_routes import HttpRoute, RivalRoute, claim_of
from gitops_bg.core.model.record import Event
from gitops_bg.core.questions import answered_once


def requests_claimed_by_others(world: GroupWorld, routes: Iterable[HttpRoute]) -> str:
    """Which route of somebody else gets requests before these of the group, in a sentence; empty where none does."""
    return first_of_others(world.key.namespace, _as_live(world, routes), world.observed.rivals)


def requests_kept(world: GroupWorld, version: str) -> str:
    """Which route of somebody else would keep requests that a version brings, in a sentence; empty where none would.
    One whose owner left main gives them up once all that it has is the version's.
    """
    namespace, routes = world.key.namespace, tuple(_as_live(world, routes_after(world, version)))
    claims = tuple(each.claim for each in routes)
    stay = (each for each in world.observed.rivals if not each.former or unclaimed(namespace, claims, each))
    return first_of_others(namespace, routes, stay)


@answered_once
def claimable_routes(world: GroupWorld) -> tuple[RivalRoute, ...]:
    """The routes whose requests are the group's now: their owners left main, and all that they are for has somewhere to
    go. A group that moves, or is suspended, takes nothing over.
    """
    own = carrying_routes(world)
    if world.record.transition is not None or world.record.left_at is not None or world.suspended:
        return ()
    if not own or not is_written(world) or not _is_answered(world, own):
        return ()
    return given_up(world.key.namespace, _as_live(world, own), world.observed.rivals)


def record_claimed_routes(world: GroupWorld) -> GroupWorld:
    """Say whose requests the group has from now on. World in, world out."""
    for rival in claimable_routes(world):
        said = (
            f"{world.key.name} answers the requests of HTTPRoute {rival.name} of {rival.owner}, whose folder left main"
        )
        world = world.with_ledger_entry(Event.TAKEN_OVER, reason=said)
    return world


def _is_answered(world: GroupWorld, routes: Iterable[HttpRoute]) -> bool:
    """Whether a version is active, and all that it leads requests without the header to has pods that answer."""
    led = led_by_default(routes, world.gateway).values()
    is_active = bool(world.record.state.only(VersionStage.ACTIVE))
    return is_active and all(map(world.answers, frozenset[str]().union(*led)))


def _as_live(world: GroupWorld, routes: Iterable[HttpRoute]) -> Iterator[OwnRoute]:
    for route in routes:
        live, claim = world.observed.routes.get(route.name), claim_of(route)
        if live is None:
            yield OwnRoute(route.name, claim, None)
        else:
            yield OwnRoute(route.name, claim, live.born, live.accepted, live.answered)

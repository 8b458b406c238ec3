"""Whose routes stand before those of a group, and which give their requests up (`core.checks.rival_routes`)."""

from collections.abc import Iterable, Iterator

from gitops_bg.core.checks.rival_routes import OwnRoute, Rivalry, described, given_up, rivalries
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.plan import carrying_routes, is_written
from gitops_bg.core.groups.routes.defaults import led_by_default
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.http_routes import HttpRoute, RivalRoute, claim_of
from gitops_bg.core.model.record import Event
from gitops_bg.core.questions import answered_once


def first_of_others(world: GroupWorld, routes: Iterable[HttpRoute]) -> str:
    """Which route of somebody else gets requests before these of the group, in a sentence; empty where none does."""
    own = tuple(routes)
    return described(world.key.namespace, map(claim_of, own), _beside(world, own))


@answered_once
def to_take_over(world: GroupWorld) -> tuple[RivalRoute, ...]:
    """The routes whose requests are the group's now: their owners left main, and all that they are for has somewhere to
    go. A group that moves, or is suspended, takes nothing over.
    """
    own = carrying_routes(world)
    if world.record.transition is not None or world.record.left_at is not None or world.suspended:
        return ()
    if not own or not is_written(world) or not _answers(world, own):
        return ()
    live = [world.observed.routes[each.name] for each in own if each.name in world.observed.routes]
    found = given_up(world.key.namespace, map(claim_of, own), _beside(world, own))
    accepted, silent = {each.accepted for each in live}, not any(each.answered for each in live)
    return tuple(each for each in found if accepted == {True} or (accepted == {None} and silent and not each.answered))


def tell_of_requests(world: GroupWorld) -> GroupWorld:
    """Say whose requests the group has from now on. World in, world out."""
    for rival in to_take_over(world):
        said = (
            f"{world.key.name} answers the requests of HTTPRoute {rival.name} of {rival.owner}, whose folder left main"
        )
        world = world.noting(Event.TAKEN_OVER, reason=said)
    return world


def _answers(world: GroupWorld, routes: Iterable[HttpRoute]) -> bool:
    """Whether a version is active, and all that it leads requests without the header to has pods that answer."""
    led = led_by_default(routes, world.gateway).values()
    is_active = bool(world.record.state.only(VersionStage.ACTIVE))
    return is_active and all(map(world.answers, frozenset[str]().union(*led)))


def _beside(world: GroupWorld, routes: Iterable[HttpRoute]) -> Iterator[Rivalry]:
    for route in routes:
        live = world.observed.routes.get(route.name)
        own = OwnRoute(route.name, claim_of(route), live.born if live is not None else None)
        yield from rivalries(world.key.namespace, own, world.observed.rivals)

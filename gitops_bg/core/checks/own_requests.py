"""Whose routes stand before that of an app, and which of these give their requests up (`checks.rival_routes`).

Only where the app has one that is an HTTPRoute: Gateways tell conflicts with a GRPCRoute themselves.
"""

from gitops_bg.core.checks.rival_routes import OwnRoute, first_of_others, given_up, rivalries
from gitops_bg.core.model.auxiliary import AppRoute
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.http_routes import RivalRoute
from gitops_bg.core.model.record import Record
from gitops_bg.core.questions import answered_once
from gitops_bg.core.world import World

HTTP_ROUTE = "HTTPRoute"


def own_routes(world: World) -> tuple[OwnRoute, ...]:
    """The route that main asks for, as it is live; none where main does not count, or has none."""
    route = _route(world)
    if route is None:
        return ()
    view = world.auxiliary_object(route.live)
    if view is None or view.owner or view.former or not view.born:
        return (OwnRoute(route.live.name, route.claim, None),)
    return (OwnRoute(route.live.name, route.claim, view.born, view.taken, view.answered),)


def taken_by_others(world: World) -> str:
    """Which route of somebody else gets requests before that of the app, in a sentence; empty where none does."""
    return first_of_others(world.spec.app.namespace, own_routes(world), world.observed.rivals)


def waits_for_former(world: World) -> bool:
    """Whether an owner that left main has a route for requests of the app."""
    found = (rivalries(world.spec.app.namespace, each, world.observed.rivals) for each in own_routes(world))
    return any(each.rival.former for of_one in found for each in of_one)


@answered_once
def formers_to_end(world: World) -> tuple[RivalRoute, ...]:
    """The routes whose requests are the app's now: their owners left main, and what its own route leads to answers. An
    app that is suspended, or moves, takes nothing over.
    """
    route = _route(world)
    if route is None or world.suspended or world.record.routing.switch is not None or not _answers(world, route):
        return ()
    return given_up(world.spec.app.namespace, own_routes(world), world.observed.rivals)


def has_http_route(record: Record) -> bool:
    """Whether the app has, or may have, an HTTPRoute that is live."""
    return any(each.kind == HTTP_ROUTE for each in record.last_read.auxiliary_objects)


def _route(world: World) -> AppRoute | None:
    """The HTTPRoute that main asks for; None where main does not count, or has no folder of the app."""
    route = world.desired.route if world.in_main_for_sure else None
    return route if route is not None and route.live.kind == HTTP_ROUTE else None


def _answers(world: World, route: AppRoute) -> bool:
    """Whether the live route is as Git says, and leads to a Service with pods for all of the traffic."""
    view, (_, service), active = world.auxiliary_object(route.live), world.active_services[0], world.active
    if view is None or view.owner or view.former or view.trouble or view.deleting or view.drifted or view.moves:
        return False
    if active is None or service is None or not service.ours or service.digest != short(active.digest):
        return False
    is_enough = service.ready_endpoints > 0 and world.available(active.digest) >= world.full_size
    return is_enough and service.name in dict(view.ports)

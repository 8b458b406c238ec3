"""The route in front of an app's Services: where it leads, and which version requests reach by naming it.

Live traffic moves by its Service; the route leads to both Services all the time (docs/decisions/0038).
"""

from collections.abc import Iterator
from datetime import timedelta

from gitops_bg.core.checks.auxiliary import is_of_another
from gitops_bg.core.checks.ports import service_ports
from gitops_bg.core.checks.routes import may_follow
from gitops_bg.core.model.actions import ApplyAuxiliaryObject
from gitops_bg.core.model.auxiliary import AppRoute, AuxiliaryObject, BackendPorts
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.observed import AuxiliaryView, ServiceView
from gitops_bg.core.world import World

PREVIEW_WAITS = timedelta(seconds=30)
"""How long the preview of a version that is ready waits for the route, which a failing API server may not take."""


def route_actions(
    world: World, route: AppRoute, view: AuxiliaryView | None, difference: str
) -> Iterator[ApplyAuxiliaryObject]:
    """Write the route; while suspended, only where it leads to a port that its Service has no more."""
    ports = _ports(world, route, view)
    if ports is None:
        return
    named = _version_named(world)
    reason = difference if not world.suspended else ""
    if view is not None and view.ports != ports:
        reason = reason or "its Services have other ports now"
    if view is not None and view.names_version != short(named) and not world.suspended:
        reason = reason or "requests by its digest reach another version now"
    version = world.record.version(named)
    number = version.number if version else None
    moves = view is not None and view.moves and not world.suspended
    if moves and may_follow(world):
        reason = reason or "a Gateway has taken what Git says"
    elif moves and route.beside is not None and (why := _replacement_reason(world, route.beside, ports)):
        yield ApplyAuxiliaryObject(route.beside, why, named, number, ports)
    if reason:
        stays = view is not None and view.moves and (world.suspended or not may_follow(world))
        yield ApplyAuxiliaryObject(route.live, reason, named, number, ports, stays=stays)


def _replacement_reason(world: World, beside: AuxiliaryObject, ports: BackendPorts) -> str:
    """Why the route beside the live one is to be written; empty where it is as it shall be, or cannot be ours."""
    view = world.auxiliary_object(beside)
    if view is None:
        return "a Gateway is asked first whether it takes what Git says"
    if view.trouble or view.deleting or is_of_another(world, view):
        return ""
    return "it differs from what Git says" if view.drifted or view.ports != ports else ""


def must_unname(world: World) -> bool:
    """Whether the route names another version than the preview Service is to lead to, and may soon name none.

    It names none first: requests for a version are never answered by another one that nobody named. What keeps the
    route from being written does not keep the preview from moving.
    """
    route = world.desired.route
    view = world.auxiliary_object(route.live) if route else None
    if route is None or view is None or world.observed.refused or view.trouble or view.deleting:
        return False
    if is_of_another(world, view):
        return False
    is_stale = view.names_version not in ("", short(world.record.routing.preview))
    return is_stale and not _waited_long(world) and _ports(world, route, view) is not None


def _waited_long(world: World) -> bool:
    version = world.record.version(world.record.routing.preview)
    if version is None:
        return True
    return world.now >= (version.available_since or version.rollout_started_at) + PREVIEW_WAITS


def _version_named(world: World) -> str:
    """The version that the preview Service leads to and is to lead to."""
    service, digest = world.observed.preview_service, world.record.routing.preview
    return digest if service is not None and digest and service.digest == short(digest) else ""


def _ports(world: World, route: AppRoute, view: AuxiliaryView | None) -> BackendPorts | None:
    """The port of each Service that the route leads to; None while one of them is not ready for it. It leads to no
    preview Service of somebody else's, and live traffic does not wait for that one.

    Ports come to a Service, and go, with the version that serves them: the port of Git counts once the Service has it.
    """
    _, active = world.active_services[0]
    if active is None or active.digest != short(world.record.routing.traffic) or not active.ready_endpoints:
        return None
    services = [active]
    if world.spec.strategy.preview_service:
        preview = world.observed.preview_service
        if preview is None:
            return None
        services.extend([preview] if preview.ours else [])
    found = [(each.name, _port(route, each, dict(view.ports) if view else {})) for each in services if each.ours]
    known = tuple((name, port) for name, port in sorted(found) if port is not None)
    return known if len(known) == len(services) else None


def _port(route: AppRoute, service: ServiceView, leads: dict[str, int]) -> int | None:
    has = service_ports(service.ports)
    chosen = (port for port in (route.port, leads.get(service.name)) if port in has)
    return next(chosen, next(iter(has)) if len(has) == 1 else None)

"""The route in front of an app's Services: when it is written, and which version requests reach by naming it.

Live traffic moves by its Service; the route leads to both Services all the time (docs/decisions/0038).
"""

from collections.abc import Iterator

from gitops_bg.core.checks.ports import service_ports
from gitops_bg.core.model.actions import ApplyAuxiliaryObject
from gitops_bg.core.model.auxiliary import AppRoute
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.observed import AuxiliaryView
from gitops_bg.core.world import World


def route_actions(
    world: World, route: AppRoute, view: AuxiliaryView | None, difference: str
) -> Iterator[ApplyAuxiliaryObject]:
    """Write the route once its Services have the port that it leads to.

    A port that Git has changed comes to a Service with the version that can serve it: until then the route stays.
    """
    named = _version_named(world)
    moved = view is not None and view.names_version != short(named)
    reason = difference or ("requests by its digest reach another version now" if moved else "")
    if reason and _services_have(world, route.port):
        version = world.record.version(named)
        yield ApplyAuxiliaryObject(route.live, reason, named, version.number if version else None)


def must_unname(world: World) -> bool:
    """Whether the route names another version than the preview Service is to lead to, and can be written.

    It names none first: requests for a version are never answered by another one that nobody named. What keeps the
    route from being written does not keep the preview from moving.
    """
    route = world.desired.route
    view = world.auxiliary_object(route.live) if route else None
    if route is None or view is None or world.observed.refused or view.owner or view.trouble or view.deleting:
        return False
    is_stale = view.names_version not in ("", short(world.record.routing.preview))
    return is_stale and _services_have(world, route.port)


def _version_named(world: World) -> str:
    """The version that the preview Service leads to and is to lead to."""
    service, digest = world.observed.preview_service, world.record.routing.preview
    return digest if service is not None and digest and service.digest == short(digest) else ""


def _services_have(world: World, port: int) -> bool:
    views = [view for _, view in world.active_services[:1]]
    if world.spec.strategy.preview_service:
        views.append(world.observed.preview_service)
    return all(view is not None and port in service_ports(view.ports) for view in views)

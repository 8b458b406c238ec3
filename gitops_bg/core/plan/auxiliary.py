"""Actions on the auxiliary objects of an app (``core.model.auxiliary``), its route among them, and the last actions on
an app whose folder left main: what goes with it, and what it lets go (docs/decisions/0065).

Auxiliary objects follow Git without a gate, and neither traffic nor versions wait for them: the agent goes on where one
of them is refused, and tries them even where another action is. The autoscaler scales the version that the record calls
live: it follows a switch or a rollback, and never leads one. Live traffic moves by its Service; the route leads to both
Services all the time (docs/decisions/0038).
"""

from collections.abc import Iterator
from datetime import timedelta

from gitops_bg.core.checks.adoption import is_released
from gitops_bg.core.checks.auxiliary import (
    HTTP_ROUTE,
    formers_to_end,
    is_astray,
    is_carried_by,
    is_of_another,
    may_be_live,
    may_follow,
    routes_of_candidate,
)
from gitops_bg.core.checks.onboarding import is_led_otherwise, own_routes, successor
from gitops_bg.core.checks.phase import routes_first
from gitops_bg.core.checks.ports import service_ports
from gitops_bg.core.checks.versions import live_name, repair_is_due
from gitops_bg.core.model.actions import (
    ApplyAuxiliaryObject,
    ClusterAction,
    DeleteApp,
    DeleteAuxiliaryObject,
)
from gitops_bg.core.model.auxiliary import CONFIGURATION, ROUTES, AppRoute, AuxiliaryObject, BackendPorts
from gitops_bg.core.model.observed import AuxiliaryView, ServiceView
from gitops_bg.core.model.spec import DeletionPolicy, PreviewWithoutCandidate
from gitops_bg.core.model.version import Snapshot, Version, short
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
    number, tag = (version.number, version.tag) if version else (None, "")
    moves = view is not None and view.moves and not world.suspended
    if moves and may_follow(world):
        reason = reason or "a Gateway has taken what Git says"
    elif moves and route.beside is not None and (why := _replacement_reason(world, route.beside, ports)):
        yield ApplyAuxiliaryObject(route.beside, why, named, number, ports, tag=tag)
    if reason:
        stays = view is not None and view.moves and (world.suspended or not may_follow(world))
        yield ApplyAuxiliaryObject(route.live, reason, named, number, ports, stays=stays, tag=tag)


def candidate_route_actions(
    world: World, one: AuxiliaryObject, route: AppRoute, view: AuxiliaryView | None, difference: str
) -> Iterator[ApplyAuxiliaryObject | DeleteAuxiliaryObject]:
    """Write the route of the candidate's hosts once the preview shows the version that they are for, or delete it where
    there is none; `_astray` has what may lead to another one.
    """
    if world.suspended or (view is not None and is_astray(world, view)):
        return
    preview, named = world.observed.preview_service, _version_named(world)
    names_one = world.spec.strategy.hosts_name_version
    why = _why_no_address(world, preview)
    if why:
        if view is not None:
            yield DeleteAuxiliaryObject(one, why)
        return
    port = _port(route, preview, dict(view.ports) if view else {}) if preview is not None else None
    if preview is None or port is None or (names_one and not named):
        return
    ports, digest = ((preview.name, port),), named if names_one else ""
    reason = difference
    if view is not None and view.ports != ports:
        reason = reason or "its Service has another port now"
    if view is not None and view.names_version != short(digest):
        reason = reason or "it does not say which version it is for"
    if reason:
        version = world.record.version(digest)
        number, tag = (version.number, version.tag) if version else (None, "")
        yield ApplyAuxiliaryObject(one, reason, digest, number, ports, tag=tag)


def _why_no_address(world: World, preview: ServiceView | None) -> str:
    """Return why the hosts of the candidate are to lead nowhere; empty where they are to lead to the preview."""
    if preview is not None and not preview.ours:
        return f"Service {preview.name} is somebody else's"
    is_candidate = world.record.routing.preview not in ("", world.record.routing.traffic)
    is_for_live = world.spec.strategy.preview_without_candidate is PreviewWithoutCandidate.LIVE
    return "" if is_candidate or is_for_live else "there is no candidate"


def _astray(world: World) -> Iterator[DeleteAuxiliaryObject]:
    """Delete the routes of the candidate's hosts that would lead to another version, whatever Git says of them."""
    for view in routes_of_candidate(world):
        if is_astray(world, view) and not view.deleting:
            yield DeleteAuxiliaryObject(view.auxiliary_object, "its hosts are for a version that the preview leaves")


def leads_astray(world: World) -> bool:
    """Return whether a host of the candidate would lead to another version if the preview moved now: it waits for as
    long as that route is there. Live traffic does not.
    """
    return any(is_astray(world, view) for view in routes_of_candidate(world))


def _replacement_reason(world: World, beside: AuxiliaryObject, ports: BackendPorts) -> str:
    """Return why the route beside the live one is to be written; empty where it is as it shall be, or cannot be
    ours.
    """
    view = world.auxiliary_object(beside)
    if view is None:
        return "a Gateway is asked first whether it takes what Git says"
    if view.trouble or view.deleting or is_of_another(world, view):
        return ""
    return "it differs from what Git says" if view.drifted or view.ports != ports else ""


def must_unname(world: World) -> bool:
    """Return whether the route names another version than the preview Service is to lead to, and may soon name none.

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
    """Return the version that the preview Service leads to and is to lead to."""
    service, digest = world.observed.preview_service, world.record.routing.preview
    return digest if service is not None and digest and service.digest == short(digest) else ""


def _ports(world: World, route: AppRoute, view: AuxiliaryView | None) -> BackendPorts | None:
    """Return the port of each Service that the route leads to; None while one of them is not ready for it. It leads to
    no preview Service of somebody else's, and live traffic does not wait for that one.

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


def auxiliary_actions(world: World) -> tuple[ClusterAction, ...]:
    """Delete what left Git, then bring the rest to what Git says; while suspended, change only the autoscaler's scale
    target.
    """
    astray = tuple(_astray(world))
    gone = {each.auxiliary_object for each in astray}
    left = (each for each in _branch_points(world) if each.auxiliary_object not in gone)
    return (*astray, *left, *_led_otherwise(world), *_arrivals(world), *_given_up(world))


def _given_up(world: World) -> Iterator[ClusterAction]:
    """Yield the routes of owners that left main, whose requests the app answers now."""
    for rival in formers_to_end(world):
        why = f"{rival.owner} left main, and {world.spec.app.name} answers its requests"
        yield DeleteAuxiliaryObject(AuxiliaryObject(HTTP_ROUTE, rival.name), why, owner=rival.owner)


def _led_otherwise(world: World) -> Iterator[ClusterAction]:
    """Yield the route of an app that got another name goes as soon as the one under that name is there: two that lead
    alike would not do so for long, and a Gateway prefers the older one.
    """
    for one in own_routes(world) if world.left_main and is_led_otherwise(world) else ():
        view = world.auxiliary_object(one)
        if view is None or view.trouble:
            continue
        yield DeleteAuxiliaryObject(one, f"the app {successor(world)}, which it is now, has a route of its own")


def _branch_points(world: World) -> Iterator[DeleteAuxiliaryObject]:
    for one in world.record.last_read.auxiliary_objects if world.desired.whole and not world.suspended else ():
        view = world.auxiliary_object(one)
        if one in world.desired.auxiliary_objects or view is None or view.trouble or not may_be_live(view):
            continue
        if not (_is_in_use(world, one) or _leads_until_another_does(world, one)):
            yield DeleteAuxiliaryObject(one, "it left Git")


def _is_in_use(world: World, auxiliary_object: AuxiliaryObject) -> bool:
    """Return whether pods of a remembered version may refer to the object by name: then it stays, so that a rollback
    works.

    Read from the text of the template, which may match a name too many, never one too few.
    """
    if auxiliary_object.kind not in CONFIGURATION:
        return False
    snapshots = (world.snapshot(version) for version in world.record.versions)
    return any(_refers(snapshot, auxiliary_object) for snapshot in snapshots)


def _leads_until_another_does(world: World, auxiliary_object: AuxiliaryObject) -> bool:
    """Return whether it is the route of before, of another kind, or the one that was beside the live one, and no
    Gateway has taken what takes its place yet.
    """
    route = world.desired.route
    if route is None or auxiliary_object.kind not in ROUTES:
        return False
    takes_over = auxiliary_object == route.beside or auxiliary_object.name == route.live.name
    former, live = world.auxiliary_object(auxiliary_object), world.auxiliary_object(route.live)
    return takes_over and not is_carried_by(world, live, former)


def _refers(snapshot: Snapshot, auxiliary_object: AuxiliaryObject) -> bool:
    copied = any(
        (ref.kind, ref.name) == (auxiliary_object.kind, auxiliary_object.name) for ref in snapshot.configuration
    )
    return not copied and f'"{auxiliary_object.name}"' in snapshot.text


def _arrivals(world: World) -> Iterator[ClusterAction]:
    for one in world.record.last_read.auxiliary_objects:
        view = world.auxiliary_object(one)
        if view and (is_of_another(world, view) or view.trouble or view.deleting):
            continue
        due = repair_is_due(world, one.kind, one.name)
        if not due:
            continue
        if world.record.last_read.autoscaler and world.record.last_read.autoscaler.copy == one and is_released(world):
            if view is not None and not view.former:
                yield DeleteAuxiliaryObject(one, "no version serves: the app was released")
        elif world.record.last_read.autoscaler and world.record.last_read.autoscaler.copy == one:
            yield from _scaling_what_serves(world, one, view)
        elif world.desired.route and world.desired.route.live == one:
            yield from route_actions(world, world.desired.route, view, _difference(view))
        elif world.desired.route and world.desired.route.preview == one:
            yield from candidate_route_actions(world, one, world.desired.route, view, _difference(view))
        elif one in world.desired.auxiliary_objects and not world.suspended and (reason := _difference(view)):
            yield ApplyAuxiliaryObject(one, reason)


def _scaling_what_serves(world: World, copy: AuxiliaryObject, view: AuxiliaryView | None) -> Iterator[ClusterAction]:
    """Bring the autoscaler to the serving version.

    It is not created before anything serves; one that a broken Git does not describe now still scales the serving
    version.
    """
    active, described = world.active, copy in world.desired.auxiliary_objects
    if active is None or (view is None and not described) or (not described and world.desired.whole):
        return
    reason = _difference(view) if described and not world.suspended else ""
    if view and not _aims_at(world, view, active):
        reason = "live traffic goes there now"
    if reason:
        yield ApplyAuxiliaryObject(copy, reason, active.digest, active.number, tag=active.tag)


def _aims_at(world: World, view: AuxiliaryView, version: Version) -> bool:
    return view.scale_target == live_name(world, version)


def _difference(view: AuxiliaryView | None) -> str:
    if view is None:
        return "it does not exist"
    if view.former:
        return "it goes along with live traffic, which was taken over"
    return "it differs from what Git says" if view.drifted else ""


def ending(world: World) -> tuple[DeleteAuxiliaryObject | DeleteApp, ...]:
    """End the app from outside to inside, as a group ends: first no request is led to it, then it goes."""
    if routes := routes_first(world):
        there = (view.auxiliary_object for view in routes if not view.deleting)
        return tuple(DeleteAuxiliaryObject(one, "the app ends, and nobody is to be led to it") for one in there)
    return tuple(_astray(world)) or (_end(world),)


def _end(world: World) -> DeleteApp:
    """Delete the app as its policy says.

    What is beside the versions of an app that has another name by now is taken over by that one, but for its route,
    which has the name of the app. Budgets, routes and configuration of the folder serve what traffic went back to as
    well: they stay, and only the autoscaler that was made for the versions goes.
    """
    policy, beside = world.spec.deletion_policy, world.record.last_read.auxiliary_objects
    former = tuple(view.name for view in world.observed.former_services)
    if world.moved:
        beside = tuple(one for one in beside if one.kind not in ROUTES)
        return DeleteApp(auxiliary_objects=beside, moved_to=successor(world))
    if policy is DeletionPolicy.DELETE:
        return DeleteApp(services=former)
    if policy is DeletionPolicy.REVERT_TO_TARGET:
        return DeleteApp(policy, tuple(one for one in beside if one != _copy(world)))
    return DeleteApp(policy, beside, former)


def _copy(world: World) -> AuxiliaryObject | None:
    autoscaler = world.record.last_read.autoscaler
    return autoscaler.copy if autoscaler else None

"""Actions on the auxiliary objects of an app (``core.model.auxiliary``).

They follow Git without a gate, and neither traffic nor versions wait for them: the agent goes on where one of them is
refused, and tries them even where another action is. The autoscaler scales the version that the record calls live: it
follows a switch or a rollback, and never leads one.
"""

from collections.abc import Iterator

from gitops_bg.core.checks.adoption.moving import is_led_otherwise, own_routes, successor
from gitops_bg.core.checks.adoption.release import is_released
from gitops_bg.core.checks.auxiliary import is_of_another, may_be_live
from gitops_bg.core.checks.contests import repair_is_due
from gitops_bg.core.checks.routes import HTTP_ROUTE, formers_to_end, is_carried_by
from gitops_bg.core.checks.versions import live_name
from gitops_bg.core.model.actions import (
    ApplyAuxiliaryObject,
    ClusterAction,
    DeleteAuxiliaryObject,
)
from gitops_bg.core.model.auxiliary import CONFIGURATION, ROUTES, AuxiliaryObject
from gitops_bg.core.model.observed import AuxiliaryView
from gitops_bg.core.model.version import Snapshot, Version
from gitops_bg.core.plan.app_route import route_actions
from gitops_bg.core.world import World


def auxiliary_actions(world: World) -> tuple[ClusterAction, ...]:
    """Delete what left Git, then bring the rest to what Git says; while suspended, change only the autoscaler's scale
    target.
    """
    return (*_branch_points(world), *_led_otherwise(world), *_arrivals(world), *_given_up(world))


def _given_up(world: World) -> Iterator[ClusterAction]:
    """The routes of owners that left main, whose requests the app answers now."""
    for rival in formers_to_end(world):
        why = f"{rival.owner} left main, and {world.spec.app.name} answers its requests"
        yield DeleteAuxiliaryObject(AuxiliaryObject(HTTP_ROUTE, rival.name), why, owner=rival.owner)


def _led_otherwise(world: World) -> Iterator[ClusterAction]:
    """The route of an app that got another name goes as soon as the one under that name is there: two that lead alike
    would not do so for long, and a Gateway prefers the older one.
    """
    for one in own_routes(world) if world.left_main and is_led_otherwise(world) else ():
        view = world.auxiliary_object(one)
        if view is None or view.trouble:
            continue
        yield DeleteAuxiliaryObject(one, f"the app {successor(world)}, which it is now, has a route of its own")


def _branch_points(world: World) -> Iterator[ClusterAction]:
    for one in world.record.last_read.auxiliary_objects if world.desired.whole and not world.suspended else ():
        view = world.auxiliary_object(one)
        if one in world.desired.auxiliary_objects or view is None or view.trouble or not may_be_live(view):
            continue
        if not (_is_in_use(world, one) or _leads_until_another_does(world, one)):
            yield DeleteAuxiliaryObject(one, "it left Git")


def _is_in_use(world: World, auxiliary_object: AuxiliaryObject) -> bool:
    """Whether pods of a remembered version may refer to the object by name: then it stays, so that a rollback works.

    Read from the text of the template, which may match a name too many, never one too few.
    """
    if auxiliary_object.kind not in CONFIGURATION:
        return False
    snapshots = (world.snapshot(version) for version in world.record.versions)
    return any(_refers(snapshot, auxiliary_object) for snapshot in snapshots)


def _leads_until_another_does(world: World, auxiliary_object: AuxiliaryObject) -> bool:
    """Whether it is the route of before, of another kind, or the one that was beside the live one, and no Gateway has
    taken what takes its place yet.
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
        yield ApplyAuxiliaryObject(copy, reason, active.digest, active.number)


def _aims_at(world: World, view: AuxiliaryView, version: Version) -> bool:
    return view.scale_target == live_name(world, version)


def _difference(view: AuxiliaryView | None) -> str:
    if view is None:
        return "it does not exist"
    if view.former:
        return "it goes along with live traffic, which was taken over"
    return "it differs from what Git says" if view.drifted else ""

"""When an app that has another name by now may end: its Services are taken over, and no request is on its way to it.

The app under the new name takes the Services over by the consent in its file (``taking_over``, docs/decisions/0070);
until it has, this one serves. What counts is what became of the Services, and not whether main still says so: that app
may have another name again, or no word of this one any more (0073). Nothing here decides anything.
"""

from datetime import datetime, timedelta

from gitops_bg.core.checks.adoption.onboarding import selects_pods
from gitops_bg.core.checks.auxiliary import may_be_live
from gitops_bg.core.model.auxiliary import ROUTES, AuxiliaryObject
from gitops_bg.core.model.observed import ServiceView
from gitops_bg.core.world import World

NEVER_MEANS = 600
"""Seconds that stand in for a ``scaleDownDelaySeconds`` of ``never``: nobody can go back to an app without a folder."""


def serves_still(world: World) -> bool:
    """Whether an active Service is still the app's own, or selects pods of it, by whatever labels."""
    return any(view is not None and _leads_here(world, view) for _, view in world.active_services)


def _leads_here(world: World, view: ServiceView) -> bool:
    if view.ours or view.digest:
        return True
    return not view.app and any(selects_pods(world, view, version) for version in world.record.versions)


def successor(world: World) -> str:
    """The app that has the Services, as they show; else the one that main says, or said last, will have them."""
    taken = (view.app for _, view in world.active_services if view is not None)
    return next(filter(None, taken), world.desired.moved_to or world.record.last_read.moved_to)


def is_taken_over(world: World) -> bool:
    """Whether no Service leads to the app, because it is another one: main says so, or said so and that app has one."""
    if serves_still(world):
        return False
    has_one = any(view is not None and view.app for _, view in world.active_services)
    return bool(world.desired.moved_to) or (bool(world.record.last_read.moved_to) and has_one)


def is_stranded(world: World) -> bool:
    """Whether the app serves on under a name that has no folder, and main does not say any more which one it is."""
    return world.moved and not world.desired.moved_to and world.record.moved_at is None


def own_routes(world: World) -> tuple[AuxiliaryObject, ...]:
    """The routes of the app that are live, under its own name."""
    known = (one for one in world.record.last_read.auxiliary_objects if one.kind in ROUTES)
    return tuple(one for one in known if may_be_live(world.auxiliary_object(one)))


def is_led_otherwise(world: World) -> bool:
    """Whether requests find the Services by the route of the app that has them, so that this one's may go."""
    next_ = world.observed.successor
    return world.moved and not serves_still(world) and next_ is not None and next_.has_route


def leads_still(world: World) -> bool:
    """Whether requests may find the Services by the route of this app alone: the one that has them wants one, too."""
    next_ = world.observed.successor
    return bool(own_routes(world)) and (next_ is None or next_.wants_route)


def ends_at(world: World) -> datetime | None:
    """When an app that was moved ends: its pods stay as warm as after a promotion. None while it serves, or leads
    requests.
    """
    moved, strategy = world.record.moved_at, world.spec.strategy
    if serves_still(world) or leads_still(world):
        return None
    if not world.record.routing.traffic:
        return world.now
    delay = strategy.scale_down_delay_seconds
    seconds = max(strategy.drain_seconds, NEVER_MEANS if delay is None else delay)
    return None if moved is None else moved + timedelta(seconds=seconds)

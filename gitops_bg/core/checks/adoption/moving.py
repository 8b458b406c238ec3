"""When an app that has another name by now may end: its Services are taken over, and no request is on its way to it.

The app under the new name takes the Services over by the consent in its file (``taking_over``, docs/decisions/0070);
until it has, this one serves. Nothing here decides anything.
"""

from datetime import datetime, timedelta

from gitops_bg.core.world import World

NEVER_MEANS = 600
"""Seconds that stand in for a ``scaleDownDelaySeconds`` of ``never``: nobody can go back to an app without a folder."""


def serves_still(world: World) -> bool:
    """Whether an active Service is still the app's own, or selects a version of it."""
    return any(view is not None and (view.ours or bool(view.digest)) for _, view in world.active_services)


def ends_at(world: World) -> datetime | None:
    """When an app that was moved ends: its pods stay as warm as after a promotion. None while it serves."""
    moved, strategy = world.record.moved_at, world.spec.strategy
    if serves_still(world):
        return None
    if not world.record.routing.traffic:
        return world.now
    delay = strategy.scale_down_delay_seconds
    seconds = max(strategy.drain_seconds, NEVER_MEANS if delay is None else delay)
    return None if moved is None else moved + timedelta(seconds=seconds)

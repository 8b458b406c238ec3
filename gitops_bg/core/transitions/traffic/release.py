"""The steps around the way back of an adopted app: traffic has left it, and it may be adopted anew.

While it is released no version serves, and all go to 0 pods; which served last stays known. Without ``spec.release``
the app begins again as it began, with ``spec.adopt``.
"""

from dataclasses import replace

from gitops_bg.core.checks.adoption.release import has_arrived, is_releasing
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.stages import StageEvent, stage_after
from gitops_bg.core.transitions.versions.retention import retire
from gitops_bg.core.world import World


def note_release(world: World) -> World:
    """Note that live traffic went back to the Deployment, once its Services and their endpoints show it."""
    active = world.active
    if world.record.released and world.spec.release is None:
        return _begin_again(world)
    if not is_releasing(world) or active is None or world.record.routing.switch or not has_arrived(world):
        return world
    view = world.observed.deployment
    world = world.with_record(replace(world.record, adopted=None, released=True))
    reason = f"to Deployment {view.name}" if view else ""
    return world.noting(Event.RELEASED, origin=active, commit=world.desired.commit, reason=reason)


def _begin_again(world: World) -> World:
    """Forget where traffic was: the next switch is a first one, and goes through the gates of a first one."""
    active = world.active
    if active is not None:
        stage = stage_after(active.stage, StageEvent.TRAFFIC_LEFT)
        world = world.with_version(replace(retire(world, active), stage=stage, left_at=world.now, stabilization=None))
    world = world.with_record(replace(world.record, released=False))
    return world.with_part(replace(world.record.routing, traffic="", preview=""))

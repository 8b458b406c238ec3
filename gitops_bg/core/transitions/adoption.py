"""The steps in the life of an adoption: from what an app was adopted, its way back, and its move to another name.

The consent counts once. Whoever scales the Deployment up afterwards has it as it is: the agent does not fight.

From before the first Service is handed back the record says so, and it is finished, whatever anybody asks by then:
Services that lead to two places would be worse than either. Where none went back, and none can yet, it is taken back as
it was asked for. While the app is released no version serves, none is on probation, and all go to 0 pods; which served
last stays known. Once nobody asks for it any more the app begins again as it began, with ``spec.adopt``.
"""

from dataclasses import replace

from gitops_bg.core.checks.adoption import (
    deployment_size,
    deployment_to_return_to,
    has_arrived,
    is_releasing,
    services_to_hand_back,
    still_missing,
    watched_deployment,
    why_left_alone,
)
from gitops_bg.core.checks.onboarding import is_taken_over, serves_still
from gitops_bg.core.model.record import Adopted, Event
from gitops_bg.core.model.version import StageEvent, stage_after
from gitops_bg.core.transitions.versions import retire
from gitops_bg.core.world import World


def record_move(world: World) -> World:
    """Note when the Services went, and forget it once one is back: whoever leads it here by hand has it as it was. With
    the folder back in main, begin again with whatever its file agrees to take over.
    """
    record = world.record
    if world.in_main_for_sure:
        return begin_again(world) if record.moved_at is not None else world
    if not world.left_main:
        return world
    if record.moved_at is not None:
        return world.with_record(replace(record, moved_at=None)) if serves_still(world) else world
    if not record.routing.traffic or not is_taken_over(world):
        return world
    return world.with_record(replace(record, moved_at=world.now))


def record_release(world: World) -> World:
    """Note that Services are about to go back, and that live traffic went with them, once their endpoints show it."""
    if world.record.released:
        return begin_again(world) if _is_wanted_again(world) else world
    if not is_releasing(world):
        return world
    if _release_is_withdrawn(world):
        return world.with_record(replace(world.record, release=""))
    return _begun(_arrived(world))


def _begun(world: World) -> World:
    release = world.release
    if release is None or world.record.released or still_missing(world) or not services_to_hand_back(world):
        return world
    return world.with_record(replace(world.record, release=release.deployment))


def _arrived(world: World) -> World:
    active, view = world.active, deployment_to_return_to(world)
    if active is None or world.record.routing.switch or not has_arrived(world):
        return world
    world = world.with_version(replace(active, stabilization=None))
    world = world.with_record(replace(world.record.without_override(), adopted=None, released=True))
    reason = f"to Deployment {view.name}" if view else ""
    return world.with_ledger_entry(Event.RELEASED, origin=active, commit=world.desired.commit, reason=reason)


def _is_wanted_again(world: World) -> bool:
    """Return whether main, as it was read now, has the app and asks for no release; files with a mistake ask for
    nothing.
    """
    return world.asked_release is None and world.in_main_for_sure and not world.desired.problems


def _release_is_withdrawn(world: World) -> bool:
    """Return whether a release that was begun is wanted no more, while every Service is still ours and none can go
    back: for what is missing, or because the API server refuses the write.
    """
    still_ours = all(view is not None and view.ours for _, view in world.active_services)
    cannot = bool(still_missing(world) or world.observed.refused)
    return _is_wanted_again(world) and still_ours and cannot


def begin_again(world: World) -> World:
    """Forget where traffic was: the next switch is a first one, and goes through the gates of a first one."""
    active = world.active
    if active is not None:
        stage = stage_after(active.stage, StageEvent.TRAFFIC_LEFT)
        world = world.with_version(replace(retire(world, active), stage=stage, left_at=world.now, stabilization=None))
    world = world.with_record(replace(world.record, released=False, release="", moved_at=None))
    return world.with_part(replace(world.record.routing, traffic="", preview=""))


def settle_adoption(world: World) -> World:
    """Note what the Services and the Deployment show of an adoption: that it was handed over, that its pods have gone,
    that live traffic went back to it, or to the app that this one is now.
    """
    return record_move(record_release(_record_deployment(_record_hand_over(world))))


def _record_hand_over(world: World) -> World:
    """Remember the Deployment, once a Service that live traffic goes through was taken over from it."""
    adopt = world.spec.adopt
    if world.record.adopted is not None or adopt is None or adopt.app or not world.record.routing.traffic:
        return world
    if not _was_adopted(world):
        return world
    return world.with_record(replace(world.record, adopted=Adopted(adopt.deployment)))


def adopted_before(world: World) -> Adopted | None:
    """Return what a new record remembers of a Deployment whose Services were taken over before it began.

    Nobody knows whether its pods had gone by then, and who has scaled it up since. The consent counts once, so it is
    left as it is.
    """
    adopt = world.spec.adopt
    return Adopted(adopt.deployment, left=True) if adopt and adopt.deployment and _was_adopted(world) else None


def _was_adopted(world: World) -> bool:
    return any(view is not None and view.before for _, view in world.active_services)


def _record_deployment(world: World) -> World:
    """Remember how many pods the Deployment had, and whether they have gone."""
    adopted, view = watched_deployment(world), world.observed.deployment
    if adopted is None or view is None or why_left_alone(world, view):
        return world
    had = view.replicas if adopted.replicas is None else adopted.replicas
    left = view.gone or (view.replicas == 0 and deployment_size(world) == 0)
    changed = replace(adopted, replicas=had, left=left)
    return world if changed == adopted else world.with_record(replace(world.record, adopted=changed))

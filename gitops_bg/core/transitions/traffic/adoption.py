"""The step in the life of an adoption: what the app was adopted from, and that it was given back or got another name.

The consent counts once. Whoever scales the Deployment up afterwards has it as it is: the agent does not fight.
"""

from dataclasses import replace

from gitops_bg.core.checks.adoption.taking_over import deployment_size, watched_deployment, why_left_alone
from gitops_bg.core.model.record import Adopted
from gitops_bg.core.transitions.traffic.moving import note_moved
from gitops_bg.core.transitions.traffic.release import note_release
from gitops_bg.core.world import World


def settle_adoption(world: World) -> World:
    """Note what the Services and the Deployment show of an adoption: that it was handed over, that its pods have gone,
    that live traffic went back to it, or to the app that this one is now.
    """
    return note_moved(note_release(_note_deployment(_note_hand_over(world))))


def _note_hand_over(world: World) -> World:
    """Remember the Deployment, once a Service that live traffic goes through was taken over from it."""
    adopt = world.spec.adopt
    if world.record.adopted is not None or adopt is None or adopt.app or not world.record.routing.traffic:
        return world
    if not _was_taken_over(world):
        return world
    return world.with_record(replace(world.record, adopted=Adopted(adopt.deployment)))


def taken_over_before(world: World) -> Adopted | None:
    """What a new record remembers of a Deployment whose Services were taken over before it began.

    Nobody knows whether its pods had gone by then, and who has scaled it up since. The consent counts once, so it is
    left as it is.
    """
    adopt = world.spec.adopt
    return Adopted(adopt.deployment, left=True) if adopt and adopt.deployment and _was_taken_over(world) else None


def _was_taken_over(world: World) -> bool:
    return any(view is not None and view.before for _, view in world.active_services)


def _note_deployment(world: World) -> World:
    """Remember how many pods the Deployment had, and whether they have gone."""
    adopted, view = watched_deployment(world), world.observed.deployment
    if adopted is None or view is None or why_left_alone(world, view):
        return world
    had = view.replicas if adopted.replicas is None else adopted.replicas
    left = view.gone or (view.replicas == 0 and deployment_size(world) == 0)
    changed = replace(adopted, replicas=had, left=left)
    return world if changed == adopted else world.with_record(replace(world.record, adopted=changed))

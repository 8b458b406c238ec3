"""The last actions on an app whose folder left main: what goes with it, and what it lets go (docs/decisions/0065)."""

from gitops_bg.core.checks.adoption.moving import successor
from gitops_bg.core.checks.leaving import routes_first
from gitops_bg.core.model.actions import (
    DeleteApp,
    DeleteAuxiliaryObject,
)
from gitops_bg.core.model.auxiliary import ROUTES, AuxiliaryObject
from gitops_bg.core.model.spec import DeletionPolicy
from gitops_bg.core.world import World


def ending(world: World) -> tuple[DeleteAuxiliaryObject | DeleteApp, ...]:
    """End the app from outside to inside, as a group ends: first no request is led to it, then it goes."""
    if routes := routes_first(world):
        there = (view.auxiliary_object for view in routes if not view.deleting)
        return tuple(DeleteAuxiliaryObject(one, "the app ends, and nobody is to be led to it") for one in there)
    return (_end(world),)


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

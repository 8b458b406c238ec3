"""The last action on an app whose folder left main: what goes with it, and what it lets go (docs/decisions/0065)."""

from gitops_bg.core.model.actions import DeleteApp
from gitops_bg.core.model.auxiliary import AuxiliaryObject
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.spec import DeletionPolicy
from gitops_bg.core.world import World


def end_of(world: World) -> DeleteApp:
    """Delete the app as its policy says.

    Budgets, routes and configuration of the folder serve what traffic went back to as
    well: they stay, and only the autoscaler that was made for the versions goes.
    """
    policy, beside = world.spec.deletion_policy, world.record.auxiliary_objects
    former = tuple(view.name for view in world.observed.former_services)
    if policy is DeletionPolicy.DELETE:
        return DeleteApp(services=former)
    if policy is DeletionPolicy.REVERT_TO_TARGET:
        return DeleteApp(policy, tuple(one for one in beside if one != _copy(world)))
    heir = world.desired.heir
    return DeleteApp(policy, beside, former, heir, _led_to(world) if heir else ())


def _led_to(world: World) -> tuple[str, ...]:
    """The short digests of what serves, and of what the preview Service shows."""
    preview, traffic = world.observed.preview_service, world.record.routing.traffic
    found = (short(traffic) if traffic else "", preview.digest if preview else "")
    return tuple(filter(None, dict.fromkeys(found)))


def _copy(world: World) -> AuxiliaryObject | None:
    autoscaler = world.record.autoscaler
    return autoscaler.copy if autoscaler else None

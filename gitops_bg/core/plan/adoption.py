"""The one write on what an app was adopted from: its Deployment goes down, once, as the app's file says."""

from gitops_bg.core.checks.adoption.taking_over import deployment_size
from gitops_bg.core.model.actions import ScaleDeployment
from gitops_bg.core.world import World


def scale_deployment(world: World) -> tuple[ScaleDeployment, ...]:
    """Scale the adopted Deployment down; never while a switch is under way (I2)."""
    view, size = world.observed.deployment, deployment_size(world)
    if view is None or size is None or size >= view.replicas or world.record.routing.switch:
        return ()
    return (ScaleDeployment(view.name, view.replicas, size, "live traffic was taken over from its pods"),)

"""The writes of the way back of an adopted app: the Deployment grows, then each Service gets back what it had."""

from gitops_bg.core.checks.adoption.release import (
    deployment_to_return_to,
    is_releasing,
    never_released,
    pods_needed,
    services_to_hand_back,
    still_missing,
)
from gitops_bg.core.model.actions import HandBack, ScaleDeployment
from gitops_bg.core.world import World


def release(world: World) -> tuple[ScaleDeployment | HandBack, ...]:
    """What is due now; nothing while something is in the way that no waiting mends."""
    if not is_releasing(world) or never_released(world):
        return ()
    view, needed = deployment_to_return_to(world), pods_needed(world)
    if view is not None and view.replicas < needed:  # Also once it is handed back, until its pods are behind it.
        return (ScaleDeployment(view.name, view.replicas, needed, "live traffic is to go back to its pods"),)
    if still_missing(world):
        return ()
    return tuple(HandBack(each.name, each.selector, each.before) for each in services_to_hand_back(world))

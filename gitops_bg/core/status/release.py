"""The condition of an app that gives live traffic back to what it was adopted from: what is missing for that."""

from gitops_bg.core.checks.adoption.release import (
    has_arrived,
    is_releasing,
    never_released,
    selecting,
    still_missing,
)
from gitops_bg.core.model.conditions import Condition
from gitops_bg.core.world import World

RELEASED = "Released"


def releasing(world: World) -> tuple[Condition, ...]:
    """The condition; none where nobody asks for it."""
    release = world.release
    if release is None:
        return ()
    name = f"Deployment {release.deployment}"
    if not is_releasing(world):
        rest = "the app's folder may go" if world.desired.in_git else "what is left of the app goes"
        return (Condition(RELEASED, True, "Released", f"live traffic goes to {name}; {rest}"),)
    if never := never_released(world):
        return (Condition(RELEASED, False, "Conflict", "; ".join(never)),)
    if missing := still_missing(world):
        return (Condition(RELEASED, False, "WaitingForPods", "; ".join(missing)),)
    return (Condition(RELEASED, False, "HandingBack", f"the Services go back to {name}: {_on_its_way(world)}"),)


def _on_its_way(world: World) -> str:
    """What becomes of live traffic once no Service waits any more."""
    if has_arrived(world):
        return "live traffic is there"
    views = (view for _, view in world.active_services if view is not None)
    others = "; ".join(filter(None, (selecting(world, view, "selects") for view in views)))
    return others or "the endpoints of the Services follow"

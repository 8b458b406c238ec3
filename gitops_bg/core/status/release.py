"""The condition of an app that gives live traffic back to what it was adopted from: what is missing for that."""

from gitops_bg.core.checks.adoption.release import has_arrived, is_releasing, never_released, still_missing
from gitops_bg.core.model.conditions import Condition
from gitops_bg.core.world import World

RELEASED = "Released"


def releasing(world: World) -> tuple[Condition, ...]:
    """The condition; none where nobody asks for it."""
    release = world.spec.release
    if release is None:
        return ()
    name = f"Deployment {release.deployment}"
    if not is_releasing(world):
        return (Condition(RELEASED, True, "Released", f"live traffic goes to {name}; the app's folder may go"),)
    if never := never_released(world):
        return (Condition(RELEASED, False, "Conflict", "; ".join(never)),)
    if missing := still_missing(world):
        return (Condition(RELEASED, False, "WaitingForPods", "; ".join(missing)),)
    what = "live traffic is there" if has_arrived(world) else "the endpoints of the Services follow"
    return (Condition(RELEASED, False, "HandingBack", f"the Services go back to {name}: {what}"),)

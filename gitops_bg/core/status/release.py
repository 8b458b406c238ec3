"""The condition of an app that gives live traffic back to what it was adopted from: what is missing for that."""

from gitops_bg.core.checks.adoption.moving import is_stranded, leads_still, successor
from gitops_bg.core.checks.adoption.release import (
    has_arrived,
    is_releasing,
    never_released,
    selecting,
    still_missing,
)
from gitops_bg.core.checks.phase import leads_apart
from gitops_bg.core.model.conditions import Condition
from gitops_bg.core.model.spec import DeletionPolicy
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


def _after_moving(world: World) -> str:
    name = successor(world)
    if is_stranded(world):
        back = f"put its folder back, or write adopt: {{app: {world.spec.app.name}}} into the app that it is now"
        return f"it keeps serving: it was to be the app {name}, and nothing in main says so any more; {back}"
    if world.record.moved_at is not None and leads_still(world):
        return f"the app {name}, which it is now, has its Services; its route leads to them until that one has its own"
    if world.record.moved_at is not None:
        return f"it ends: the app {name}, which it is now, has its Services; its pods stay warm for a while"
    return f"it serves until the app {name}, which it is now, has taken its Services over"


def after_leaving(world: World) -> str:
    """What becomes of an app whose folder left main, in a sentence; it never stops serving without being told to."""
    release, policy = world.release, world.spec.deletion_policy
    if world.moved:
        return _after_moving(world)
    if release is not None:
        return f"live traffic goes back to Deployment {release.deployment}"
    if not world.left_main or policy is DeletionPolicy.KEEP:
        return f"it keeps serving: {world.desired.kept}" if world.desired.kept else "it keeps serving"
    waits = " once its Services lead to the same pods" if policy is DeletionPolicy.ORPHAN and leads_apart(world) else ""
    return f"it ends{waits}, as deletionPolicy: {policy} says"

"""What becomes of an app whose folder left main: it ends, as it was asked to, or serves on until somebody decides."""

from gitops_bg.core.checks.adoption.moving import is_stranded, leads_still, successor
from gitops_bg.core.checks.phase import leads_apart
from gitops_bg.core.model.auxiliary import ROUTES
from gitops_bg.core.model.observed import AuxiliaryView
from gitops_bg.core.model.spec import DeletionPolicy
from gitops_bg.core.world import World


def stays(world: World) -> bool:
    """Whether the app serves on without a folder, until a person brings that back or says what is to become of it."""
    if world.moved:
        return is_stranded(world)
    return world.release is None and (not world.left_main or world.spec.deletion_policy is DeletionPolicy.KEEP)


def routes_first(world: World) -> tuple[AuxiliaryView, ...]:
    """The live routes that go before the app does, as its policy deletes all: a Gateway that has one still would answer
    500 for a Service that is gone. One that could never be read holds nothing up.
    """
    if world.moved or world.spec.deletion_policy is not DeletionPolicy.DELETE:
        return ()
    known = (view for view in world.observed.auxiliary_objects if view.auxiliary_object.kind in ROUTES)
    ours = (view for view in known if not (view.owner or view.former))
    return tuple(view for view in ours if view.born or not view.trouble)


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

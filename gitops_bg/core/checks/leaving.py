"""What becomes of an app whose folder left main: it ends, as it was asked to, or serves on until somebody decides."""

from gitops_bg.core.checks.phase import leads_apart
from gitops_bg.core.model.spec import DeletionPolicy
from gitops_bg.core.world import World


def stays(world: World) -> bool:
    """Whether the app serves on without a folder, until a person brings that back or says what is to become of it."""
    return world.release is None and (not world.left_main or world.spec.deletion_policy is DeletionPolicy.KEEP)


def after_leaving(world: World) -> str:
    """What becomes of an app whose folder left main, in a sentence; it never stops serving without being told to."""
    release, policy = world.release, world.spec.deletion_policy
    if release is not None:
        return f"live traffic goes back to Deployment {release.deployment}"
    if not world.left_main or policy is DeletionPolicy.KEEP:
        return f"it keeps serving: {world.desired.kept}" if world.desired.kept else "it keeps serving"
    waits = " once its Services lead to the same pods" if policy is DeletionPolicy.ORPHAN and leads_apart(world) else ""
    heir = world.desired.heir
    return f"it ends{waits}: the app {heir} takes over" if heir else f"it ends{waits}, as deletionPolicy: {policy} says"

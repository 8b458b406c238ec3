"""The step that notes in the ledger that the folder of an app left main; other changes: `core.delivery.standing`."""

from dataclasses import replace

from gitops_bg.core.checks.adoption.moving import is_stranded, successor
from gitops_bg.core.checks.phase import is_to_go
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.spec import DeletionPolicy
from gitops_bg.core.world import World

ENDINGS = {
    DeletionPolicy.ORPHAN: "deletionPolicy: orphan: its objects stay as they are, and serve, and are nobody's of ours",
    DeletionPolicy.REVERT_TO_TARGET: "deletionPolicy: revertToTarget: live traffic goes where it went before the app",
}
"""What the ledger tells of the end of an app, by its policy, beside that it is deleted."""


def note_departure(world: World) -> World:
    """Note one entry when the folder of an app has left main; where it is to go, once nothing speaks against that."""
    if world.desired.in_git or not world.desired.knowledge.counts or world.record.orphaned:
        return world
    policy, stranded = world.spec.deletion_policy, is_stranded(world)
    leaves = (policy is not DeletionPolicy.KEEP or world.moved) and not stranded
    if leaves and not is_to_go(world):
        return world
    world = world.with_record(replace(world.record, orphaned=True))
    if is_to_go(world):
        reason = ENDINGS.get(policy, "")
        reason = f"it is the app {successor(world)} now, which has its Services" if world.moved else reason
        return world.noting(Event.DELETED, origin=world.active, commit=world.desired.commit, reason=reason)
    why = f"it was to be the app {successor(world)}" if stranded else "without deletionPolicy: delete"
    reason = f"the app's folder has left main{', ' if stranded else ' '}{why}; it keeps serving"
    return world.noting(Event.ORPHANED, to=world.active, commit=world.desired.commit, reason=reason)

"""What a reverted push does: a target that went back, in a commit that says what it reverts (decision 18).

Marker and content are both required (gitops.md §3): the commit names the reverted commits, those had brought the
version that serves or is about to, and the version that the target names now has served before. So is the order: the
revert came into main after ``primary.yaml`` was last changed.
"""

from dataclasses import replace

from gitops_bg.core.checks.git.reverts import named_by_target, revert_objection, reverted
from gitops_bg.core.delivery.holds import lift_hold, put_hold
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.git.journal import Targeted
from gitops_bg.core.model.statements import Cause, Says
from gitops_bg.core.model.version import Source
from gitops_bg.core.transitions.git.decisions import override
from gitops_bg.core.transitions.traffic.holds import overrule_retry
from gitops_bg.core.world import World


def follow_target_revert(world: World, source: Source, told: Targeted) -> World:
    """Send traffic back at once where the push of the version that it follows was reverted (gitops.md §3).

    Where traffic has not moved yet, the promotion is cancelled: no switch, and a hold on the promoted version, unless
    that served before: nothing speaks against going back to it (I6). A rollback that has not begun is cancelled only
    where the reverted push is the one that ``primary.yaml`` comes from, not by the revert of a promotion.
    """
    leaving, back = world.record.version(world.desired_digest), named_by_target(world)
    if leaving is None or back is None or back == leaving or revert_objection(world, source, told):
        return world
    returns = leaving.was_active and leaving.digest != world.record.routing.traffic
    if returns and not _is_of_what_was_reverted(world):
        return world
    reason = f"{source.commit[:10]} reverts the target commit that brought {short(leaving.digest)}"
    world = overrule_retry(world, leaving.digest, source)
    world = override(world, back, cause=Cause.ROLLED_BACK, reason=reason, by=source.author, commit=source.commit)
    if leaving.digest != world.record.routing.traffic and not returns:
        world = put_hold(world, leaving.digest, cause=Cause.TAKEN_BACK, reason=reason, by=source.author)
    return world


def _is_of_what_was_reverted(world: World) -> bool:
    primary = world.desired.primary
    return bool(primary and primary.source.commit in reverted(world))


def lift_by_revert(world: World, source: Source) -> World:
    """Follow the revert of a revert: the version is wanted again, its hold ends, and it must pass every gate. A hold
    that awaits this look is newer.
    """
    version, hold = named_by_target(world), world.record.held(world.target_digest)
    if version is None or world.record.git.target_revert not in reverted(world) or (hold and hold.awaits):
        return world
    world = world.with_part(replace(world.record.git, target_revert=source.commit))
    reason = f"{source.commit[:10]} reverts the revert of its push"
    return lift_hold(world, version.digest, how=Says.CLEARED, reason=reason, by=source.author)

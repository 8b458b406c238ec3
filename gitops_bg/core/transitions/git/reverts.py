"""Steps that follow a reverted push: a target that went back, in a commit that says what it reverts (decision 18).

Marker and content are both required (gitops.md §3): the commit names the reverted commits, those had brought the
version that serves or is about to, and the version that the target names now has served before. So is the order: the
revert came into main after ``primary.yaml`` was last changed.
"""

from dataclasses import replace

from gitops_bg.core.checks.git.reverts import counting, named_by_target, revert_objection
from gitops_bg.core.delivery.holds import lift_hold, put_hold
from gitops_bg.core.model.desired import Provenance
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.record import Cause, Lift
from gitops_bg.core.transitions.git.decisions import override
from gitops_bg.core.transitions.traffic.holds import overrule_retry
from gitops_bg.core.world import World


def follow_target_revert(world: World) -> World:
    """Send traffic back at once where the push of the version that it follows was reverted (gitops.md §3).

    Where traffic has not moved yet, the promotion is cancelled: no switch, and a hold on the promoted version, unless
    that served before: nothing speaks against going back to it (I6). A rollback that has not begun is cancelled only
    where the reverted push is the one that ``primary.yaml`` comes from, not by the revert of a promotion.
    """
    told, leaving, back = world.desired.provenance, world.record.version(world.desired_digest), named_by_target(world)
    if told is None or leaving is None or back is None or back == leaving or revert_objection(world, told):
        return world
    returns = leaving.was_active and leaving.digest != world.record.routing.traffic
    if returns and not _is_of_what_was_reverted(world, told):
        return world
    reason = f"{told.source.commit[:10]} reverts the target commit that brought {short(leaving.digest)}"
    world = overrule_retry(world, leaving.digest, told.source)
    world = override(world, back, cause=Cause.ROLLED_BACK, reason=reason, by=told.source.author, from_git=True)
    if leaving.digest != world.record.routing.traffic and not returns:
        world = put_hold(world, leaving.digest, cause=Cause.TAKEN_BACK, reason=reason, by=told.source.author)
    return world


def _is_of_what_was_reverted(world: World, told: Provenance) -> bool:
    primary = world.desired.primary
    return bool(primary) and primary.source.commit in _reverted(world, told)  # type: ignore[union-attr]


def _reverted(world: World, told: Provenance) -> set[str]:
    return {commit for revert in counting(world, told) for commit in revert.commits}


def lift_by_older_revert(world: World) -> World:
    """Count a revert of a revert that came into main before the last change of ``primary.yaml`` before it (decision
    18).
    """
    primary = world.desired.primary
    followed = primary and primary.changed_by.commit == world.record.git.primary_by
    return _lift_by_revert(world) if _is_older_than_primary(world) and not followed else world


def lift_by_revert(world: World) -> World:
    """Follow the revert of a revert: the version is wanted again, its hold ends, and it must pass every gate.

    It does not lift the hold of a later change of ``primary.yaml``, whenever that was put.
    """
    return world if _is_older_than_primary(world) else _lift_by_revert(world)


def _is_older_than_primary(world: World) -> bool:
    told, primary = world.desired.provenance, world.desired.primary
    return bool(told and primary and primary.changed_by.landed_after(told.source))


def _lift_by_revert(world: World) -> World:
    told, version = world.desired.provenance, named_by_target(world)
    if told is None or version is None or world.record.git.target_revert not in _reverted(world, told):
        return world
    world = world.with_part(replace(world.record.git, target_revert=told.source.commit))
    reason = f"{told.source.commit[:10]} reverts the revert of its push"
    return lift_hold(world, version.digest, how=Lift.SAID_SO, reason=reason, by=told.source.author)

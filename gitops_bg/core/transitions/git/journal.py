"""The steps that follow what main said, entry after entry, in the order of main's own line (decisions 17 and 18).

What came into main before the last change of ``primary.yaml`` counts before it, and what came later counts later,
whenever anybody looked. An entry of unknown place counts as later.

A reverted push needs marker and content (gitops.md §3): the commit names the reverted commits, those had brought the
version that serves or is about to, and the version that the target names now has served before. So is the order: the
revert came into main after ``primary.yaml`` was last changed.
"""

from dataclasses import replace

from gitops_bg.core.checks.git.main import asks_for_names, named_by_target, precedes_primary, revert_objection, reverted
from gitops_bg.core.delivery.holds import lift_hold, put_hold
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.git.journal import Entry, Named, Retried, Targeted
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.statements import Cause, Says
from gitops_bg.core.model.version import Source
from gitops_bg.core.transitions.git.decisions import clear_hold_of_named, follow_primary, override
from gitops_bg.core.transitions.git.looks import mark_main_observed
from gitops_bg.core.transitions.git.operator_requests import answer_retry
from gitops_bg.core.transitions.traffic.holds import overrule_retry
from gitops_bg.core.world import World


def record_main(world: World, before: Record) -> World:
    """Record the main of this decision."""
    git = world.record.git
    main = world.desired.main.learnt(git.main, saved=world.record != before)
    return world if main == git.main else world.with_part(replace(git, main=main))


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


def follow_main(world: World) -> World:
    """Follow what main said up to the last change of ``primary.yaml``, then what that names.

    All but that is older than the decisions that await this look, so it counts before the look ends their wait.
    """
    for entry in world.desired.journal.entries:
        if isinstance(entry.says, Named) or precedes_primary(world, entry):
            world = _follow(world, entry)
    return follow_primary(mark_main_observed(world))


def answer_main(world: World) -> World:
    """Follow what main said since the last change of ``primary.yaml``: retries, and reverts of pushes."""
    for entry in world.desired.journal.entries:
        if not (isinstance(entry.says, Named) or precedes_primary(world, entry)):
            world = _follow(world, entry)
    return world


def _follow(world: World, entry: Entry) -> World:
    match entry.says:
        case Named(snapshot) if asks_for_names(world.desired, world.record):
            return clear_hold_of_named(world, snapshot)
        case Retried(retry):
            return answer_retry(world, entry.source, retry)
        case Targeted() as told if told is world.desired.journal.targeted[0][1]:  # Others say what it takes back, too.
            return _follow_target(world, entry.source, told, is_older=precedes_primary(world, entry))
    return world


def _follow_target(world: World, source: Source, told: Targeted, *, is_older: bool) -> World:
    """Of one older than ``primary.yaml`` only the revert of a revert counts, once, before what that answered."""
    if not is_older:
        return lift_by_revert(follow_target_revert(world, source, told), source)
    primary = world.desired.primary
    is_known = primary and primary.changed_by.commit == world.record.git.primary_by
    return world if is_known else lift_by_revert(world, source)

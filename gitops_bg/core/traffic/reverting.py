"""Steps that follow a reverted push: a target that went back, and whose commit says what it takes back (decision 18).

Marker and content are both required (gitops.md §3): the commit names what it reverts, that had brought the version
which serves or is about to, and what the target names now served before. And order: the revert came into main after
``primary.yaml`` was changed last.
"""

from collections.abc import Callable
from dataclasses import replace

from gitops_bg.core.actions import label
from gitops_bg.core.desired import Desired, Provenance
from gitops_bg.core.digest import short
from gitops_bg.core.model import Version
from gitops_bg.core.record import Cause, Lift, Record
from gitops_bg.core.returning import leads_back
from gitops_bg.core.traffic.following import override
from gitops_bg.core.traffic.holds import lift_hold, overrule_retry, put_hold
from gitops_bg.core.world import World, resolve


def asks_for_provenance(desired: Desired, record: Record) -> bool:
    """Whether the target names another version than traffic is to follow, and one that is no news.

    Only then does its history count: asking for it costs a few readings of Git.
    """
    target = desired.target
    if not target or not record.traffic:
        return False
    digest = resolve(record, target.snapshot)
    version = record.version(digest)
    if version is None or digest == _goal(desired, record):
        return False
    return version.was_active or record.objection(digest) is not None


def follow_target_revert(world: World) -> World:
    """Send traffic back at once where the push of the version that it follows was reverted (gitops.md §3).

    Where traffic has not followed yet, its promotion is cancelled: no switch at all, and a hold on what was promoted,
    unless that served before: nothing speaks against going back there (I6). A way back that has not begun is cancelled
    only where the very push was reverted that ``primary.yaml`` comes from: not the revert of a promotion.
    """
    told, leaving, back = world.desired.provenance, world.record.version(world.goal), _named(world)
    if told is None or leaving is None or back is None or back == leaving or _objection(world, told):
        return world
    returns = leaving.was_active and leaving.digest != world.record.traffic
    if returns and not _is_of_what_was_reverted(world, told):
        return world
    reason = f"{told.source.commit[:10]} reverts the target commit that brought {short(leaving.digest)}"
    world = overrule_retry(world, leaving.digest, told.source)
    world = override(world, back, cause=Cause.ROLLED_BACK, reason=reason, by=told.source.author, from_git=True)
    if leaving.digest != world.record.traffic and not returns:
        world = put_hold(world, leaving, cause=Cause.TAKEN_BACK, reason=reason, by=told.source.author)
    return world.with_record(replace(world.record, target_revert=told.source.commit))


def _is_of_what_was_reverted(world: World, told: Provenance) -> bool:
    primary = world.desired.primary
    return bool(primary) and primary.source.commit in told.reverted  # type: ignore[union-attr]


def lift_by_older_revert(world: World) -> World:
    """One that main let in before the last change of ``primary.yaml`` counts before it does (decision 18)."""
    primary = world.desired.primary
    followed = primary and primary.changed_by.commit == world.record.primary_by
    return _lift_by_revert(world) if _is_older_than_primary(world) and not followed else world


def lift_by_revert(world: World) -> World:
    """The revert of a revert says that the version is wanted again: its hold ends, and every gate is before it.

    Not the hold of a later change of ``primary.yaml``, whenever that was put.
    """
    return world if _is_older_than_primary(world) else _lift_by_revert(world)


def _is_older_than_primary(world: World) -> bool:
    told, primary = world.desired.provenance, world.desired.primary
    return bool(told and primary and primary.changed_by.landed_after(told.source))


def _lift_by_revert(world: World) -> World:
    told, version = world.desired.provenance, _named(world)
    if told is None or version is None or world.record.target_revert not in told.reverted:
        return world
    world = world.with_record(replace(world.record, target_revert=told.source.commit))
    reason = f"{told.source.commit[:10]} reverts the revert of its push"
    return lift_hold(world, version.digest, how=Lift.SAID_SO, reason=reason, by=told.source.author)


def why_not_back(world: World) -> str:
    """Why a target that went back does not take traffic with it, as a sentence; empty where it does, or did not go."""
    told = world.desired.provenance
    if told is None or not asks_for_provenance(world.desired, world.record):
        return ""
    return _objection(world, told)


def _objection(world: World, told: Provenance) -> str:
    return next(filter(None, (check(world, told) for check in _CHECKS)), "")


# --- one reason each, in the order in which people can do something about them ---


def _cannot_be_read(_: World, told: Provenance) -> str:
    return f"nobody can tell what brought it: {told.unread}" if told.unread else ""


def _says_nothing(_: World, told: Provenance) -> str:
    if told.named:
        return ""
    return f"{_commit(told)} does not say that it reverts a commit"


def _says_something_else(world: World, told: Provenance) -> str:
    leaving = world.record.version(world.goal)
    if leaving and leaving.digest in {resolve(world.record, snapshot) for snapshot in told.taken_back}:
        return ""
    said = f"{_commit(told)} says that it reverts {', '.join(told.named)}"
    if told.missing == told.named:
        return f"{said}, which main did not have before it"
    return f"{said}, which did not bring {_label(leaving)}"


def _was_followed(world: World, told: Provenance) -> str:
    if world.record.target_revert != told.source.commit:
        return ""
    return f"{_commit(told)} was followed before, and somebody decided otherwise since"


def _is_overruled(world: World, told: Provenance) -> str:
    if world.record.override:
        return f"somebody sent traffic elsewhere: {world.record.override.reason}"
    primary = world.desired.primary
    if not primary:
        return f"primary.yaml is {primary}: nobody can tell whether it was changed after {_commit(told)}"
    later = told.source.landed_after(primary.changed_by)
    if later is None:
        return f"nobody can tell whether {_commit(told)} is older than the last change of primary.yaml"
    return "" if later else f"primary.yaml was changed after {_commit(told)}, by {primary.changed_by.commit[:10]}"


def _may_not_return(world: World, _: Provenance) -> str:
    active, back = world.active, _named(world)
    if active is None or back is None or back.digest == active.digest:
        return ""
    return _way_back(world, back, active)


_CHECKS: tuple[Callable[[World, Provenance], str], ...] = (
    _cannot_be_read,
    _says_nothing,
    _says_something_else,
    _may_not_return,
    _was_followed,
    _is_overruled,
)


def _way_back(world: World, older: Version, active: Version) -> str:
    """A person names this very version: `resume` and `retry` of it count, the window of the spec does, too."""
    way, order = leads_back(world.record, older, by_name=True), world.record.activations
    if not way:
        return f"{_label(older)} {way.why_not}"
    window = world.spec.rollback_window_revisions
    between = order.index(active.digest) - order.index(older.digest) - 1
    if window is None or between < window:
        return ""
    return f"{_label(older)} is outside rollbackWindow: {between} versions served between it and {_label(active)}"


def _named(world: World) -> Version | None:
    return world.record.version(world.target_digest)


def _goal(desired: Desired, record: Record) -> str:
    if record.override:
        return record.override.to_digest
    return resolve(record, desired.primary.snapshot) if desired.primary else record.traffic


def _commit(told: Provenance) -> str:
    return f"commit {told.source.commit[:10]}"


def _label(version: Version | None) -> str:
    return label(version.number, version.digest) if version else "the version that traffic follows"

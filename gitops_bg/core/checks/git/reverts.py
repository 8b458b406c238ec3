"""Whether traffic follows a reverted push, and why not (decision 18)."""

from collections.abc import Callable
from itertools import takewhile

from gitops_bg.core.model.actions import label
from gitops_bg.core.model.desired import Desired, Missing, Provenance, Revert
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import Version
from gitops_bg.core.way_back import leads_back
from gitops_bg.core.world import World, resolve


def asks_what_passed(desired: Desired, record: Record) -> str:
    """The commit of main since which the contents of ``primary.yaml`` count; empty where the file has not changed
    since.

    It is the commit of the record's look, or of the ledger's where the record is new. Asking Git costs a few reads,
    once for each look that shows a change.
    """
    primary, memory = desired.primary, desired.memory
    since = record.git.primary_by or (memory.primary_by if memory else "")
    return since if primary and since != primary.changed_by.commit else ""


def asks_who_brought(desired: Desired, record: Record) -> bool:
    """Whether the target names another version than the one that serves, so that it matters who brought it."""
    target = desired.target
    if not target or target.pinned or not record.routing.traffic:
        return False
    return resolve(record, target.snapshot) != record.routing.traffic


def asks_for_provenance(desired: Desired, record: Record) -> bool:
    """Whether the target names another version than the one that traffic follows, and one that is already known.

    Only then does its history count: asking for it costs a few reads of Git. A version that ``app.yaml`` names never
    goes back by itself: no revert of a push made it the target.
    """
    target = desired.target
    if not target or target.pinned or not record.routing.traffic:
        return False
    digest = resolve(record, target.snapshot)
    version = record.version(digest)
    if version is None or digest == _goal(desired, record):
        return False
    return version.was_active or record.objection(digest) is not None


def why_not_back(world: World) -> str:
    """Why traffic does not follow a target that went back, as a sentence; empty where it does, or the target did not go
    back.
    """
    told = world.desired.provenance
    if told is None or not asks_for_provenance(world.desired, world.record):
        return ""
    return revert_objection(world, told)


def revert_objection(world: World, told: Provenance) -> str:
    """The first reason why traffic does not follow a target that went back, or empty."""
    return next(filter(None, (check(world, told) for check in _CHECKS)), "")


def counting(world: World, told: Provenance) -> tuple[Revert, ...]:
    """The newest revert, and the reverts in a row before it that came into main on the same side of the last change of
    ``primary.yaml``: what that answered is over.
    """
    primary = world.desired.primary
    if isinstance(primary, Missing) or not told.reverts:
        return told.reverts[:1]
    newest, *others = told.reverts
    side = newest.source.landed_after(primary.changed_by)
    return newest, *takewhile(lambda each: each.source.landed_after(primary.changed_by) is side, others)


def _cannot_be_read(_: World, told: Provenance) -> str:
    return f"nobody can tell what brought it: {told.unread}" if told.unread else ""


def _says_nothing(_: World, told: Provenance) -> str:
    if told.named:
        return ""
    return f"{_commit(told)} does not say that it reverts a commit"


def _says_something_else(world: World, told: Provenance) -> str:
    leaving = world.record.version(world.desired_digest)
    back = {resolve(world.record, version) for revert in counting(world, told) for version in revert.taken_back}
    if leaving and leaving.digest in back:
        return ""
    said = f"{_commit(told)} says that it reverts {', '.join(told.named)}"
    if told.missing == told.named:
        return f"{said}, which main did not have before it"
    return f"{said}, which did not bring {_label(leaving)}"


def _was_followed(world: World, told: Provenance) -> str:
    if world.record.git.target_revert != told.source.commit:
        return ""
    return f"{_commit(told)} was followed before, and somebody decided otherwise since"


def _is_overruled(world: World, told: Provenance) -> str:
    if world.record.routing.override:
        return f"somebody sent traffic elsewhere: {world.record.routing.override.reason}"
    primary = world.desired.primary
    if isinstance(primary, Missing):
        return f"primary.yaml is {primary.value}: nobody can tell whether it was changed after {_commit(told)}"
    later = told.source.landed_after(primary.changed_by)
    if later is None:
        return f"nobody can tell whether {_commit(told)} is older than the last change of primary.yaml"
    return "" if later else f"primary.yaml was changed after {_commit(told)}, by {primary.changed_by.commit[:10]}"


def _may_not_return(world: World, _: Provenance) -> str:
    active, back = world.active, named_by_target(world)
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
    """Why traffic may not go back to the version that a person names.

    Its `resume` and `retry` count, and so does the rollback window of the spec.
    """
    way, order = leads_back(world.record, older, by_name=True), world.record.routing.activations
    if not way:
        return f"{_label(older)} {way.why_not}"
    window = world.spec.rollback_window_revisions
    between = order.index(active.digest) - order.index(older.digest) - 1
    if window is None or between < window:
        return ""
    return f"{_label(older)} is outside rollbackWindow: {between} versions served between it and {_label(active)}"


def named_by_target(world: World) -> Version | None:
    """The version that the target names, if it is known."""
    return world.record.version(world.target_digest)


def _goal(desired: Desired, record: Record) -> str:
    if record.routing.override:
        return record.routing.override.to_digest
    return resolve(record, desired.primary.snapshot) if desired.primary else record.routing.traffic


def _commit(told: Provenance) -> str:
    return f"commit {told.source.commit[:10]}"


def _label(version: Version | None) -> str:
    return label(version.number, version.digest) if version else "the version that traffic follows"

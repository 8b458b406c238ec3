"""What main says of an app, and what it means where it cannot be asked, believed or followed (decisions 17 and 18).

- What is asked of main's history, and what of its answer came before the last change of ``primary.yaml``. Asking costs
  a few reads of Git; an ordinary push asks for nothing, as the poll knows that change.
- What a main that moved backwards, or does not count, means to an app or a release group.
- What a commit that is not verified means, and what makes main count again: one sentence for status, log and errors.
  Nobody but the operators of the agent says which keys count, so no remedy here is a change of the repository's files.
- Whether traffic follows a reverted push, and why not.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import takewhile

from gitops_bg.core.delivery.world import Describes
from gitops_bg.core.model.actions import label
from gitops_bg.core.model.desired import Desired, Missing
from gitops_bg.core.model.git.journal import Entry, Targeted
from gitops_bg.core.model.record import Delivery, Record
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.core.model.version import Source, Version
from gitops_bg.core.way_back import can_roll_back_to
from gitops_bg.core.world import World, resolve


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of main about one app or release group; by default nothing."""

    names_since: str = ""
    """The commit of main since which the contents of ``primary.yaml`` count; empty: none do."""
    retries_after: int | None = None
    """The number of the last retry that is answered; None: all are."""
    suspension: bool = False
    """Who suspended it, or ended that."""
    who_brought: bool = False
    """Which commit brought the target."""
    reverts: bool = False
    """And what that takes back."""


def asks_main(spec: AppSpec | None, desired: Desired, record: Record) -> Asked:
    """What main is asked since the record knows it; ``spec`` None: ``app.yaml`` never said anything."""
    reverts = asks_for_reverts(desired, record)
    return replace(
        asks_of_file(spec, record) if spec is not None else Asked(),
        names_since=asks_for_names(desired, record),
        who_brought=reverts or _wanted(desired, record) not in ("", record.routing.traffic),
        reverts=reverts,
    )


def asks_of_file(spec: Describes, record: Delivery) -> Asked:
    """What is asked of the history of the file that describes an app or a release group; ``spec`` is what it says."""
    retry, operator = spec.retry, record.operator
    return Asked(
        retries_after=operator.retry if retry and retry.number > operator.retry else None,
        suspension=operator.suspended is (spec.suspend is None),
    )


def asks_for_names(desired: Desired, record: Record) -> str:
    """The commit of main since which the contents of ``primary.yaml`` count; empty where the file has not changed
    since.

    It is the commit of the record's look, or of the ledger's where the record is new.
    """
    primary, memory = desired.primary, desired.memory
    since = record.git.primary_by or (memory.primary_by if memory else "")
    return since if primary and since != primary.changed_by.commit else ""


def asks_for_reverts(desired: Desired, record: Record) -> bool:
    """Whether the target names another version than the one that traffic follows, and one that is already known: then
    its history counts.

    A version that ``app.yaml`` names never goes back by itself: no revert of a push made it the target.
    """
    digest = _wanted(desired, record)
    version = record.version(digest)
    if version is None or digest == _goal(desired, record):
        return False
    return version.was_active or record.objection(digest) is not None


def precedes_primary(world: World, entry: Entry) -> bool:
    """Whether an entry came into main before the last change of ``primary.yaml``; not where that is unknown."""
    primary = world.desired.primary
    return bool(primary and primary.changed_by.landed_after(entry.source))


def _wanted(desired: Desired, record: Record) -> str:
    """The digest that the target names, where it matters how it came to; empty where ``app.yaml`` names the version, or
    nothing serves yet.
    """
    target = desired.target
    return resolve(record, target.snapshot) if target and not target.pinned and record.routing.traffic else ""


def _goal(desired: Desired, record: Record) -> str:
    if record.override:
        return record.override.to_digest
    return resolve(record, desired.primary.snapshot) if desired.primary else record.routing.traffic


def why_rewritten(lost: str) -> str:
    """That main lacks a commit that was seen in it, and what to do; empty where it lacks none."""
    if not lost:
        return ""
    what = f"main no longer contains {lost[:10]}, which was seen before: nothing that main says now moves traffic"
    return f"{what}; push the former history back, or accept the new one: `gitops-bg accept-history`"


def why_not_back(world: World) -> str:
    """Why traffic does not follow a target that went back, as a sentence; empty where it does, or the target did not go
    back.
    """
    told = world.desired.journal.targeted
    return revert_objection(world, *told[0]) if told and asks_for_reverts(world.desired, world.record) else ""


def revert_objection(world: World, source: Source, told: Targeted) -> str:
    """The first reason why traffic does not follow a target that went back, or empty."""
    return next(filter(None, (check(world, source, told) for check in _CHECKS)), "")


def counting(world: World) -> tuple[Targeted, ...]:
    """The newest revert, and the reverts in a row before it that came into main on the same side of the last change of
    ``primary.yaml``: what that answered is over.
    """
    (newest, told), *others = world.desired.journal.targeted
    if not told.named:
        return ()
    primary = world.desired.primary
    if isinstance(primary, Missing):
        return (told,)
    side = newest.landed_after(primary.changed_by)
    return told, *(each for _, each in takewhile(lambda one: one[0].landed_after(primary.changed_by) is side, others))


def reverted(world: World) -> set[str]:
    """The commits that the last changes of the target revert, as far as they count."""
    return {commit for each in counting(world) for commit in each.commits}


def _cannot_be_read(_: World, __: Source, told: Targeted) -> str:
    return f"nobody can tell what brought it: {told.unread}" if told.unread else ""


def _says_nothing(_: World, source: Source, told: Targeted) -> str:
    if told.named:
        return ""
    return f"{_commit(source)} does not say that it reverts a commit"


def _says_something_else(world: World, source: Source, told: Targeted) -> str:
    leaving = world.record.version(world.desired_digest)
    back = {world.resolve(version) for each in counting(world) for version in each.taken_back}
    if leaving and leaving.digest in back:
        return ""
    said = f"{_commit(source)} says that it reverts {', '.join(told.named)}"
    if told.missing == told.named:
        return f"{said}, which main did not have before it"
    return f"{said}, which did not bring {_label(leaving)}"


def _was_followed(world: World, source: Source, _: Targeted) -> str:
    if world.record.git.target_revert != source.commit:
        return ""
    return f"{_commit(source)} was followed before, and somebody decided otherwise since"


def _is_overruled(world: World, source: Source, _: Targeted) -> str:
    if world.record.override:
        return f"somebody sent traffic elsewhere: {world.record.override.reason}"
    primary = world.desired.primary
    if isinstance(primary, Missing):
        return f"primary.yaml is {primary.value}: nobody can tell whether it was changed after {_commit(source)}"
    later = source.landed_after(primary.changed_by)
    if later is None:
        return f"nobody can tell whether {_commit(source)} is older than the last change of primary.yaml"
    return "" if later else f"primary.yaml was changed after {_commit(source)}, by {primary.changed_by.commit[:10]}"


def _may_not_return(world: World, _: Source, __: Targeted) -> str:
    active, back = world.active, named_by_target(world)
    if active is None or back is None or back.digest == active.digest:
        return ""
    return _way_back(world, back, active)


_CHECKS: tuple[Callable[[World, Source, Targeted], str], ...] = (
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
    way, order = can_roll_back_to(world.record, older, by_name=True), world.record.routing.activations
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


def _commit(source: Source) -> str:
    return f"commit {source.commit[:10]}"


def _label(version: Version | None) -> str:
    return label(version.number, version.digest) if version else "the version that traffic follows"

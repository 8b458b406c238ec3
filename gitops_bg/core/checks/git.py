"""What Git says of an app: main, its promotion branch with the pull request, and what operators ask for by a commit.

Main may be one that cannot be asked, believed or followed (decisions 17 and 18). Asking for its history costs a few
reads of Git; an ordinary push asks for nothing, as the poll knows the last change of ``primary.yaml``. Clusters that
follow one folder share a branch (DESIGN §3, decision 31). A forge is asked for a while who merged a
promotion, after traffic moved; nothing waits for the answer.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import takewhile

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.delivery.holds import can_roll_back_to, can_roll_back_without_gates
from gitops_bg.core.delivery.world import Describes
from gitops_bg.core.model.desired import Desired, Missing
from gitops_bg.core.model.journal import Entry, PullState, Targeted, offer_of
from gitops_bg.core.model.observed import PromotionBranch
from gitops_bg.core.model.record import Delivery, Event, PendingMergeLookup, Record
from gitops_bg.core.model.spec import AppSpec, Retry
from gitops_bg.core.model.statements import Cause, Hold
from gitops_bg.core.model.version import Source, Stage, Version
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
    """Return what main is asked since the record knows it; ``spec`` None: ``app.yaml`` never said anything."""
    reverts = asks_for_reverts(desired, record)
    return replace(
        asks_of_file(spec, record) if spec is not None else Asked(),
        names_since=asks_for_names(desired, record),
        who_brought=reverts or _wanted(desired, record) not in ("", record.routing.traffic),
        reverts=reverts,
    )


def asks_of_file(spec: Describes, record: Delivery) -> Asked:
    """Return what is asked of the history of the file that describes an app or a release group; ``spec`` is what it
    says.
    """
    retry, operator = spec.retry, record.operator
    return Asked(
        retries_after=operator.retry if retry and retry.number > operator.retry else None,
        suspension=operator.suspended is (spec.suspend is None),
    )


def asks_for_names(desired: Desired, record: Record) -> str:
    """Return the commit of main since which the contents of ``primary.yaml`` count; empty where the file has not
    changed since.

    It is the commit of the record's look, or of the ledger's where the record is new.
    """
    primary, memory = desired.primary, desired.memory
    since = record.git.primary_by or (memory.primary_by if memory else "")
    return since if primary and since != primary.changed_by.commit else ""


def asks_for_reverts(desired: Desired, record: Record) -> bool:
    """Return whether the target names another version than the one that traffic follows, and one that is already known:
    then its history counts.

    A version that ``app.yaml`` names never goes back by itself: no revert of a push made it the target.
    """
    digest = _wanted(desired, record)
    version = record.version(digest)
    if version is None or digest == _goal(desired, record):
        return False
    return version.was_active or record.objection(digest) is not None


def precedes_primary(world: World, entry: Entry) -> bool:
    """Return whether an entry came into main before the last change of ``primary.yaml``; not where that is unknown."""
    primary = world.desired.primary
    return bool(primary and primary.changed_by.landed_after(entry.source))


def _wanted(desired: Desired, record: Record) -> str:
    """Return the digest that the target names, where it matters how it came to; empty where ``app.yaml`` names the
    version, or nothing serves yet.
    """
    target = desired.target
    return resolve(record, target.snapshot) if target and not target.pinned and record.routing.traffic else ""


def _goal(desired: Desired, record: Record) -> str:
    if record.override:
        return record.override.to_digest
    return resolve(record, desired.primary.snapshot) if desired.primary else record.routing.traffic


def why_rewritten(lost: str) -> str:
    """Say that main lacks a commit that was seen in it, and what to do; empty where it lacks none."""
    if not lost:
        return ""
    what = f"main no longer contains {lost[:10]}, which was seen before: nothing that main says now moves traffic"
    return f"{what}; push the former history back, or accept the new one: `gitops-bg accept-history`"


def why_not_back(world: World) -> str:
    """Return why traffic does not follow a target that went back, as a sentence; empty where it does, or the target did
    not go back.
    """
    told = world.desired.journal.targeted
    return revert_objection(world, *told[0]) if told and asks_for_reverts(world.desired, world.record) else ""


def revert_objection(world: World, source: Source, told: Targeted) -> str:
    """Return the first reason why traffic does not follow a target that went back, or empty."""
    return next(filter(None, (check(world, source, told) for check in _CHECKS)), "")


def counting(world: World) -> tuple[Targeted, ...]:
    """Return the newest revert, and the reverts in a row before it that came into main on the same side of the last
    change of ``primary.yaml``: what that answered is over.
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
    """Return the commits that the last changes of the target revert, as far as they count."""
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
    return f"{said}, which did not bring {_name(leaving)}"


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
    """Return why traffic may not go back to the version that a person names.

    Its `resume` and `retry` count, and so does the rollback window of the spec.
    """
    way, order = can_roll_back_to(world.record, older, by_name=True), world.record.routing.activations
    if not way:
        return f"{_name(older)} {way.why_not}"
    window = world.spec.rollback_window_revisions
    between = order.index(active.digest) - order.index(older.digest) - 1
    if window is None or between < window:
        return ""
    return f"{_name(older)} is outside rollbackWindow: {between} versions served between it and {_name(active)}"


def named_by_target(world: World) -> Version | None:
    """Return the version that the target names, if it is known."""
    return world.record.version(world.target_digest)


def _commit(source: Source) -> str:
    return f"commit {source.commit[:10]}"


def _name(version: Version | None) -> str:
    return version.name if version else "the version that traffic follows"


def is_offered_here(world: World, branch: PromotionBranch) -> bool:
    """Return whether this cluster offered what the branch has: as its commit says, or, where that names no cluster, the
    record.
    """
    return branch.digest == world.record.git.offered if branch.offered_here is None else branch.offered_here


def is_promoted_elsewhere(branch: PromotionBranch | None) -> bool:
    """Return whether another cluster asks for a promotion."""
    return branch is not None and branch.offered_here is False and branch.asks_for == Event.PROMOTED


def follows_traffic_elsewhere(world: World, branch: PromotionBranch | None) -> bool:
    """Return whether main is to follow the traffic of another cluster, which went back, or serves its first version: it
    stays as long as main is what it was offered for.
    """
    if branch is None or branch.offered_here is not False or branch.base_digest != world.primary_digest:
        return False
    return branch.asks_for in (Event.ROLLED_BACK, Event.DEPLOYED)


def is_way_back(world: World, branch: PromotionBranch) -> bool:
    """Return whether a person offers a rollback where main takes no commit (`gitops-bg rollback`): theirs to merge or
    delete.

    It comes before any promotion: in an emergency nobody should race the agent for the branch. A branch that says it
    asks for a promotion is no rollback, even where the record that would know its author was lost.
    """
    version = world.record.version(branch.digest)
    if branch.digest == world.record.git.offered or branch.asks_for == Event.PROMOTED:
        return False
    if version is None or version.stage not in (Stage.LEGACY, Stage.ARCHIVED):
        return False
    live = version.digest in (world.record.routing.traffic, world.primary_digest)
    may_go = can_roll_back_without_gates(world.record, version)
    return bool(may_go) and not live and branch.base_digest == world.primary_digest


def is_declined(world: World, version: Version) -> bool:
    """Return whether the pull request of this very offer is closed: then the agent writes nothing to a branch that
    somebody may delete.
    """
    pull = world.observed.git.pull
    known = pull is not None and pull.seen_at is not None and pull.state is PullState.CLOSED
    return known and pull is not None and pull.offer == offer_of(version, world.spec)


def is_held_by_closing(world: World, digest: str) -> bool:
    """Return whether the hold on a digest came from a closed pull request, and ends when that is reopened."""
    hold = world.record.held(digest)
    return hold is not None and hold.cause is Cause.CLOSED


def is_superseded_in_place(world: World, digest: str) -> bool:
    """Return whether an agent's open pull request should offer the newer candidate instead, once that is ready: this
    agent's, or that of another cluster.

    Without an open pull request the agent deletes the branch, so that nobody merges a superseded version; with one, its
    status says so.
    """
    pull, candidate, branch = world.observed.git.pull, world.candidate, world.observed.git.promotion
    is_open = pull is not None and pull.state is PullState.OPEN  # Open as far as the status remembers it, too.
    if not is_open or candidate is None or world.record.override:
        return False
    elsewhere = branch is not None and branch.digest == digest and is_promoted_elsewhere(branch)
    by_agent = digest == world.record.git.offered or elsewhere
    return by_agent and candidate.digest not in (digest, world.primary_digest)


PATIENCE = timedelta(hours=1)


def given_up_at(asked: PendingMergeLookup) -> datetime:
    """Return when the agent stops asking."""
    return asked.since + PATIENCE


def moments_of_merges(world: World) -> tuple[datetime, ...]:
    """Return when the agent stops asking, for all open questions."""
    return tuple(map(given_up_at, world.record.git.asked_merges))


def is_answered_by(hold: Hold, retry: Retry) -> bool:
    """Return whether a retry was made after a hold on its digest was put, and so lifts it.

    The retry names the last ledger entry that its author knew. Without that, a retry that main shows before the first
    look since the hold counts as older than the hold (decision 17).
    """
    return hold.awaits is None or 0 < hold.sequence <= retry.after


def destination(world: World, number: int | None, *, forced: bool = False) -> Version | None:
    """Return the version a rollback leads to: the last good one, or that of ``number`` if traffic may go there; else
    None.

    ``forced`` allows a version on hold, or one that was first promoted later. A rollback never leads to a version that
    never served.
    """
    if number is None:
        return world.rollback_target
    version = world.record.numbered(number)
    if version is None or not world.snapshot(version).text:
        return None
    may_go = version.was_active if forced else can_roll_back_to(world.record, version, by_name=True)
    return version if may_go or version.digest == world.record.routing.traffic else None

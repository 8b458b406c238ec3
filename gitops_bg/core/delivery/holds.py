"""Holds, "this digest is not to be promoted again until somebody says so" (DESIGN §2), and the way back: whether live
traffic may go to a version without gates.

A hold on a bad digest records a fact with a cause, and is put and lifted here only. Lifting the hold allows a promotion
again, through every gate; the fact goes only once live traffic has come to the digest again (decision 16).

A revert of a promotion or of a push, `rollback` with and without Git, an abort, failing pods, a failing analysis after
promotion: all lead only to a version that served before and that nothing speaks against.
"""

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.delivery.world import W, with_record
from gitops_bg.core.model.analysis import AnalysisRun
from gitops_bg.core.model.desired import LedgerMemory
from gitops_bg.core.model.journal import AwaitsPoll
from gitops_bg.core.model.record import Delivery, Event, Record
from gitops_bg.core.model.statements import Cause, Contract, Says, Statement
from gitops_bg.core.model.version import Version, short


def was_lifted_since(record: Delivery, run: AnalysisRun) -> bool:
    """Return whether the hold that came with the verdict of a run was lifted since."""
    ended, hold = run.finished_at, record.objection(run.digest)
    return ended is not None and hold is not None and hold.lifted is not None and hold.since >= ended


def put_hold(
    world: W,
    digest: str,
    *,
    cause: Cause,
    reason: str,
    by: str = "",
    event: Event = Event.HELD,
    awaits: AwaitsPoll | None = None,
) -> W:
    """Put a hold on a version, once, and note it in the ledger. Its number is that of the ledger's entry that tells of
    it: a retry whose author knew less is older.

    ``awaits`` is set where Git did not decide it. What is aborted, nobody asked for in main: that entry has no commit.
    """
    record = world.record
    if record.held(digest) is not None:
        return world
    commit = world.desired.commit if event is Event.HELD else ""
    refusal = Statement(digest, Says.REFUSED, world.now, cause, reason, by, commit, awaits, record.sequence + 1)
    world = with_record(world, record.saying(refusal))
    return world.with_ledger_entry_of(event, digest, reason=reason, by=by, commit=commit)


def lift_hold(world: W, digest: str, *, how: Says, reason: str, by: str = "") -> W:
    """Lift the hold on a digest, if there is one, and note it in the ledger; the fact stays."""
    hold = world.record.objection(digest)
    if hold is None or hold.lifted is how:
        return world
    world = with_record(world, world.record.saying(Statement(digest, how, world.now, reason=reason, by=by)))
    return (
        world
        if hold.lifted is not None
        else world.with_ledger_entry_of(Event.HOLD_LIFTED, digest, reason=reason, by=by)
    )


def lift_others(world: W, wanted: str, reason: str) -> W:
    """Lift every other hold where Git asks for a new version: nobody asks for the held ones any more (gitops.md §3)."""
    for hold in (*world.record.past_holds, *world.record.holds):
        if hold.digest != wanted:
            world = lift_hold(world, hold.digest, how=Says.PASSED_OVER, reason=reason)
    return world


@dataclass(frozen=True, slots=True)
class WayBack:
    """The answer; ``why_not`` is a sentence without its subject, empty where traffic may go."""

    why_not: str = ""

    def __bool__(self) -> bool:
        return not self.why_not


OPEN = WayBack()
NEVER_SERVED = WayBack("never carried live traffic")


def closed_by(record: Record, memory: LedgerMemory | None, digest: str) -> Contract | None:
    """Return the contract that has closed the way back to a version, by the record, or by the ledger where that is
    lost; None where none has.
    """
    if record.contract is not None:
        return record.contract if record.is_closed(digest) else None
    known = memory.contract if memory is not None else None
    order = memory.active_digests if memory is not None else ()
    is_older = known is not None and digest in order and known.digest in order
    return known if is_older and known and order.index(digest) < order.index(known.digest) else None


def can_roll_back_without_gates(record: Record, version: Version, *, by_name: bool = False) -> WayBack:
    """Return whether traffic may go to ``version`` at once.

    ``by_name``: a person names this very version. Then it is enough that somebody cleared its digest, by `resume`, by
    `retry`, or by a promotion; a version that the agent chooses by itself must have served since. Pods and the age of
    the version are not considered.
    """
    if record.contract is not None and record.is_closed(version.digest):
        return WayBack(record.contract.why)
    return speaks_against(record, version.digest, by_name=by_name) if version.was_active else NEVER_SERVED


def speaks_against(record: Delivery, digest: str, *, by_name: bool = False) -> WayBack:
    """Return what speaks against going back to a version that served, of an app or a release group; see above."""
    objection = record.objection(digest)
    if objection is None or (by_name and objection.lifted in (Says.CLEARED, Says.NAMED)):
        return OPEN
    if objection.lifted is None:
        return WayBack(f"is on hold ({objection.cause}): {objection.reason}")
    return WayBack(
        f"was bad on {objection.since:%Y-%m-%d} ({objection.cause}), and did not serve since: {objection.reason}"
    )


def can_roll_back_to(record: Record, version: Version, *, by_name: bool = False) -> WayBack:
    """Return whether traffic may go to a version that Git names; it must also have been promoted before the one that
    serves now.
    """
    way = can_roll_back_without_gates(record, version, by_name=by_name)
    if way and not record.came_before(version.digest, record.routing.traffic):
        return WayBack(f"came forward after {short(record.routing.traffic)}, which serves now")
    return way

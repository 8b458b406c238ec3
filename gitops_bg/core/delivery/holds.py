"""Holds: "this digest is not to be promoted again until somebody says so" (DESIGN §2). Put and lifted here only.

A hold on a bad digest records a fact with a cause. Lifting the hold allows a promotion again, through every gate; the
fact goes only once live traffic has come to the digest again (decision 16).
"""

from gitops_bg.core.delivery.world import W, with_record
from gitops_bg.core.model.analysis.runs import AnalysisRun
from gitops_bg.core.model.git.journal import AwaitsPoll
from gitops_bg.core.model.record import Delivery, Event
from gitops_bg.core.model.statements import Cause, Says, Statement


def was_lifted_since(record: Delivery, run: AnalysisRun) -> bool:
    """Whether the hold that came with the verdict of a run was lifted since."""
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

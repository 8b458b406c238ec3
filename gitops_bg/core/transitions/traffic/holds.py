"""Holds: "this digest is not to be promoted again until somebody says so" (DESIGN §2). Put and lifted here only.

That a digest was bad is one fact with a cause. Lifting the hold lets it be promoted again, through every gate; the fact
goes only once live traffic has come to it again (decision 16).
"""

from dataclasses import replace

from gitops_bg.core.model.looks import Awaited
from gitops_bg.core.model.record import Cause, Event, Hold, Lift, Record
from gitops_bg.core.model.version import Source, Version
from gitops_bg.core.world import World

PAST_HOLDS = 100
"""How many lifted holds a record keeps."""


def put_hold(
    world: World,
    version: Version,
    *,
    cause: Cause,
    reason: str,
    by: str = "",
    event: Event = Event.HELD,
    awaits: Awaited | None = None,
) -> World:
    """Put a hold on a version, once, and say so in the ledger; ``awaits`` where it is no decision of Git.

    That the version was bad before is not forgotten for a hold that does not speak against the version itself.
    """
    if world.record.held(version.digest):
        return world
    record = without_objection(world.record, version.digest) if cause.is_bad else world.record
    hold = Hold(version.digest, reason, world.now, cause, awaits=awaits, sequence=record.sequence + 1)
    world = world.with_record(replace(record, holds=(*record.holds, hold)))
    return world.noting(event, to=version, by=by, reason=reason, commit=world.desired.commit)


def overrule_retry(world: World, digest: str, decided: Source) -> World:
    """A retry that main let in before a change that speaks against its digest asks for nothing any more.

    Else a retry that nothing could answer yet, of an app that is suspended, would answer what came after it.
    """
    retry, asked = world.spec.retry, world.desired.retried_by
    if retry is None or asked is None or retry.digest != digest or retry.number <= world.record.operator.retry:
        return world
    return world.with_part(replace(world.record.operator, retry=retry.number)) if decided.landed_after(asked) else world


def is_wanted_since(world: World, digest: str, decided: Source) -> bool:
    """Whether main let in a retry of a digest after a change that speaks against it, one that the record has answered.

    A record that begins has answered all there are, and hears of the change only then.
    """
    retry, asked = world.spec.retry, world.desired.retried_by
    if retry is None or asked is None or retry.digest != digest or retry.number > world.record.operator.retry:
        return False
    return bool(asked.landed_after(decided))


def lift_hold(world: World, digest: str, *, how: Lift, reason: str, by: str = "") -> World:
    """End the hold on a digest, if there is one, and say so in the ledger; the fact stays."""
    hold = world.record.objection(digest)
    if hold is None or hold.lifted is how:
        return world
    world = world.with_record(_lifted(world.record, digest, how))
    if hold.lifted is not None:
        return world
    return world.noting(Event.HOLD_LIFTED, to=world.record.version(digest), reason=reason, by=by)


def lift_all(world: World) -> World:
    """A new digest in the target ends every other hold: what was held is not asked for any more (gitops.md §3)."""
    others = (hold for hold in (*world.record.past_holds, *world.record.holds) if hold.digest != world.target_digest)
    for hold in others:
        world = lift_hold(world, hold.digest, how=Lift.PASSED_OVER, reason="the target names a new version")
    return world


def without_objection(record: Record, digest: str) -> Record:
    """The record with nothing that speaks against a digest."""
    if record.objection(digest) is None:
        return record
    holds = tuple(hold for hold in record.holds if hold.digest != digest)
    return replace(record, holds=holds, past_holds=_others(record, digest))


def _lifted(record: Record, digest: str, how: Lift) -> Record:
    """What never spoke against the version itself is over with its hold; that it was bad stays."""
    said = [hold for hold in (*record.past_holds, *record.holds) if hold.digest == digest and hold.cause.is_bad]
    record, kept = without_objection(record, digest), [replace(hold, lifted=how, awaits=None) for hold in said[-1:]]
    return replace(record, past_holds=(*record.past_holds, *kept)[-PAST_HOLDS:])


def _others(record: Record, digest: str) -> tuple[Hold, ...]:
    return tuple(hold for hold in record.past_holds if hold.digest != digest)

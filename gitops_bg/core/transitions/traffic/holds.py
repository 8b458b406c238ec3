"""Holds: "this digest is not to be promoted again until somebody says so" (DESIGN §2). Put and lifted here only.

A hold on a bad digest records a fact with a cause. Lifting the hold allows a promotion again, through every gate; the
fact goes only once live traffic has come to the digest again (decision 16).
"""

from dataclasses import replace

from gitops_bg.core.model.git.looks import Awaited
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
    """Put a hold on a version, once, and note it in the ledger; ``awaits`` is set where Git did not decide it.

    A hold that does not speak against the version itself does not erase that the version was bad before.
    """
    if world.record.held(version.digest):
        return world
    record = without_objection(world.record, version.digest) if cause.is_bad else world.record
    hold = Hold(version.digest, reason, world.now, cause, awaits=awaits, sequence=record.sequence + 1)
    world = world.with_record(replace(record, holds=(*record.holds, hold)))
    asked_in = world.desired.commit if by or event is Event.HELD else ""
    return world.noting(event, to=version, by=by, reason=reason, commit=asked_in)


def overrule_retry(world: World, digest: str, decided: Source) -> World:
    """Drop a retry that came into main before a change that speaks against its digest.

    Otherwise a retry that could not be answered yet, of a suspended app, would later answer that change.
    """
    retry, asked = world.spec.retry, world.desired.retried_by
    if retry is None or asked is None or retry.digest != digest or retry.number <= world.record.operator.retry:
        return world
    return world.with_part(replace(world.record.operator, retry=retry.number)) if decided.landed_after(asked) else world


def is_wanted_since(world: World, digest: str, decided: Source) -> bool:
    """Whether a retry of a digest came into main after a change that speaks against it, and the record has answered it.

    A new record has answered all existing retries, and learns of the change only afterwards.
    """
    retry, asked = world.spec.retry, world.desired.retried_by
    if retry is None or asked is None or retry.digest != digest or retry.number > world.record.operator.retry:
        return False
    return bool(asked.landed_after(decided))


def lift_hold(world: World, digest: str, *, how: Lift, reason: str, by: str = "") -> World:
    """Lift the hold on a digest, if there is one, and note it in the ledger; the fact stays."""
    hold = world.record.objection(digest)
    if hold is None or hold.lifted is how:
        return world
    world = world.with_record(_lifted(world.record, digest, how))
    if hold.lifted is not None:
        return world
    return world.noting(Event.HOLD_LIFTED, to=world.record.version(digest), reason=reason, by=by)


def lift_all(world: World) -> World:
    """Lift every other hold when the target names a new digest: nobody asks for the held ones any more
    (gitops.md §3).
    """
    others = (hold for hold in (*world.record.past_holds, *world.record.holds) if hold.digest != world.target_digest)
    for hold in others:
        world = lift_hold(world, hold.digest, how=Lift.PASSED_OVER, reason="the target names a new version")
    return world


def without_objection(record: Record, digest: str) -> Record:
    """Return the record without anything that speaks against a digest."""
    if record.objection(digest) is None:
        return record
    holds = tuple(hold for hold in record.holds if hold.digest != digest)
    return replace(record, holds=holds, past_holds=_others(record, digest))


def _lifted(record: Record, digest: str, how: Lift) -> Record:
    """Lift the hold. A cause against the version itself stays as a fact; any other is gone with the hold."""
    said = [hold for hold in (*record.past_holds, *record.holds) if hold.digest == digest and hold.cause.is_bad]
    record, kept = without_objection(record, digest), [replace(hold, lifted=how, awaits=None) for hold in said[-1:]]
    return replace(record, past_holds=(*record.past_holds, *kept)[-PAST_HOLDS:])


def _others(record: Record, digest: str) -> tuple[Hold, ...]:
    return tuple(hold for hold in record.past_holds if hold.digest != digest)

"""Holds on versions of a group, and the way back from one that served: put and lifted here only, as of an app
(docs/decisions/0016).

A hold is about a version with what its folder says. It is over once main names another version, or the folder says
something else; `retry` lifts it, too. What serves again instead of what main names is an override, until Git follows.
"""

from gitops_bg.core.groups.model import VersionStage, version_in
from gitops_bg.core.groups.subject import digest_of
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.record import Cause, Event, Hold, Override


def put_hold(world: GroupWorld, version: str, cause: Cause, reason: str, by: str = "") -> GroupWorld:
    """Put a hold on a version with its present content, once. Its number is that of the ledger's entry that tells of
    it: a retry whose author knew less is older.
    """
    digest = digest_of(world, version)
    if world.record.held(digest) is not None:
        return world
    world = world.noting(Event.ABORTED, to=version, by=by, reason=reason, asked=False)
    hold = Hold(digest, reason, world.now, cause, sequence=world.record.sequence)
    return world.with_record(holds=(*world.record.holds, hold))


def go_back(world: GroupWorld, version: str, fallback: str, cause: Cause, reason: str, by: str = "") -> GroupWorld:
    """Have the group leave a version that serves, and put a hold on it, unless Git asks for the way back already.

    What it goes back to is there: none leaves while it may be needed (`GroupWorld.fallback`).
    """
    if not fallback or world.wanted == fallback:
        return world
    override = Override(
        from_digest=digest_of(world, version),
        to_digest=digest_of(world, fallback),
        reason=reason,
        by=by,
        at=world.now,
        cause=cause,
        baseline=world.spec.active,
    )
    return put_hold(world, version, cause, reason, by).with_record(override=override)


def lift_answered(world: GroupWorld) -> GroupWorld:
    """Lift what main has answered: it names another version, or the folder of the one on hold says something else."""
    world = _without_answered_override(world)
    if world.record.override is not None:
        return world
    asked_for = digest_of(world, world.spec.active)
    return world.with_record(holds=tuple(each for each in world.record.holds if each.digest == asked_for))


def _without_answered_override(world: GroupWorld) -> GroupWorld:
    """End an override that Git has followed, or answered. The way back is finished first: what serves until then is
    known to be bad.
    """
    override = world.record.override
    if override is None or world.record.transition is not None:
        return world
    left, to = version_in(override.from_digest), version_in(override.to_digest)
    is_back = world.record.state.only(VersionStage.ACTIVE) == to
    is_answered = world.spec.active == to or digest_of(world, left) != override.from_digest
    is_over = (is_back and is_answered) or world.spec.active != override.baseline
    return _without_override(world) if is_over else world


def _without_override(world: GroupWorld) -> GroupWorld:
    """The group without its override; the ledger is told where it knows that main refused the commit."""
    override = world.record.override
    world = world.with_record(override=None)
    if override is None or not override.diverged:
        return world
    asked, serves = world.spec.active, world.record.state.only(VersionStage.ACTIVE)
    until = f"; {serves} serves until its gates are open" if serves != asked else ""
    arrived = asked == version_in(override.to_digest)
    reason = "group.yaml follows live traffic again" if arrived else f"group.yaml asks for {asked}{until}"
    return world.noting(Event.CONVERGED, to=asked, reason=reason)


def lift_hold(world: GroupWorld, digest: str) -> GroupWorld:
    """Lift the hold on a version, and end the override that left it; once requests are back, also where the version
    is another one, which main names.
    """
    holds = tuple(each for each in world.record.holds if each.digest != digest)
    override, asked_for = world.record.override, digest_of(world, world.spec.active)
    is_back = override is not None and version_in(override.to_digest) == world.record.state.only(VersionStage.ACTIVE)
    is_over = override is not None and (override.from_digest == digest or (is_back and digest == asked_for))
    world = world.with_record(holds=holds)
    return _without_override(world) if is_over else world

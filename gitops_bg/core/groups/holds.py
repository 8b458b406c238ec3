"""What puts a hold on a version of a group, and what lifts it (`core.delivery.holds`); the way back from what served.

A hold is about a version with what its folder says. It is lifted once main names another version, or the folder says
something else; `retry` lifts it, too. What serves again instead of what main names is an override, until Git follows.
"""

from dataclasses import replace

from gitops_bg.core.delivery.holds import lift_hold, lift_others, put_hold
from gitops_bg.core.groups.model import VersionStage, version_in
from gitops_bg.core.groups.plan import return_of_override
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.statements import Cause, Says, Statement
from gitops_bg.core.way_back import speaks_against


def hold_version(world: GroupWorld, version: str, cause: Cause, reason: str, by: str = "") -> GroupWorld:
    """Put a hold on a version with its present content, whoever or whatever asks for it: main did not."""
    return put_hold(world, world.digest_of(version), cause=cause, reason=reason, by=by, event=Event.ABORTED)


def may_go_back(world: GroupWorld, version: str) -> bool:
    """Whether requests may go to a version that served, where the agent chooses it: nothing speaks against what its
    folder says.
    """
    return bool(speaks_against(world.record, world.digest_of(version)))


def leave_version(world: GroupWorld, version: str, back: str, cause: Cause, reason: str, by: str = "") -> GroupWorld:
    """Have the group leave a version that serves, and put a hold on it, unless Git asks for the way back already.

    What it goes back to is there: none leaves while it may be needed (`GroupWorld.fallback`).
    """
    if not back or world.wanted == back:
        return world
    wanted = Statement(
        world.digest_of(back),
        Says.WANTED,
        world.now,
        cause,
        reason,
        by,
        instead_of=world.digest_of(version),
        main_named=world.spec.active,
    )
    world = hold_version(world, version, cause, reason, by)
    return replace(world, record=world.record.saying(wanted))


def go_back_still(world: GroupWorld) -> GroupWorld:
    """Go on with a way back whose record was lost on its way: the ledger knows the hold on what serves, and that it
    served then.

    Where it says that another version did, it is behind: this one came to serve since, through every gate. Where nobody
    can prove who wrote it, it says of none that it served. Then it moves nothing (DESIGN §5).
    """
    record, memory, active = world.record, world.observed.memory, world.record.state.only(VersionStage.ACTIVE)
    hold, legacy = record.held(world.digest_of(active)), record.state.only(VersionStage.LEGACY)
    if memory is None or record.override is not None or record.transition is not None:
        return world
    if memory.serving != active:
        return _serving_all_the_same(world, active, is_behind=bool(memory.serving))
    if hold is None or not legacy or not may_go_back(world, legacy):
        return world
    return leave_version(world, active, legacy, hold.cause, hold.reason)


def _serving_all_the_same(world: GroupWorld, version: str, *, is_behind: bool) -> GroupWorld:
    """The group where the ledger cannot speak against what serves: what main names is on hold no longer. That it was
    bad is over as well where it came to serve since.
    """
    digest = world.digest_of(version)
    if world.spec.active == version and world.record.held(digest) is not None:
        world = lift_hold(world, digest, how=Says.NAMED, reason=f"group.yaml names {version}, and it serves")
    is_over = is_behind and world.record.held(digest) is None
    return replace(world, record=world.record.without_objection(digest)) if is_over else world


def lift_answered(world: GroupWorld) -> GroupWorld:
    """Lift what main has answered: it names another version, or the folder of the one on hold says something else."""
    world = _without_answered_override(world)
    if world.record.override is not None:
        return world
    asked_for = world.spec.active
    return lift_others(world, world.digest_of(asked_for), f"main asks for {asked_for}, with what {asked_for}/ says now")


def _without_answered_override(world: GroupWorld) -> GroupWorld:
    """End an override that Git has followed, or answered. The way back is finished first: what serves until then is
    known to be bad.
    """
    override = world.record.override
    if override is None or world.record.transition is not None:
        return world
    left, to = version_in(override.from_digest), version_in(override.to_digest)
    is_back = world.record.state.only(VersionStage.ACTIVE) == to
    is_answered = world.spec.active == to or world.digest_of(left) != override.from_digest
    is_over = (is_back and is_answered) or world.spec.active != override.main_named
    return _without_override(world) if is_over else world


def _without_override(world: GroupWorld) -> GroupWorld:
    """The group without its override; the ledger is told where it knows that main refused the commit."""
    override = world.record.override
    world = replace(world, record=world.record.without_override())
    if override is None or not override.diverged:
        return world
    asked, serves = world.spec.active, world.record.state.only(VersionStage.ACTIVE)
    until = f"; {serves} serves until its gates are open" if serves != asked else ""
    arrived = asked == version_in(override.to_digest)
    reason = "group.yaml follows live traffic again" if arrived else f"group.yaml asks for {asked}{until}"
    return world.with_ledger_entry(Event.CONVERGED, to=asked, reason=reason)


def try_again(world: GroupWorld, digest: str, by: str) -> GroupWorld:
    """Lift the hold on a version, and end the override that left it; once requests are back, also where the version
    is another one, which main names.
    """
    override, asked_for = world.record.override, world.digest_of(world.spec.active)
    is_back = override is not None and version_in(override.to_digest) == world.record.state.only(VersionStage.ACTIVE)
    is_over = override is not None and (override.from_digest == digest or (is_back and digest == asked_for))
    if world.record.held(digest) is not None:
        world = lift_hold(world, digest, how=Says.CLEARED, reason="retried", by=by)
    return _without_override(world) if is_over else world


def record_refused_commit(world: GroupWorld) -> GroupWorld:
    """Note once that main refuses the commit of a way back, where there is one to make."""
    override, refused, wanted = world.record.override, world.observed.main_refused, return_of_override(world)
    if override is None or override.diverged or not refused or wanted is None:
        return world
    world = replace(world, record=world.record.with_divergence())
    branch, offered = world.observed.branch, "it is offered on the promotion branch"
    offered = f"{offered} once that is deleted: main has it" if branch is not None and branch.is_merged else offered
    instead = world.observed.not_offered(wanted.version) or offered
    reason = f"main refuses the commit ({refused}); {instead}"
    return world.with_ledger_entry(Event.DIVERGED, to=wanted.version, by=override.by, reason=reason, asked=False)

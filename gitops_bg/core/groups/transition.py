"""Moves a group from one active version to another, step by step; each step is one world further.

    follow_active   another version is wanted: begin, or, where it is the former one again, go back; or go on after all
    advance         the Gateway has taken the routes of a step: take the next
    give_up         it has not, in time: go back as far as possible
    let_go          nothing leads to what was left any more

The routes of a step follow from the record (`core.groups.plan`), so a crash between any two writes goes on from there.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from gitops_bg.core.delivery.analyses import await_verdict
from gitops_bg.core.delivery.gates import record_overridden_policies
from gitops_bg.core.groups.gates import gates_of
from gitops_bg.core.groups.model import PromotionRejected, TransitionStep, VersionStage, version_in
from gitops_bg.core.groups.plan import (
    after_of,
    awaited_member,
    foreign_service,
    is_in_place,
    is_written,
    unexplained,
    unresolved,
    wanted_routes,
    without_pods,
)
from gitops_bg.core.groups.record import MOST_MOVES, GroupMove, Transition, TransitionKind
from gitops_bg.core.groups.registering import remember_deleted
from gitops_bg.core.groups.requests import hold_version
from gitops_bg.core.groups.subject import acting_group
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.journal import GroupNamed
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.statements import Cause

_FINISHED = {TransitionKind.PROMOTION: Event.PROMOTED, TransitionKind.ROLLBACK: Event.ROLLED_BACK}

GATEWAY_STATUS_GRACE_SECONDS = 5
"""How long a Gateway may say nothing at all of new routes before they count as taken: some never say anything; and how
long a promotion waits for it to find what is new, where something else stays missing.
"""


def follow_active(world: GroupWorld) -> GroupWorld:
    """Begin what ``active:`` asks for once every gate is open; a group that is asked to go back goes back at once.

    Where the version that it asks for has failed after its promotion, the group goes back by itself.
    """
    state, moving, wanted = world.record.state, world.record.transition, world.wanted
    if moving is not None and moving.withdrawn:
        return _resumed(world, moving) if wanted == moving.target else _passed_by(world, moving)
    if moving is not None:
        return _withdrawn(world, moving, _why_other(world)) if wanted != moving.target else world
    stage = state.stage(wanted)
    if stage is VersionStage.ACTIVE or not state.only(VersionStage.ACTIVE):
        return world
    try:
        after_of(world, wanted)
    except PromotionRejected as error:
        return replace(world, rejected=(str(error.why), _deleted_hint(world, wanted) or str(error)))
    if not all(gate.open for gate in gates_of(world, wanted)):
        return world
    kind = TransitionKind.ROLLBACK if stage is VersionStage.LEGACY else TransitionKind.PROMOTION
    source, size = state.only(VersionStage.ACTIVE), world.spec.archive_size
    begun = Transition(kind, source, wanted, TransitionStep.PREPARE, world.now, world.now, size)
    return world.with_record(transition=begun)


def _why_other(world: GroupWorld) -> str:
    """Return why a move to another version than the one that is wanted is taken back."""
    override = world.record.override
    if override is None:
        return f"group.yaml asks for {world.wanted}"
    return f"requests go back from {version_in(override.from_digest)} to {world.wanted}: {override.reason}"


def _resumed(world: GroupWorld, moving: Transition) -> GroupWorld:
    """Go on with a move that is on its way back, where Git asks for it again: the version that it goes back to may have
    lost its pods, and requests are with the other one as long as that is so. Every gate is asked again.
    """
    is_back = not moving.moved or is_written(world)  # Then it is over, and begins anew.
    if is_back or not all(gate.open for gate in gates_of(world, moving.target)):
        return world
    return _switching(world, replace(moving, withdrawn="", moved=False))


def _passed_by(world: GroupWorld, moving: Transition) -> GroupWorld:
    """Roll back at once where Git asks for the version before the one that a move is to go back to, and that one has
    lost its pods: requests would stay with the target as long as that is so (I6).
    """
    is_legacy = world.record.state.stage(world.wanted) is VersionStage.LEGACY
    if not moving.moved or not is_legacy or is_written(world) or not awaited_member(world):
        return world
    if not all(gate.open for gate in gates_of(world, world.wanted)):
        return world
    on = replace(
        moving,
        kind=TransitionKind.ROLLBACK,
        target=world.wanted,
        step=TransitionStep.SWITCH,
        started_at=world.now,
        step_since=world.now,
        withdrawn="",
        moved=False,
    )
    return world.with_record(transition=on, left=_left_and(world, moving.target))


def _left_and(world: GroupWorld, version: str) -> tuple[str, ...]:
    return tuple(sorted({*world.record.left, version}))


def _deleted_hint(world: GroupWorld, version: str) -> str:
    """Return what to do about a version that is no candidate any more; empty where it has not been deleted."""
    if all(each.name != version for each in world.record.deleted):
        return ""
    return f"{version} was deleted when another version became active: change a file in its folder to have it back"


def advance(world: GroupWorld) -> GroupWorld:
    """Take the next step where the present one is in place: never more than one at a time, each is saved first."""
    moving = world.record.transition
    if moving is None:
        return world
    waits = not moving.goes_back and _awaits_gateway_status(world, moving.step_since)
    if waits or not _is_accepted(world, moving):
        return world
    if moving.withdrawn:
        said, asked = moving.withdrawn, world.record.override is None and world.spec.active != moving.target
        source = world.desired.journal.by(GroupNamed)
        world = world.with_ledger_entry(
            Event.WITHDRAWN, to=moving.target, origin=moving.source, reason=said, asked=asked, source=source
        )
        world = world.with_record(left_at=world.now, left=_left_and(world, moving.target)) if moving.moved else world
        return world.with_record(transition=None)
    if moving.step is TransitionStep.SWITCH:
        return _finished(world, moving)
    if not all(gate.open for gate in gates_of(world, moving.target)):
        return world
    return _switching(world, moving)


def _switching(world: GroupWorld, moving: Transition) -> GroupWorld:
    """Move requests, and note the policies in spite of which a promotion does."""
    if not moving.goes_back:
        world = record_overridden_policies(world, acting_group(world), world.digest_of(moving.target))
    return world.with_record(transition=replace(moving, step=TransitionStep.SWITCH, step_since=world.now))


def let_go(world: GroupWorld) -> GroupWorld:
    """Let versions go that requests have left, once the Gateway leads nothing there any more."""
    left = world.record.left_at
    if left is None or world.record.transition is not None:
        return world
    is_over = is_in_place(world) and not _awaits_gateway_status(world, left)
    return world.with_record(leaving=(), left_at=None, left=()) if is_over else world


def give_up(world: GroupWorld) -> GroupWorld:
    """Go back where the target is on hold, the Gateway does not take the routes of a step in time, or a gate has shut.

    A rollback waits for no Gateway; one that cannot be written, because its pods are gone, begins again.
    """
    moving = world.record.transition
    if moving is None or moving.withdrawn:
        return world
    hold = world.record.held(world.digest_of(moving.target))
    if hold is not None and not moving.goes_back:
        return _withdrawn(world, moving, hold.why)
    if world.now < deadline_of(world, moving):
        return world
    if _is_accepted(world, moving):
        shut = next((gate.reason for gate in gates_of(world, moving.target) if not gate.open), "")
        waits = shut and moving.step is TransitionStep.PREPARE
        # Else it is done: it was in place while nobody looked. It begins again once every gate is open.
        return _withdrawn(world, moving, shut) if waits else world
    waited = f"{world.spec.progress_deadline_seconds} s were not enough for {moving.kind.lower()} to {moving.target}"
    reason = f"{waited}: {obstacle_of(world) or 'the Gateway did not take its routes'}"
    if moving.goes_back:
        return _withdrawn(world, moving, reason)  # Nothing holds a way back: it begins again.
    return _withdrawn(hold_version(world, moving.target, Cause.LATE, reason), moving, reason)


def deadline_of(world: GroupWorld, moving: Transition) -> datetime:
    """Return when a step has taken too long."""
    return moving.step_since + timedelta(seconds=world.spec.progress_deadline_seconds)


def obstacle_of(world: GroupWorld) -> str:
    """Return what stands against the group's routes and Services, or that they lead to no pods; else empty."""
    return refused_by(world) or lacks_pods(world) or next(_not_found(world), "")


def refused_by(world: GroupWorld) -> str:
    """Return the Gateway, or the owner of an object of the same name, that stands against routes and Services; else
    empty.
    """
    wanted = {each.name for each in wanted_routes(world)}
    for name, live in sorted(world.observed.routes.items()):
        against = live.foreign or live.reason
        if against and name in wanted:
            return f"{name}: {against}"
    return foreign_service(world)


def lacks_pods(world: GroupWorld) -> str:
    """Return the members that routes and Services would lead to, and that have no pods; also where it is the Gateway
    that says so, as it finds no Service of them. Empty where there are none.
    """
    if member := without_pods(world) or awaited_member(world):
        return f"{member} has no pod that answers: no request without the version's header is led there"
    if world.observed.without_pods:
        return world.observed.without_pods
    if unexplained(world):
        return ""
    return next(_not_found(world), "")


def _not_found(world: GroupWorld) -> Iterator[str]:
    return (f"{name}: {said}" for name, said in unresolved(world))


def _withdrawn(world: GroupWorld, moving: Transition, why: str) -> GroupWorld:
    moved = moving.step is TransitionStep.SWITCH
    back = replace(moving, step=TransitionStep.PREPARE, step_since=world.now, withdrawn=why, moved=moved)
    return world.with_record(transition=back)


def _finished(world: GroupWorld, moving: Transition) -> GroupWorld:
    before, after = world.state, after_of(world, moving.target, moving.archive_size)
    archived = set(after.at(VersionStage.ARCHIVED)) - set(before.at(VersionStage.ARCHIVED))
    deleted = {each.name for each in before.versions} - {each.name for each in after.versions}
    leaving = tuple(sorted({*world.record.leaving, *archived, *deleted}))
    gone = remember_deleted(world, before, after)
    override, event = world.record.override, _FINISHED[moving.kind]
    is_override = override is not None and version_in(override.to_digest) == moving.target
    reason, by = (override.reason, override.by) if override is not None and is_override else ("", "")
    source = world.desired.journal.by(GroupNamed) if world.spec.active == moving.target else None
    world = world.with_ledger_entry(
        event, to=moving.target, origin=moving.source, by=by, reason=reason, asked=not reason, source=source
    )
    move = GroupMove(moving.kind, moving.source, moving.target, world.desired.commit, world.now, reason)
    moves = (*world.record.moves, move)[-MOST_MOVES:]
    cleared = world.record.without_objection(world.digest_of(moving.target))
    world = replace(world, record=cleared).with_record(
        state=after,
        transition=None,
        leaving=leaving,
        left_at=world.now,
        left=tuple(each for each in _left_and(world, moving.source) if each != moving.target),
        deleted=gone,
        moves=moves,
    )
    if moving.kind is TransitionKind.ROLLBACK:
        return world  # It is not analysed (I6).
    return await_verdict(world, world.digest_of(moving.target), moving.source, acting_group)


def _is_accepted(world: GroupWorld, moving: Transition) -> bool:
    """Return whether a step is done: on the way back, once it is written (I6).

    A promotion waits for the Gateway, also for backends that it does not find, unless a member that does not answer
    explains it.
    """
    if moving.goes_back:
        return is_written(world)
    return is_in_place(world) and not unexplained(world)


def _awaits_gateway_status(world: GroupWorld, since: datetime) -> bool:
    """Return whether a Gateway has said nothing of some route yet, or has not found what a promotion brings, and may
    still.
    """
    silent = any(live.accepted is None and not live.foreign for live in world.observed.routes.values())
    moving = world.record.transition
    silent = silent or (moving is not None and not moving.goes_back and any(unresolved(world)))
    return silent and world.now < since + timedelta(seconds=GATEWAY_STATUS_GRACE_SECONDS)

"""Steps that answer operators: `abort`, `promote`, `rollback --offline`, `gate` in the cluster, `retry` through Git."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from gitops_bg.core.checks.operator_requests import destination, is_answered_by
from gitops_bg.core.model.desired import PassedRetry
from gitops_bg.core.model.git.looks import awaited
from gitops_bg.core.model.hooks import OpenGate
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.record import Cause, Event, Lift, Record, SwitchKind
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.core.model.version import Stage, Version
from gitops_bg.core.transitions.git.decisions import override
from gitops_bg.core.transitions.traffic.abort import abort_rollout
from gitops_bg.core.transitions.traffic.holds import lift_hold
from gitops_bg.core.transitions.traffic.promote_full import promote_full
from gitops_bg.core.transitions.verdicts.analysis import measure_again, retry_live
from gitops_bg.core.transitions.versions.versions import start_rollout
from gitops_bg.core.world import World


def answer_request(world: World) -> World:
    """Carry out the operator's request once; the record keeps its id."""
    request = world.observed.request
    if request is None or request.id == world.record.operator.request:
        return world
    world = world.with_part(replace(world.record.operator, request=request.id))
    return _ANSWERS[request.verb](world, request)


def _abort(world: World, request: Request) -> World:
    """Stop the version on its way, and leave the serving one if it is unproven, for the last proven one.

    With no version on its way, also leave a version whose predecessor is still warm. A rollback under way is what an
    abort asks for: it continues, now even where main names another version that was not seen before (decision 17).
    """
    reason, active = request.reason or "aborted", world.active
    coming, candidate = world.incoming, world.candidate or _candidate_seen_last(world)
    if coming and world.switch_kind is SwitchKind.ROLLBACK:
        pending = world.record.routing.override
        known = pending is not None and (pending.awaits or pending.by)
        return world if known else override(world, coming, cause=Cause.ABORTED, reason=reason, by=request.by)
    stopped = [one for one in (coming if active else None, candidate) if one]
    for version in dict.fromkeys(stopped):
        world = abort_rollout(world, version, cause=Cause.ABORTED, reason=reason, by=request.by)
    world = _confirm_hold(world)
    good = world.last_proven
    just_promoted = good is not None and not stopped and good.stage is Stage.LEGACY and good.retiring
    if active and good and (world.unproven or just_promoted):
        return override(world, good, cause=Cause.ABORTED, reason=reason, by=request.by)
    return world


def _confirm_hold(world: World) -> World:
    """Stop a held version once more: a retry that was not seen before does not lift its hold (decision 17)."""
    retry, waits = world.spec.retry, awaited(world.desired.looks)
    if retry is None or retry.number <= world.record.operator.retry or not world.record.held(retry.digest):
        return world
    holds = (replace(hold, awaits=waits) if hold.digest == retry.digest else hold for hold in world.record.holds)
    return world.with_record(replace(world.record, holds=tuple(holds)))


@dataclass(frozen=True, slots=True)
class Aborting:
    """What an abort would do now: the versions it stops, and where live traffic goes. None: it stays."""

    stops: tuple[Version, ...]
    goes_to: Version | None

    def __bool__(self) -> bool:
        return bool(self.stops)


def aborting(world: World) -> Aborting:
    """What `abort` would stop, and where live traffic would go. Falsy where there is nothing to abort."""
    after = _abort(world, Request("", OperatorCommand.ABORT, "", world.now)).record
    leaves = after.routing.override if after.routing.override != world.record.routing.override else None
    goes_to = after.version(leaves.to_digest) if leaves and leaves.to_digest != after.routing.traffic else None
    held = [each for each in after.versions if after.held(each.digest) and not world.record.held(each.digest)]
    return Aborting((*held, world.active) if goes_to and world.active else tuple(held), goes_to)


def _candidate_seen_last(world: World) -> Version | None:
    """The version that was on its way when the target could last be read: an abort needs no Git."""
    if world.target:
        return None
    on_its_way = [v for v in world.record.versions if v.stage is Stage.CANDIDATE and not v.retiring]
    return next((v for v in reversed(on_its_way) if v.digest != world.record.routing.traffic), None)


def _roll_back(world: World, request: Request) -> World:
    version = destination(world, request.to_version, forced=request.force)
    if version is None or version.digest == world.record.routing.traffic:
        return world
    reason = request.reason or "rolled back by hand"
    return override(world, version, cause=Cause.ROLLED_BACK, reason=reason, by=request.by)


def _open_gate(world: World, request: Request) -> World:
    known = any(hook.manual and hook.name == request.gate for hook in world.spec.strategy.hooks)
    if not known or world.record.gate(request.gate):
        return world
    opened = OpenGate(request.gate, request.by, request.at, request.reason)
    world = world.with_part(replace(world.record.hook_state, open_gates=(*world.record.hook_state.open_gates, opened)))
    return _note_gate(world, Event.GATE_OPENED, request)


def _close_gate(world: World, request: Request) -> World:
    left = tuple(gate for gate in world.record.hook_state.open_gates if gate.name != request.gate)
    if left == world.record.hook_state.open_gates:
        return world
    return _note_gate(
        world.with_part(replace(world.record.hook_state, open_gates=left)),
        Event.GATE_CLOSED,
        request,
    )


def _note_gate(world: World, event: Event, request: Request) -> World:
    reason = f"{request.gate}: {request.reason}" if request.reason else request.gate
    return world.noting(event, to=world.incoming or world.candidate, by=request.by, reason=reason)


_ANSWERS: dict[OperatorCommand, Callable[[World, Request], World]] = {
    OperatorCommand.PROMOTE: lambda world, _: measure_again(world),
    OperatorCommand.PROMOTE_FULL: promote_full,
    OperatorCommand.ABORT: _abort,
    OperatorCommand.ROLLBACK: _roll_back,
    OperatorCommand.OPEN_GATE: _open_gate,
    OperatorCommand.CLOSE_GATE: _close_gate,
}


def answer_older_retry(world: World) -> World:
    """Count a retry that came into main before the last change of ``primary.yaml`` before that change (decision 18)."""
    primary, asked = world.desired.primary, world.desired.retried_by
    if not primary or asked is None:
        return world
    passed = world.desired.retries_passed
    older = tuple(one for one in passed if primary.changed_by.landed_after(one.asked_by))
    world = _hear_passed(world, older)
    return answer_retry(world) if primary.changed_by.landed_after(asked) else world


def asks_for_retries(spec: AppSpec, record: Record) -> bool:
    """Whether further retries passed between two looks at main: each was a decision, even if a later one
    replaced it.
    """
    return spec.retry is not None and spec.retry.number > record.operator.retry + 1


def _hear_passed(world: World, passed: tuple[PassedRetry, ...]) -> World:
    """Lift the holds of the passed retries, although another digest is being retried by now."""
    for retry in () if world.frozen else (one.retry for one in passed):
        hold = world.record.held(retry.digest)
        if retry.number <= world.record.operator.retry:
            continue
        world = world.with_part(replace(world.record.operator, retry=retry.number))
        if hold is None or is_answered_by(hold, retry):
            world = lift_hold(world, retry.digest, how=Lift.SAID_SO, reason="retried", by=retry.by)
    return world


def _is_of_unknown_order(world: World) -> bool:
    """Whether it is unknown at present if the retry is older than what speaks against its digest; the agent
    asks again.
    """
    asked = world.desired.retried_by
    return asked is not None and not asked.commit


def answer_retry(world: World) -> World:
    """Follow a retry in ``app.yaml``: lift the hold, and begin a new, numbered rollout without earlier results."""
    retry = world.spec.retry
    if retry is None or retry.number <= world.record.operator.retry or world.frozen or _is_of_unknown_order(world):
        return world
    world = _hear_passed(world, world.desired.retries_passed)
    hold = world.record.held(retry.digest)
    world = world.with_part(replace(world.record.operator, retry=retry.number))
    if hold and not is_answered_by(hold, retry):
        return world
    world = lift_hold(world, retry.digest, how=Lift.SAID_SO, reason="retried", by=retry.by)
    version = world.record.version(retry.digest)
    if version is not None and version.digest == world.record.routing.traffic:
        return retry_live(world, version, retry.by or world.retried_by.author)
    if version is None or version.digest != world.target_digest:
        return world
    world = start_rollout(world, version)
    asked = world.retried_by
    return world.noting(
        Event.RETRIED, to=world.record.version(retry.digest), by=retry.by or asked.author, commit=asked.commit
    )

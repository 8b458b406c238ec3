"""What an app does where operators ask: `abort`, `promote`, `rollback --offline` in the cluster, `retry` in Git."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from gitops_bg.core.checks.operator_requests import destination, is_answered_by
from gitops_bg.core.delivery.holds import lift_hold
from gitops_bg.core.model.git.journal import awaited
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.record import Event, SwitchKind
from gitops_bg.core.model.spec import Retry
from gitops_bg.core.model.statements import Cause, Says, restated
from gitops_bg.core.model.version import Source, Stage, Version
from gitops_bg.core.transitions.git.decisions import override
from gitops_bg.core.transitions.traffic.abort import abort_rollout
from gitops_bg.core.transitions.traffic.promote_full import promote_full
from gitops_bg.core.transitions.verdicts.analysis import measure_again, paused_versions, retry_live
from gitops_bg.core.transitions.versions.versions import start_rollout
from gitops_bg.core.world import World


def _abort(world: World, request: Request) -> World:
    """Hold the versions that the request names, and leave a named one that serves, for the last proven one.

    Who names none means what is on its way now, and what serves unproven. A rollback under way is what an abort asks
    for: it continues.
    """
    about = request.about or tuple(each.digest for each in _stoppable(world))
    reason, back = request.reason or "aborted", _going_back(world)
    stays = (world.record.routing.traffic, back.digest if back else "")
    for version in filter(None, map(world.record.version, about)):
        if version.digest not in stays:
            world = _stop(world, version, reason, request.by)
    if back is None and world.spec.retry and world.spec.retry.number > world.record.operator.retry:
        world = _confirm_hold(world, world.spec.retry.digest)
    return _leave(world, request, about, back)


def _leave(world: World, request: Request, about: tuple[str, ...], back: Version | None) -> World:
    """Move traffic away from the serving version if the request names it.

    Not where the version came to serve since and has proven itself: its writer never saw it serve. The rollback that is
    under way counts as asked for, now even where main names another version that was not seen before (decision 17).
    """
    active, reason = world.active, request.reason or "aborted"
    if active is None or active.digest not in about:
        return world
    if back is not None:
        pending = world.record.override
        known = pending is not None and (pending.awaits or pending.by)
        return world if known else override(world, back, cause=Cause.ABORTED, reason=reason, by=request.by)
    good = world.last_proven
    if good is None or not (world.unproven or request.live == active.digest):
        return world
    return override(world, good, cause=Cause.ABORTED, reason=reason, by=request.by)


def _stoppable(world: World) -> tuple[Version, ...]:
    """The versions that an abort stops by what is seen now: those on their way, and the serving one where traffic is to
    leave it, last. A version that has proven itself keeps serving.
    """
    active, coming = world.active, world.incoming
    if _going_back(world):
        return (active,) if active else ()
    on_its_way = [one for one in (coming if active else None, world.candidate or _candidate_seen_last(world)) if one]
    leaves = active is not None and world.unproven and world.last_proven is not None
    return (*dict.fromkeys(on_its_way), *((active,) if active and leaves else ()))


def _going_back(world: World) -> Version | None:
    """The version that a rollback under way leads to."""
    return world.incoming if world.switch_kind is SwitchKind.ROLLBACK else None


def _stop(world: World, version: Version, reason: str, by: str) -> World:
    """Hold a version, also one that is held already: what main says, unseen, may lift the former hold, and is no answer
    to this request (decision 17).
    """
    hold = world.record.held(version.digest)
    if hold is not None and hold.cause.is_bad:
        return _confirm_hold(world, version.digest)
    if hold is not None:
        world = world.with_record(world.record.without_objection(version.digest))
    return abort_rollout(world, version, cause=Cause.ABORTED, reason=reason, by=by)


def _confirm_hold(world: World, digest: str) -> World:
    """Stop a held version once more: a retry that was not seen before does not lift its hold."""
    statements = restated(world.record.statements, digest, awaited(world.desired.looks))
    return world.with_record(replace(world.record, statements=statements))


@dataclass(frozen=True, slots=True)
class Aborting:
    """What an abort would do now: the versions it stops, and where live traffic goes. None: it stays."""

    stops: tuple[Version, ...]
    goes_to: Version | None
    live: str = ""
    """The digest that serves now."""

    def __bool__(self) -> bool:
        return bool(self.stops)


def aborting(world: World) -> Aborting:
    """What `abort` would stop, and where live traffic would go. Falsy where there is nothing to abort."""
    live, back, known = world.record.routing.traffic, _going_back(world), world.record.override
    if back is not None and known and (known.awaits or known.by):
        return Aborting((), None, live)
    stops = tuple(each for each in _stoppable(world) if not world.record.held(each.digest))
    goes_to = (back or world.last_proven) if world.active in stops else None
    return Aborting(stops, goes_to, live)


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


ANSWERS: dict[OperatorCommand, Callable[[World, Request], World]] = {
    OperatorCommand.PROMOTE: lambda world, request: measure_again(world, request.about or paused_versions(world)),
    OperatorCommand.PROMOTE_FULL: promote_full,
    OperatorCommand.ABORT: _abort,
    OperatorCommand.ROLLBACK: _roll_back,
}
"""How each verb is carried out, but those of gates (`core.delivery.operators`)."""


def apply_retries(world: World, retries: Iterable[Retry]) -> World:
    """Lift the holds that the retries answer, each retry once; the record keeps the number of the last."""
    for retry in retries:
        hold = world.record.held(retry.digest)
        if retry.number <= world.record.operator.retry:
            continue
        world = world.with_part(replace(world.record.operator, retry=retry.number))
        if hold is None or is_answered_by(hold, retry):
            world = lift_hold(world, retry.digest, how=Says.CLEARED, reason="retried", by=retry.by)
    return world


def answer_retry(world: World, asked: Source, retry: Retry) -> World:
    """Follow a retry in ``app.yaml``: lift the hold, and begin a new, numbered rollout without earlier results. One
    that another has replaced since only lifts the hold.

    Where it is unknown at present who asked, and so whether the retry is older than what speaks against its digest, the
    agent asks again.
    """
    if retry.number <= world.record.operator.retry or world.frozen or not asked.commit:
        return world
    hold = world.record.held(retry.digest)
    world = apply_retries(world, [retry])
    if retry != world.spec.retry or (hold and not is_answered_by(hold, retry)):
        return world
    version, by = world.record.version(retry.digest), retry.by or asked.author
    if version is not None and version.digest == world.record.routing.traffic:
        return retry_live(world, version, by, asked.commit)
    if version is None or version.digest != world.target_digest:
        return world
    world = start_rollout(world, version)
    return world.with_ledger_entry(Event.RETRIED, to=world.record.version(retry.digest), by=by, commit=asked.commit)

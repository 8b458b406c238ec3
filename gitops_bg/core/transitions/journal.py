"""The steps that follow what people ask for, by what main said and as operators, in the order of main's own line
(decisions 17 and 18).

What came into main before the last change of ``primary.yaml`` counts before it, and what came later counts later,
whenever anybody looked. An entry of unknown place counts as later. The first look at main that begins after an
emergency or an abort shows what was there before anybody could react: it ends nothing and lifts nothing, however new it
is to the agent. Only later changes do.

A reverted push needs marker and content (gitops.md §3): the commit names the reverted commits, those had brought the
version that serves or is about to, and the version that the target names now has served before. So is the order: the
revert came into main after ``primary.yaml`` was last changed.

`promote --full` applies to the version that the request names, wherever that is by then, and to no other: it moves
without pause, analyses and preview size, in its present rollout. Every other gate stays (argo-rollouts.md §2.4).
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from gitops_bg.core.checks.git import (
    asks_for_names,
    destination,
    is_answered_by,
    named_by_target,
    precedes_primary,
    revert_objection,
    reverted,
)
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.delivery.gates import SKIPPED
from gitops_bg.core.delivery.holds import lift_hold, put_hold
from gitops_bg.core.model.journal import Entry, Named, Retried, Targeted, awaited
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.record import Event, Record, SwitchKind
from gitops_bg.core.model.spec import Retry
from gitops_bg.core.model.statements import Cause, Hold, Says, after_poll, restated
from gitops_bg.core.model.version import Source, Stage, Version, short
from gitops_bg.core.transitions.decisions import (
    abort_rollout,
    clear_hold_of_named,
    follow_primary,
    override,
    overrule_retry,
    overrule_target,
    record_named,
)
from gitops_bg.core.transitions.versions import measure_again, paused_versions, retry_live, skip_verdict, start_rollout
from gitops_bg.core.world import World


def promote_full(world: World, request: Request) -> World:
    """Speed up the named version where it is on its way forward, and end its analysis where it serves."""
    if world.active is None:
        return world
    about = request.about or meant_in_full(world)
    if world.active.digest in about:
        world = skip_verdict(world, request.by)
    on_its_way = (_coming_forward(world), world.candidate)
    version = next((each for each in on_its_way if each and each.digest in about), None)
    if version is None or world.record.operator.promotes_in_full(version.rollout):
        return world
    world = world.with_part(replace(world.record.operator, promote_full=version.rollout))
    return world.with_ledger_entry(Event.SKIPPED, to=version, by=request.by, reason=request.reason or SKIPPED)


def meant_in_full(world: World) -> tuple[str, ...]:
    """Return the version that `promote --full` is about by what is seen now: the one on its way forward, else the
    serving one.
    """
    version = _coming_forward(world) or (None if world.incoming else world.candidate) or world.active
    return (version.digest,) if version else ()


def _coming_forward(world: World) -> Version | None:
    return world.incoming if world.switch_kind is SwitchKind.PROMOTION else None


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
    """Return the versions that an abort stops by what is seen now: those on their way, and the serving one where
    traffic is to leave it, last. A version that has proven itself keeps serving.
    """
    active, coming = world.active, world.incoming
    if _going_back(world):
        return (active,) if active else ()
    on_its_way = [one for one in (coming if active else None, world.candidate or _candidate_seen_last(world)) if one]
    leaves = active is not None and world.unproven and world.last_proven is not None
    return (*dict.fromkeys(on_its_way), *((active,) if active and leaves else ()))


def _going_back(world: World) -> Version | None:
    """Return the version that a rollback under way leads to."""
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
    """Return what `abort` would stop, and where live traffic would go. Falsy where there is nothing to abort."""
    live, back, known = world.record.routing.traffic, _going_back(world), world.record.override
    if back is not None and known and (known.awaits or known.by):
        return Aborting((), None, live)
    stops = tuple(each for each in _stoppable(world) if not world.record.held(each.digest))
    goes_to = (back or world.last_proven) if world.active in stops else None
    return Aborting(stops, goes_to, live)


def _candidate_seen_last(world: World) -> Version | None:
    """Return the version that was on its way when the target could last be read: an abort needs no Git."""
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
"""How each verb is carried out, but those of gates (`core.delivery.subject`)."""


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


def resume_rollback(world: World) -> World:
    """Continue an emergency that Git has not followed, where its record is lost.

    The ledger holds the serving version, or the version that main names while traffic is elsewhere, and main has not
    changed since: nobody has answered. Where main has named the serving version since the ledger was written, main did
    follow, and what it names now came later.
    """
    memory, primary, active = world.desired.memory, world.desired.primary, world.active
    if memory is None or not primary or active is None:
        return world
    if active.digest in (world.resolve(named.snapshot) for _, named in world.desired.journal.of(Named)):
        statements = tuple(replace(each, awaits=None) for each in world.record.statements)
        return world.with_record(replace(world.record, statements=statements))
    left, named = world.record.held(active.digest), world.record.held(world.primary_digest)
    hold, back = (left, world.rollback_target) if left else (named, active)
    if hold is None or back is None or hold.cause in (Cause.EXPIRED, Cause.CLOSED):
        return world
    if memory.primary_by != primary.changed_by.commit:
        return world
    world = world.with_record(record_named(world.record, (world.primary_digest,))[0])
    return override(world, back, cause=hold.cause, reason=hold.reason, by="", commit=memory.primary_by)


def mark_main_observed(world: World) -> World:
    """Note what main says for the decisions that no look has followed yet; then end their wait."""
    if not world.record.awaits_poll:
        return world
    world = _overrule(_know_primary(_know_revert(_know_retry(world))))
    statements = after_poll(world.record.statements, world.desired.looks)
    return world.with_record(replace(world.record, statements=statements))


def _know_retry(world: World) -> World:
    """Count the retries that are older than the hold on their digest as heard, with all before them.

    Also one that another retry has replaced in ``app.yaml`` since: it would be heard as soon as the app goes on.
    """
    retries = [*(said.retry for _, said in world.desired.journal.of(Retried)), *filter(None, (world.spec.retry,))]
    unheard = [one for one in retries if one.number > world.record.operator.retry]
    for number, retry in enumerate(unheard, start=1):
        hold = world.record.held(retry.digest)
        if hold is not None and not is_answered_by(hold, retry):
            return _know_retry(apply_retries(world, unheard[:number]))
    return world


def _know_revert(world: World) -> World:
    """Ignore the revert of a revert that is older than the hold on its version."""
    hold = world.record.held(world.target_digest)
    return world if hold is None or hold.awaits is None else overrule_target(world)


def _overrule(world: World) -> World:
    """Undo a promotion that was merged before its version was aborted: traffic stays, and Git is told (DESIGN §4.5)."""
    hold, active = world.record.held(world.primary_digest), world.active
    if hold is None or hold.awaits is None or active is None or world.record.override:
        return world
    if hold.cause is Cause.EXPIRED or active.digest == hold.digest:
        return world
    reason = f"{hold.reason}; primary.yaml had named it before"
    return override(world, active, cause=hold.cause, reason=reason, by="")


def _know_primary(world: World) -> World:
    """Note that the present primary.yaml answers neither an emergency nor the hold on what it names."""
    pending, hold = world.record.override, world.record.held(world.primary_digest)
    waits = (pending is not None and pending.awaits) or _outranks(hold)
    if not waits or not world.desired.primary:
        return world
    return world.with_record(record_named(world.record, (world.primary_digest,))[0])


def _outranks(hold: Hold | None) -> bool:
    """Return whether a hold counts more than a promotion merged before it. A hold by expiry does not: the merge
    was in time.
    """
    return hold is not None and hold.awaits is not None and hold.cause is not Cause.EXPIRED


def record_main(world: World, before: Record) -> World:
    """Record the main of this decision."""
    git = world.record.git
    main = world.desired.main.learnt(git.main, saved=world.record != before)
    return world if main == git.main else world.with_part(replace(git, main=main))


def follow_target_revert(world: World, source: Source, told: Targeted) -> World:
    """Send traffic back at once where the push of the version that it follows was reverted (gitops.md §3).

    Where traffic has not moved yet, the promotion is cancelled: no switch, and a hold on the promoted version, unless
    that served before: nothing speaks against going back to it (I6). A rollback that has not begun is cancelled only
    where the reverted push is the one that ``primary.yaml`` comes from, not by the revert of a promotion.
    """
    leaving, back = world.record.version(world.desired_digest), named_by_target(world)
    if leaving is None or back is None or back == leaving or revert_objection(world, source, told):
        return world
    returns = leaving.was_active and leaving.digest != world.record.routing.traffic
    if returns and not _is_of_what_was_reverted(world):
        return world
    reason = f"{source.commit[:10]} reverts the target commit that brought {short(leaving.digest)}"
    world = overrule_retry(world, leaving.digest, source)
    world = override(world, back, cause=Cause.ROLLED_BACK, reason=reason, by=source.author, commit=source.commit)
    if leaving.digest != world.record.routing.traffic and not returns:
        world = put_hold(world, leaving.digest, cause=Cause.TAKEN_BACK, reason=reason, by=source.author)
    return world


def _is_of_what_was_reverted(world: World) -> bool:
    primary = world.desired.primary
    return bool(primary and primary.source.commit in reverted(world))


def lift_by_revert(world: World, source: Source) -> World:
    """Follow the revert of a revert: the version is wanted again, its hold ends, and it must pass every gate. A hold
    that awaits this look is newer.
    """
    version, hold = named_by_target(world), world.record.held(world.target_digest)
    if version is None or world.record.git.target_revert not in reverted(world) or (hold and hold.awaits):
        return world
    world = world.with_part(replace(world.record.git, target_revert=source.commit))
    reason = f"{source.commit[:10]} reverts the revert of its push"
    return lift_hold(world, version.digest, how=Says.CLEARED, reason=reason, by=source.author)


def follow_main(world: World) -> World:
    """Follow what main said up to the last change of ``primary.yaml``, then what that names.

    All but that is older than the decisions that await this look, so it counts before the look ends their wait.
    """
    for entry in world.desired.journal.entries:
        if isinstance(entry.says, Named) or precedes_primary(world, entry):
            world = _follow(world, entry)
    return follow_primary(mark_main_observed(world))


def answer_main(world: World) -> World:
    """Follow what main said since the last change of ``primary.yaml``: retries, and reverts of pushes."""
    for entry in world.desired.journal.entries:
        if not (isinstance(entry.says, Named) or precedes_primary(world, entry)):
            world = _follow(world, entry)
    return world


def _follow(world: World, entry: Entry) -> World:
    match entry.says:
        case Named(snapshot) if asks_for_names(world.desired, world.record):
            return clear_hold_of_named(world, snapshot)
        case Retried(retry):
            return answer_retry(world, entry.source, retry)
        case Targeted() as told if told is world.desired.journal.targeted[0][1]:  # Others say what it takes back, too.
            return _follow_target(world, entry.source, told, is_older=precedes_primary(world, entry))
    return world


def _follow_target(world: World, source: Source, told: Targeted, *, is_older: bool) -> World:
    """Follow the target; of one older than ``primary.yaml`` only the revert of a revert counts, once, before what that
    answered.
    """
    if not is_older:
        return lift_by_revert(follow_target_revert(world, source, told), source)
    primary = world.desired.primary
    is_known = primary and primary.changed_by.commit == world.record.git.primary_by
    return world if is_known else lift_by_revert(world, source)

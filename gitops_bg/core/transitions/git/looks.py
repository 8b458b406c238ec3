"""The step that tells what Git said before a decision of the agent from people's answers to it (decision 17).

The first look at main that begins after an emergency or an abort shows what was there before anybody could react: it
ends nothing and lifts nothing, however new it is to the agent. Only later changes do.
"""

from dataclasses import replace

from gitops_bg.core.checks.operator_requests import is_answered_by
from gitops_bg.core.model.git.journal import Named, Retried
from gitops_bg.core.model.statements import Cause, Hold, after_poll
from gitops_bg.core.transitions.git.decisions import override, overrule_target, record_named
from gitops_bg.core.transitions.git.operator_requests import apply_retries
from gitops_bg.core.world import World


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
    """Whether a hold counts more than a promotion merged before it. A hold by expiry does not: the merge
    was in time.
    """
    return hold is not None and hold.awaits is not None and hold.cause is not Cause.EXPIRED

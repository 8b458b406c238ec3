"""Which hooks are asked about which version, and when hooks are next asked or notified."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from gitops_bg.core.checks.analysis import is_shown
from gitops_bg.core.checks.hooks.queries import (
    goes_forward,
    hooks_of,
    is_judged_live,
    is_skipped,
    next_call,
)
from gitops_bg.core.model.hooks import (
    Hook,
    HookRun,
    HookType,
    OutboxMessage,
    backoff,
    expires_at,
)
from gitops_bg.core.model.record import Outbox
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

CONFIRM_PROMOTION, ROLLBACK = HookType.CONFIRM_PROMOTION, HookType.ROLLBACK
ASKS_THE_PREVIEW = (HookType.PRE_ROLLOUT, HookType.ROLLOUT)
"""The types whose backends test a version through the preview Service: they are asked while that leads to it alone."""


def query_deadlines(world: World) -> Iterator[datetime]:
    """The times at which a call becomes due, or the deadline of a hook ends."""
    for hook, run in asked_about(world):
        moments = (next_call(world, run, hook), None if run.expired else expires_at(run, hook, world.resumed_at))
        yield from (moment for moment in moments if moment)


def asked_about(world: World) -> Iterator[tuple[Hook, HookRun]]:
    """The runs that continue: a suspension stops hooks that lead forward, never hooks that may lead to a rollback."""
    hooks = {(hook.name, hook.type): hook for hook in world.spec.strategy.hooks}
    for run in world.record.hook_state.runs:
        hook, version = hooks.get((run.hook, run.type)), world.record.version(run.digest)
        if hook and version and _is_watched(world, version, run):
            yield hook, run


def _is_watched(world: World, version: Version, run: HookRun) -> bool:
    if run.type is ROLLBACK:
        return goes_forward(world, version) or is_judged_live(world, version)
    answered = run.type is CONFIRM_PROMOTION and not run.final and world.incoming == version
    if answered or is_skipped(world, version, run.type):
        return False
    if run.type in ASKS_THE_PREVIEW and not is_shown(world, version):
        return False
    return goes_forward(world, version) and not world.frozen


def delivery_deadlines(world: World) -> Iterator[datetime]:
    """The times at which a message is sent again, or given up."""
    hooks = {hook.key: hook for hook in listeners(world)}
    for one in next_messages(world):
        if hook := hooks.get(one.hook):
            yield from filter(None, [None if hook.unknown else message_due_at(one), message_ends_at(hook, one)])


def listeners(world: World) -> Iterator[Hook]:
    """The hooks that are only notified."""
    return hooks_of(world, HookType.POST_ROLLOUT, HookType.EVENT, HookType.ALERT)


def next_messages(world: World) -> list[OutboxMessage]:
    """The oldest message of each hook: a hook gets one message after the other."""
    return oldest_of_each(world.record.outbox)


def oldest_of_each(outbox: Outbox) -> list[OutboxMessage]:
    """The oldest message of each hook in an outbox."""
    heads: dict[str, OutboxMessage] = {}
    for one in outbox.messages:
        heads.setdefault(one.hook, one)
    return list(heads.values())


def message_due_at(one: OutboxMessage) -> datetime:
    """When a message is sent, or sent again."""
    return one.last_at + backoff(one.tries) if one.last_at else one.at


def message_ends_at(hook: Hook, one: OutboxMessage) -> datetime | None:
    """When a message is given up; None: never."""
    return one.at + timedelta(seconds=hook.deadline) if hook.deadline is not None else None

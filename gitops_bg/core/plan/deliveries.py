"""The messages to send to hooks and people now."""

from gitops_bg.core.checks.event_text import facts_of, links_of
from gitops_bg.core.checks.subject import listeners
from gitops_bg.core.delivery.outbox import due
from gitops_bg.core.model.hooks import (
    Alert,
    Hook,
    HookCall,
    HookType,
    OutboxMessage,
    Severity,
)
from gitops_bg.core.world import World


def deliveries_due(world: World) -> tuple[HookCall, ...]:
    """The messages to send now: the oldest of each hook."""
    heads = due(world.record.outbox, listeners(world), world.now)
    return tuple(_call(world, hook, one) for hook, one in heads)


def _key(world: World, one: OutboxMessage) -> str:
    return f"{world.record.epoch}.told.{one.hook}.{one.number}"


def message_id(world: World, one: OutboxMessage) -> str:
    """The id of this try of a message, which its response names."""
    return f"{_key(world, one)}.{one.tries}"


def _call(world: World, hook: Hook, one: OutboxMessage) -> HookCall:
    metadata = event_metadata(one) if hook.type is HookType.EVENT else ()
    alert = _alert(world, one) if hook.type is HookType.ALERT else None
    return HookCall(message_id(world, one), _key(world, one), hook, one.phase, one.checksum, metadata, alert)


def _alert(world: World, one: OutboxMessage) -> Alert:
    return Alert(one.severity, one.message, one.at, facts_of(world, one), links_of(world, one))


def event_metadata(one: OutboxMessage) -> tuple[tuple[str, str], ...]:
    """What event hooks get in addition (flagger.md §3.4)."""
    milliseconds = str(int(one.at.timestamp() * 1000))
    kind = "Normal" if one.severity is Severity.INFO else "Warning"
    return (("eventMessage", one.message), ("eventType", kind), ("timestamp", milliseconds))

"""Messages on their way to those who only listen: queued, answered, given up. Outbox in, outbox out (flagger.md §3.4).

Knows neither apps nor release groups: `core.delivery.messages` says what is told, and to whom. A hook gets one message
after the other, and no hook waits for another.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from gitops_bg.core.model.hooks import (
    Alert,
    Hook,
    HookAnswer,
    HookCall,
    HookResponse,
    HookType,
    OutboxMessage,
    Severity,
    answer_of,
    backoff,
    is_retried,
)
from gitops_bg.core.model.record import Outbox

MOST_DELIVERIES = 100
"""The most messages kept for unreachable hooks: the oldest are dropped."""


def queued(
    outbox: Outbox, hook: Hook, now: datetime, *, phase: str, checksum: str, message: str, severity: Severity
) -> Outbox:
    """Return the outbox with one more message to a hook."""
    one = OutboxMessage(hook.key, outbox.last_number + 1, now, phase, checksum, message, severity)
    return replace(outbox, last_number=one.number, messages=(*outbox.messages, one)[-MOST_DELIVERIES:])


def settled(
    outbox: Outbox,
    listeners: Iterable[Hook],
    responses: Iterable[HookResponse],
    epoch: str,
    now: datetime,
) -> tuple[Outbox, tuple[tuple[Hook, str], ...]]:
    """Return the outbox after what came back, without the messages that are too late; and each hook that newly does not
    take its messages, with why.

    ``epoch`` is that of the record. A hook fails until it accepts a message again.
    """
    hooks, failed, by_id = {hook.key: hook for hook in listeners}, dict[str, str](), {one.id: one for one in responses}
    for one in _heads(outbox):
        called, hook = by_id.get(_id(epoch, one)), hooks.get(one.hook)
        if called is not None and hook is not None:
            outbox, failed[hook.key] = _answered(outbox, hook, one, called)
    for hook in hooks.values():
        outbox, late = _given_up(outbox, hook, now)
        failed[hook.key] = failed.get(hook.key) or late
    wrong = tuple((hooks[key], why) for key, why in failed.items() if why and key not in outbox.undelivered)
    return replace(outbox, undelivered=(*outbox.undelivered, *(hook.key for hook, _ in wrong))), wrong


def calls_due(
    outbox: Outbox, listeners: Iterable[Hook], epoch: str, now: datetime, alert: Callable[[OutboxMessage], Alert]
) -> tuple[HookCall, ...]:
    """The messages to send now: the oldest of each hook. ``alert`` is what chats get of one."""
    heads = ((hook, one) for hook, one in _known(outbox, listeners) if not hook.unknown)
    return tuple(_call(hook, one, epoch, alert) for hook, one in heads if _due_at(one) <= now)


def _call(hook: Hook, one: OutboxMessage, epoch: str, alert: Callable[[OutboxMessage], Alert]) -> HookCall:
    metadata = _of_event(one) if hook.type is HookType.EVENT else ()
    sent = alert(one) if hook.type is HookType.ALERT else None
    return HookCall(_id(epoch, one), _key(epoch, one), hook, one.phase, one.checksum, metadata, sent)


def _key(epoch: str, one: OutboxMessage) -> str:
    """What every try of a message has in common; those of another life of the record have other ones."""
    return f"{epoch}.told.{one.hook}.{one.number}"


def _id(epoch: str, one: OutboxMessage) -> str:
    """The id of this try of a message, which its response names."""
    return f"{_key(epoch, one)}.{one.tries}"


def _of_event(one: OutboxMessage) -> tuple[tuple[str, str], ...]:
    """What event hooks get in addition (flagger.md §3.4)."""
    milliseconds = str(int(one.at.timestamp() * 1000))
    kind = "Normal" if one.severity is Severity.INFO else "Warning"
    return (("eventMessage", one.message), ("eventType", kind), ("timestamp", milliseconds))


def moments(outbox: Outbox, listeners: Iterable[Hook]) -> Iterator[datetime]:
    """When a message is sent, or sent again, and when it is given up."""
    for hook, one in _known(outbox, listeners):
        yield from filter(None, (None if hook.unknown else _due_at(one), _ends_at(hook, one)))


def only_known(outbox: Outbox, hooks: Iterable[Hook]) -> Outbox:
    """Return the outbox without the messages of hooks that are no longer in any file."""
    names = {hook.key for hook in hooks}
    return replace(
        outbox,
        messages=tuple(one for one in outbox.messages if one.hook in names),
        undelivered=tuple(name for name in outbox.undelivered if name in names),
    )


def _answered(outbox: Outbox, hook: Hook, one: OutboxMessage, called: HookResponse) -> tuple[Outbox, str]:
    """Return the outbox after a response to a message, and why the hook does not take it; empty where it does, or is
    asked again. A message whose next try would come too late is given up with what the hook said last.
    """
    answer = answer_of(called.status)
    again = answer is HookAnswer.REFUSED and is_retried(hook, called.status, one.tries)
    said = " ".join(called.text.split())[:300]
    if answer is HookAnswer.UNANSWERED or again:
        tried = replace(one, tries=one.tries + 1, last_at=called.at)
        if not _is_late(hook, one, _due_at(tried)):
            return _with(outbox, one, tried), ""
        return _with(outbox, one, None), f"no answer within {hook.deadline} s{said and f'; at last: {said}'}"
    outbox = _with(outbox, one, None)
    if answer is HookAnswer.REFUSED:
        return outbox, f"refused ({called.status}): {said}"
    return replace(outbox, undelivered=tuple(name for name in outbox.undelivered if name != hook.key)), ""


def _given_up(outbox: Outbox, hook: Hook, now: datetime) -> tuple[Outbox, str]:
    """Return the outbox without the messages that are too late, and why a hook did not get them; empty: none is."""
    late = [one for one in outbox.messages if one.hook == hook.key and _is_late(hook, one, now)]
    for one in late:
        outbox = _with(outbox, one, None)
    return outbox, (hook.unknown or f"no answer within {hook.deadline} s") if late else ""


def _heads(outbox: Outbox) -> list[OutboxMessage]:
    """The oldest message of each hook."""
    heads: dict[str, OutboxMessage] = {}
    for one in outbox.messages:
        heads.setdefault(one.hook, one)
    return list(heads.values())


def _known(outbox: Outbox, listeners: Iterable[Hook]) -> Iterator[tuple[Hook, OutboxMessage]]:
    hooks = {hook.key: hook for hook in listeners}
    return ((hooks[one.hook], one) for one in _heads(outbox) if one.hook in hooks)


def _due_at(one: OutboxMessage) -> datetime:
    return one.last_at + backoff(one.tries) if one.last_at else one.at


def _ends_at(hook: Hook, one: OutboxMessage) -> datetime | None:
    """When a message is given up; None: never."""
    return one.at + timedelta(seconds=hook.deadline) if hook.deadline is not None else None


def _is_late(hook: Hook, one: OutboxMessage, now: datetime) -> bool:
    ends = _ends_at(hook, one)
    return ends is not None and now >= ends


def _with(outbox: Outbox, before: OutboxMessage, after: OutboxMessage | None) -> Outbox:
    changed = [after if one == before else one for one in outbox.messages]
    return replace(outbox, messages=tuple(one for one in changed if one))

"""Messages on their way to those who only listen: queued, answered, given up. Outbox in, outbox out (flagger.md §3.4).

Knows neither apps nor release groups: `notifications` and `core.groups.notifications` say what is told, and to whom.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime

from gitops_bg.core.checks.hooks.timing import message_due_at, message_ends_at
from gitops_bg.core.model.hooks import Answer, Hook, HookResponse, OutboxMessage, Severity, answer_of, is_retried
from gitops_bg.core.model.record import Outbox

MOST_DELIVERIES = 100
"""The most messages kept for unreachable hooks: the oldest are dropped."""


def queued(
    outbox: Outbox, hook: Hook, now: datetime, *, phase: str, checksum: str, message: str, severity: Severity
) -> Outbox:
    """Return the outbox with one more message to a hook."""
    one = OutboxMessage(hook.key, outbox.last_number + 1, now, phase, checksum, message, severity)
    return replace(outbox, last_number=one.number, messages=(*outbox.messages, one)[-MOST_DELIVERIES:])


def answered(outbox: Outbox, hook: Hook, one: OutboxMessage, called: HookResponse) -> tuple[Outbox, str]:
    """Return the outbox after a response to a message, and why the hook does not take it; empty where it does, or is
    asked again. A message whose next try would come too late is given up with what the hook said last.
    """
    answer = answer_of(called.status)
    again = answer is Answer.REFUSED and is_retried(hook, called.status, one.tries)
    said = " ".join(called.text.split())[:300]
    if answer is Answer.UNANSWERED or again:
        tried = replace(one, tries=one.tries + 1, last_at=called.at)
        if not _is_late(hook, one, message_due_at(tried)):
            return _with(outbox, one, tried), ""
        return _with(outbox, one, None), f"no answer within {hook.deadline} s{said and f'; at last: {said}'}"
    outbox = _with(outbox, one, None)
    if answer is Answer.REFUSED:
        return outbox, f"refused ({called.status}): {said}"
    return replace(outbox, undelivered=tuple(name for name in outbox.undelivered if name != hook.key)), ""


def given_up(outbox: Outbox, hook: Hook, now: datetime) -> tuple[Outbox, str]:
    """Return the outbox without the messages that are too late, and why a hook did not get them; empty: none is."""
    late = [one for one in outbox.messages if one.hook == hook.key and _is_late(hook, one, now)]
    for one in late:
        outbox = _with(outbox, one, None)
    return outbox, (hook.unknown or f"no answer within {hook.deadline} s") if late else ""


def failing(outbox: Outbox, hook: Hook) -> Outbox:
    """Return the outbox that remembers that a hook did not take a message."""
    return outbox if hook.key in outbox.undelivered else replace(outbox, undelivered=(*outbox.undelivered, hook.key))


def only_known(outbox: Outbox, hooks: Iterable[Hook]) -> Outbox:
    """Return the outbox without the messages of hooks that are no longer in any file."""
    names: Collection[str] = {hook.key for hook in hooks}
    return replace(
        outbox,
        messages=tuple(one for one in outbox.messages if one.hook in names),
        undelivered=tuple(name for name in outbox.undelivered if name in names),
    )


def _is_late(hook: Hook, one: OutboxMessage, now: datetime) -> bool:
    ends = message_ends_at(hook, one)
    return ends is not None and now >= ends


def _with(outbox: Outbox, before: OutboxMessage, after: OutboxMessage | None) -> Outbox:
    changed = [after if one == before else one for one in outbox.messages]
    return replace(outbox, messages=tuple(one for one in changed if one))

"""What those who only listen are told of an app or a release group: one table, filled by the subject's answers, and an
outbox of the messages on their way: queued, answered, given up. Pure.

| What | event hooks | post-rollout hooks | alerts |
|---|---|---|---|
| an entry of the ledger | its event and reason | how a rollout ended, where it did | a sentence, with what to do |
| a version serves, and nothing judges it any more | | Succeeded | |
| another phase | both phases | | |
| what lasts until somebody acts | | | a sentence, once |

Each message stays in the record until its hook accepts it, refuses it, or is unreachable for too long: at least once,
in order for each hook, and no hook waits for another (flagger.md §3.4, §3.7). They block nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisRun
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.events import EVENTS, entry_text, sentence_of, severity_of
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
from gitops_bg.core.model.record import Event, LedgerEntry, Outbox
from gitops_bg.core.model.version import AppOrGroup, SubjectKind

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
    """Return the messages to send now: the oldest of each hook. ``alert`` is what chats get of one."""
    heads = ((hook, one) for hook, one in _known(outbox, listeners) if not hook.unknown)
    return tuple(_call(hook, one, epoch, alert) for hook, one in heads if _due_at(one) <= now)


def _call(hook: Hook, one: OutboxMessage, epoch: str, alert: Callable[[OutboxMessage], Alert]) -> HookCall:
    metadata = _of_event(one) if hook.type is HookType.EVENT else ()
    sent = alert(one) if hook.type is HookType.ALERT else None
    return HookCall(_id(epoch, one), _key(epoch, one), hook, one.phase, one.checksum, metadata, sent)


def _key(epoch: str, one: OutboxMessage) -> str:
    """Return what every try of a message has in common; those of another life of the record have other ones."""
    return f"{epoch}.told.{one.hook}.{one.number}"


def _id(epoch: str, one: OutboxMessage) -> str:
    """Return the id of this try of a message, which its response names."""
    return f"{_key(epoch, one)}.{one.tries}"


def _of_event(one: OutboxMessage) -> tuple[tuple[str, str], ...]:
    """Return what event hooks get in addition (flagger.md §3.4)."""
    milliseconds = str(int(one.at.timestamp() * 1000))
    kind = "Normal" if one.severity is Severity.INFO else "Warning"
    return (("eventMessage", one.message), ("eventType", kind), ("timestamp", milliseconds))


def moments(outbox: Outbox, listeners: Iterable[Hook]) -> Iterator[datetime]:
    """Yield when a message is sent, or sent again, and when it is given up."""
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
    """Return the oldest message of each hook."""
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
    """Return when a message is given up; None: never."""
    return one.at + timedelta(seconds=hook.deadline) if hook.deadline is not None else None


def _is_late(hook: Hook, one: OutboxMessage, now: datetime) -> bool:
    ends = _ends_at(hook, one)
    return ends is not None and now >= ends


def _with(outbox: Outbox, before: OutboxMessage, after: OutboxMessage | None) -> Outbox:
    changed = [after if one == before else one for one in outbox.messages]
    return replace(outbox, messages=tuple(one for one in changed if one))


LISTENING = (HookType.POST_ROLLOUT, HookType.EVENT, HookType.ALERT)
SUCCEEDED, FAILED = "Succeeded", "Failed"


@dataclass(frozen=True, slots=True)
class OngoingAlert:
    """An alert about what lasts until somebody acts; it is sent now, once."""

    severity: Severity
    text: str
    version: str = ""


@dataclass(frozen=True, slots=True)
class NotificationFacts:
    """What messages follow from, of an app or a release group. A version is what its hooks know it by."""

    of: AppOrGroup
    now: datetime
    listeners: tuple[Hook, ...]
    phase: Phase
    sent_phase: str
    """The phase in Flagger's words."""
    version: str
    """The version that it is about now; empty where there is none."""
    entries: tuple[LedgerEntry, ...]
    """The entries that nobody was told of, oldest first."""
    last: int
    """The number of the last entry."""
    serving: str
    judging: AnalysisRun | None
    """The analysis after the promotion of the serving version; None where it has none."""
    goes_back: bool
    """Whether traffic leaves the serving version for the one before."""
    has_reported_failure: Callable[[str], bool] = lambda _: False
    """Whether an earlier entry reported that a version failed: then the one that traffic left it does not."""
    ongoing: tuple[OngoingAlert, ...] = ()

    @property
    def has_settled(self) -> bool:
        """Whether nothing but a person takes the serving version back."""
        return not self.goes_back and (self.judging is None or self.judging.phase is AnalysisPhase.SUCCESSFUL)


@dataclass(frozen=True, slots=True)
class _Message:
    type: HookType
    phase: str
    version: str
    text: str = ""
    severity: Severity = Severity.INFO


def notify(outbox: Outbox, facts: NotificationFacts) -> Outbox:
    """Return the outbox with the messages that are due now."""
    if not facts.listeners:
        return outbox
    unsettled, messages = outbox.unsettled, list[_Message]()
    # A hook that accepts nothing is not reported to any hook: that would never end.
    for entry in (each for each in facts.entries if each.event is not Event.HOOK_UNDELIVERED):
        messages += _of_entry(facts, entry)
        is_live = entry.event in (Event.PROMOTED, Event.ANALYSED) and _versions_of(entry)[1] == facts.serving
        unsettled = facts.serving if is_live else unsettled
    if unsettled and unsettled == facts.serving and facts.has_settled:
        messages.append(_Message(HookType.POST_ROLLOUT, SUCCEEDED, unsettled))
    if unsettled != facts.serving or facts.has_settled:
        unsettled = ""
    messages += _of_phase(facts, outbox.notified_phase)
    for each in facts.ongoing:
        text = f"{facts.of}: {each.text}"
        messages.append(_Message(HookType.ALERT, facts.sent_phase, each.version, text, each.severity))
    for message in messages:
        outbox = _queued(outbox, facts, message)
    hears_phases = any(hook.type is HookType.EVENT for hook in facts.listeners)
    phase = str(facts.phase) if hears_phases else outbox.notified_phase
    return replace(outbox, unsettled=unsettled, notified_phase=phase, notified_sequence=facts.last)


def _of_entry(facts: NotificationFacts, entry: LedgerEntry) -> Iterator[_Message]:
    severity, (origin, to) = severity_of(entry), _versions_of(entry)
    yield _Message(HookType.EVENT, facts.sent_phase, to or origin, entry_text(entry), severity)
    left = origin if entry.event is Event.ROLLED_BACK else ""
    text = sentence(facts.of, entry)
    yield _Message(HookType.ALERT, facts.sent_phase, left or to or origin, text, severity)
    failed = left or (to if entry.event is Event.ABORTED else "")
    if failed and not (left and facts.has_reported_failure(left)):
        yield _Message(HookType.POST_ROLLOUT, FAILED, failed)


def _versions_of(entry: LedgerEntry) -> tuple[str, str]:
    """Return the versions that an entry leads from, and to; empty where it has none. Those of a group have no digest
    there.
    """
    both = (entry.from_digest, entry.from_version), (entry.to_digest, entry.to_version)
    origin, to = (digest or (f"v{number}" if number else "") for digest, number in both)
    return origin, to


def _of_phase(facts: NotificationFacts, before: str) -> Iterator[_Message]:
    if facts.phase != before:
        text = f"phase {before} → {facts.phase}" if before else f"phase {facts.phase}"
        severity = Severity.ERROR if facts.phase is Phase.DEGRADED else Severity.INFO
        yield _Message(HookType.EVENT, facts.sent_phase, facts.version, text, severity)


def _queued(outbox: Outbox, facts: NotificationFacts, one: _Message) -> Outbox:
    for hook in facts.listeners:
        if hook.type is one.type and (one.type is not HookType.ALERT or one.severity.reaches(hook.severity)):
            outbox = queued(
                outbox,
                hook,
                facts.now,
                phase=one.phase,
                checksum=one.version,
                message=one.text,
                severity=one.severity,
            )
    return outbox


def sentence(of: AppOrGroup, entry: LedgerEntry) -> str:
    """Return a ledger entry as one sentence that stands alone, with what to do next, unless its reason already says
    that.
    """
    row = EVENTS[entry.event]
    remedy = ((of.kind is SubjectKind.GROUP and row.group_remedy) or row.remedy).format(app=of)
    then = remedy if remedy not in entry.reason else ""
    return f"{of}: {sentence_of(entry, of.kind)}" + (f"; {then}" if then else "")


def delivered(
    outbox: Outbox,
    listeners: tuple[Hook, ...],
    calls: Iterable[HookResponse],
    epoch: str,
    now: datetime,
    *,
    is_known: bool = True,
) -> tuple[Outbox, tuple[str, ...]]:
    """Return the outbox after what came back, without what is too late; and a sentence for each listener that newly
    does not take its messages. ``is_known``: who listens is known, so messages for others are dropped.
    """
    outbox, wrong = settled(outbox, listeners, calls, epoch, now)
    outbox = only_known(outbox, listeners) if is_known else outbox
    return outbox, tuple(f"{hook.title}: {why}" for hook, why in wrong if not hook.mute_alert)

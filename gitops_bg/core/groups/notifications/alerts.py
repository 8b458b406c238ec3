"""What alerts say of a group: each event once, and once what lasts until somebody acts (flagger.md §3.7).

Messages are part of the record that the decision saves, so a crash loses none: at least once, in order for each alert.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from gitops_bg.core.checks.hook_timing import message_due_at, message_ends_at, oldest_of_each
from gitops_bg.core.groups.decision import GroupDecision
from gitops_bg.core.groups.desired import DesiredGroup
from gitops_bg.core.groups.events import GroupEvent
from gitops_bg.core.groups.model import GroupKey
from gitops_bg.core.groups.observed import ObservedGroup
from gitops_bg.core.groups.status import MAIN_REFUSES, PROMOTION_REJECTED, VALID
from gitops_bg.core.model.decision import Condition, GateResult
from gitops_bg.core.model.hooks import Alert, Hook, HookCall, OutboxMessage, Severity
from gitops_bg.core.model.record import Outbox
from gitops_bg.core.transitions.notifications.outbox import answered, failing, given_up, only_known, queued


@dataclass(frozen=True, slots=True)
class _Standing:
    """Something that lasts until somebody acts."""

    key: str
    """The same as long as it is the same thing."""
    severity: Severity
    text: str
    is_told: bool = True
    """Whether it is alerted to now, if it was not before."""


def notified(
    key: GroupKey, desired: DesiredGroup, observed: ObservedGroup, decision: GroupDecision, now: datetime
) -> GroupDecision:
    """Return a decision with its messages in the record, and the calls that are due. Nothing changes without alerts."""
    before = decision.record
    if not observed.uid or not (desired.alerts or before.outbox.messages or before.outbox.undelivered):
        return decision
    outbox, undelivered = _delivered(key, desired, observed, before.outbox, now)
    standing = tuple(_standing(desired, decision))
    new = (each for each in standing if each.is_told and each.key not in before.alerted)
    told = [
        *((_severity(event, decision), message) for event, message in decision.events if event not in _UNTOLD),
        *((each.severity, each.text) for each in new),
    ]
    for severity, message in told:
        for hook in desired.alerts:
            if severity.reaches(hook.severity):
                text = f"{key}: {message}{_remedy(key, severity)}"
                outbox = queued(outbox, hook, now, phase=decision.phase, checksum="", message=text, severity=severity)
    kept = {each.key for each in standing if each.is_told or each.key in before.alerted}
    record = replace(before, outbox=outbox, alerted=tuple(sorted(kept)) if desired.alerts else ())
    moments = [decision.wake_at, *_moments(desired, outbox, now)]
    wake_at = min((each for each in moments if each is not None), default=None)
    calls = _calls(key, desired, observed, outbox, now)
    return replace(decision, record=record, calls=calls, wake_at=wake_at, events=(*decision.events, *undelivered))


# --- what is told ---


_UNTOLD = frozenset({GroupEvent.ANALYSIS_RUNNING})
"""What is news for the Events alone, as for apps."""

_SEVERITIES = {
    GroupEvent.ANALYSIS_FAILED: Severity.ERROR,
    GroupEvent.ANALYSIS_ERROR: Severity.ERROR,
    GroupEvent.ANALYSIS_INCONCLUSIVE: Severity.WARN,
}


def _severity(event: GroupEvent, decision: GroupDecision) -> Severity:
    """What failed is an error; what somebody asked to go back a warning, as for apps (docs/alerts.md)."""
    if event in (GroupEvent.ROLLBACK_FINISHED, GroupEvent.TRANSITION_WITHDRAWN):
        return Severity.ERROR if decision.record.failed is not None else Severity.WARN
    return _SEVERITIES.get(event, Severity.INFO)


def _standing(desired: DesiredGroup, decision: GroupDecision) -> Iterator[_Standing]:
    for each in decision.conditions:
        if _is_wrong(each):
            yield _Standing(f"{each.type}/{each.reason}", Severity.ERROR, f"{each.reason}: {each.message}")
        if each.reason == MAIN_REFUSES:
            yield _Standing(f"{each.type}/{each.reason}", Severity.WARN, each.message)
    shut = [gate for gate in decision.gates if not gate.open]
    # How a move failed was told when it did.
    if desired.spec is not None and shut and decision.record.failed is None:
        reasons = "; ".join(gate.reason for gate in shut)
        text = f"{desired.spec.active} waits for somebody: {reasons}"
        yield _Standing(f"Awaited/{desired.spec.active}", Severity.WARN, text, all(map(_awaits_person, shut)))


def _is_wrong(condition: Condition) -> bool:
    return (condition.type, condition.status) in ((PROMOTION_REJECTED, True), (VALID, False))


def _awaits_person(gate: GateResult) -> bool:
    """Whether a shut gate opens neither by itself nor with time."""
    return bool(gate.remedy) and gate.until is None


def _remedy(key: GroupKey, severity: Severity) -> str:
    return f"; `gitops-bg group explain {key}` says more" if severity is not Severity.INFO else ""


# --- on its way ---


def _delivered(
    key: GroupKey, desired: DesiredGroup, observed: ObservedGroup, before: Outbox, now: datetime
) -> tuple[Outbox, tuple[tuple[GroupEvent, str], ...]]:
    """Take in what the chats answered, and give up what is too late; with an Event for each alert that newly fails.

    No alert is told of that: it would never end.
    """
    hooks, outbox, failed = _hooks(desired), before, dict[str, str]()
    for one in oldest_of_each(outbox):
        called, hook = observed.calls.get(_id(key, observed, one)), hooks.get(one.hook)
        if called is not None and hook is not None:
            outbox, failed[hook.key] = answered(outbox, hook, one, called)
    for hook in desired.alerts:
        outbox, late = given_up(outbox, hook, now)
        failed[hook.key] = late or failed.get(hook.key, "")
    wrong = [(hooks[name], why) for name, why in failed.items() if why and name not in before.undelivered]
    for hook, _ in wrong:
        outbox = failing(outbox, hook)
    events = tuple((GroupEvent.ALERT_UNDELIVERED, f"{hook.title}: {why}") for hook, why in wrong)
    return only_known(outbox, desired.alerts), events


def _calls(
    key: GroupKey, desired: DesiredGroup, observed: ObservedGroup, outbox: Outbox, now: datetime
) -> tuple[HookCall, ...]:
    """Return the messages to send now: the oldest of each alert."""
    hooks = _hooks(desired)
    heads = [one for one in oldest_of_each(outbox) if not hooks[one.hook].unknown and message_due_at(one) <= now]
    return tuple(_call(key, desired, observed, hooks[one.hook], one) for one in heads)


def _call(key: GroupKey, desired: DesiredGroup, observed: ObservedGroup, hook: Hook, one: OutboxMessage) -> HookCall:
    facts = (("Group", str(key)), ("Phase", one.phase), ("Commit", desired.commit))
    alert = Alert(one.severity, one.message, one.at, tuple(each for each in facts if each[1]))
    return HookCall(_id(key, observed, one), _key(key, observed, one), hook, one.phase, one.checksum, alert=alert)


def _key(key: GroupKey, observed: ObservedGroup, one: OutboxMessage) -> str:
    """Return what every try of a message has in common; a ReleaseGroup that is made again has other ones."""
    return f"group.{key}.{observed.uid}.{one.hook}.{one.number}"


def _id(key: GroupKey, observed: ObservedGroup, one: OutboxMessage) -> str:
    return f"{_key(key, observed, one)}.{one.tries}"


def _hooks(desired: DesiredGroup) -> Mapping[str, Hook]:
    return {hook.key: hook for hook in desired.alerts}


def _moments(desired: DesiredGroup, outbox: Outbox, now: datetime) -> Iterator[datetime]:
    """Yield when a message is sent again, or given up."""
    hooks = _hooks(desired)
    for one in oldest_of_each(outbox):
        hook = hooks[one.hook]
        moments = (None if hook.unknown else message_due_at(one), message_ends_at(hook, one))
        yield from (each for each in moments if each is not None and each > now)

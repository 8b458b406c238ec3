"""What chats and hooks are told of a group: each event once, and once what lasts until somebody acts (flagger.md §3.4,
§3.7).

Messages are part of the record that the decision saves, so a crash loses none: at least once, in order for each of
those who listen.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from gitops_bg.core.checks.situations import FLAGGER_PHASES
from gitops_bg.core.delivery.ledger import noted, untold
from gitops_bg.core.delivery.outbox import calls_due, moments, only_known, queued, settled
from gitops_bg.core.groups.decision import GroupDecision
from gitops_bg.core.groups.desired import DesiredGroup
from gitops_bg.core.groups.model import version_in
from gitops_bg.core.groups.observed import ObservedGroup
from gitops_bg.core.groups.record import GroupRecord, TransitionKind
from gitops_bg.core.groups.subject import version_of
from gitops_bg.core.model.analysis.metrics import AnalysisPhase, AnalysisStage
from gitops_bg.core.model.conditions import DIVERGED, FOLDER_MISSING, INVALID_SPEC, PROMOTION_REJECTED, Condition, Phase
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.events import entry_text, sentence_of, severity_of
from gitops_bg.core.model.git.pulls import PullState
from gitops_bg.core.model.hooks import Alert, Hook, HookType, OutboxMessage, Severity
from gitops_bg.core.model.record import Event, LedgerEntry, Outbox
from gitops_bg.core.model.version import GroupKey, SubjectKind

SUCCEEDED, FAILED = "Succeeded", "Failed"


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
    key: GroupKey,
    desired: DesiredGroup,
    observed: ObservedGroup,
    before: GroupRecord,
    decision: GroupDecision,
    now: datetime,
) -> GroupDecision:
    """Return a decision with its messages in the record, and the calls that are due. Nothing changes where nobody
    listens. ``before`` is the record that was saved last.
    """
    if not observed.uid or not (_listeners(desired) or before.outbox.messages or before.outbox.undelivered):
        return decision
    decision = _delivered(desired, observed, decision, now)
    standing = tuple(_standing(desired, decision))
    outbox = decision.record.outbox
    for severity, message in _told(before, decision, standing):
        for hook in desired.alerts:
            if severity.reaches(hook.severity):
                text = f"{key}: {message}{_pointer_to_explain(key, severity)}"
                outbox = queued(outbox, hook, now, phase=decision.phase, checksum="", message=text, severity=severity)
    outbox = _to_hooks(desired, before, decision, outbox, now)
    outbox = replace(outbox, notified_sequence=decision.record.sequence)
    kept = {each.key for each in standing if each.is_told or each.key in before.alerted}
    nobody = () if desired.main.counts else before.alerted
    record = replace(decision.record, outbox=outbox, alerted=tuple(sorted(kept)) if desired.alerts else nobody)
    waits = [decision.wake_at, *(each for each in moments(outbox, _listeners(desired)) if each > now)]
    wake_at = min((each for each in waits if each is not None), default=None)
    alert = partial(_alert, key, desired, observed)
    calls = calls_due(outbox, _listeners(desired), record.life(observed.uid), now, alert)
    return replace(decision, record=record, calls=(*decision.calls, *calls), wake_at=wake_at)


# --- what hooks are told ---


def _to_hooks(
    desired: DesiredGroup, before: GroupRecord, decision: GroupDecision, outbox: Outbox, now: datetime
) -> Outbox:
    """Queue each event and each change of phase for event hooks, and the end of a promotion for post-rollout hooks."""
    hooks = desired.spec.hooks if desired.spec is not None else ()
    listening = [hook for hook in hooks if hook.type is HookType.EVENT]
    phase, version = decision.phase, _subject(desired, decision)
    told = [(severity_of(entry), entry_text(entry)) for entry in _news(decision)]
    if phase != outbox.notified_phase:
        was = f"{outbox.notified_phase} → " if outbox.notified_phase else ""
        told.append((Severity.ERROR if phase is Phase.DEGRADED else Severity.INFO, f"phase {was}{phase}"))
    for severity, message in told:
        for hook in listening:
            sent = FLAGGER_PHASES[phase]
            outbox = queued(outbox, hook, now, phase=sent, checksum=version, message=message, severity=severity)
    outcome, ended = _ended_promotion(before, decision.record)
    for hook in hooks if outcome else ():
        if hook.type is HookType.POST_ROLLOUT:
            severity = Severity.INFO if outcome == SUCCEEDED else Severity.ERROR
            outbox = queued(outbox, hook, now, phase=outcome, checksum=ended, message="", severity=severity)
    return replace(outbox, notified_phase=phase) if listening else outbox


def _news(decision: GroupDecision) -> Iterator[LedgerEntry]:
    """What those who listen have not been told of; of an undelivered message nobody is told: it would never end."""
    return (entry for entry in untold(decision.record) if entry.event is not Event.HOOK_UNDELIVERED)


def _subject(desired: DesiredGroup, decision: GroupDecision) -> str:
    moving = decision.record.transition
    return moving.target if moving is not None else desired.spec.active if desired.spec is not None else ""


def _ended_promotion(before: GroupRecord, after: GroupRecord) -> tuple[str, str]:
    """How a promotion has ended now, in Flagger's words, and its version; empty where none has.

    With an analysis after the promotion it succeeds when the analysis does. What is refused before requests move has
    failed, too. A rollback that somebody asks for ends none.
    """
    held = next((each for each in after.holds if each not in before.holds), None)
    if held is not None:
        return FAILED, version_in(held.digest)
    run, was = after.analyses.run(AnalysisStage.POST), before.analyses.run(AnalysisStage.POST)
    if run is not None and run.phase is AnalysisPhase.SUCCESSFUL and was is not None and was.phase is not run.phase:
        return SUCCEEDED, version_of(run)
    finished = after.moves != before.moves and after.moves[-1].kind is TransitionKind.PROMOTION
    if finished and (run is None or not run.running):
        return SUCCEEDED, after.moves[-1].target
    return "", ""


# --- what people are told ---


def _told(
    before: GroupRecord, decision: GroupDecision, standing: tuple[_Standing, ...]
) -> Iterator[tuple[Severity, str]]:
    yield from ((severity_of(entry), sentence_of(entry, SubjectKind.GROUP)) for entry in _news(decision))
    yield from ((each.severity, each.text) for each in standing if each.is_told and each.key not in before.alerted)


def _standing(desired: DesiredGroup, decision: GroupDecision) -> Iterator[_Standing]:
    for each in decision.conditions:
        if _is_wrong(desired, each):
            yield _Standing(f"{each.type}/{each.reason}", Severity.ERROR, f"{each.reason}: {each.message}")
        if (each.type, each.reason) == (DIVERGED, FOLDER_MISSING):
            yield _Standing(f"{DIVERGED}/{FOLDER_MISSING}", Severity.WARN, each.message)
    shut = [gate for gate in decision.gates if not gate.open]
    # How a move failed was told when it did.
    if desired.spec is not None and shut and not decision.record.holds:
        reasons = "; ".join(gate.reason for gate in shut)
        text = f"{desired.spec.active} waits for somebody: {reasons}"
        yield _Standing(f"Awaited/{desired.spec.active}", Severity.WARN, text, all(map(_awaits_person, shut)))


def _is_wrong(desired: DesiredGroup, condition: Condition) -> bool:
    """Whether it says what no entry of the ledger tells: also that a group whose files were never valid has none."""
    is_invalid = (condition.type, condition.status) == (INVALID_SPEC, True) and desired.spec is None
    return is_invalid or (condition.type, condition.status) == (PROMOTION_REJECTED, True)


def _awaits_person(gate: GateResult) -> bool:
    """Whether a shut gate opens neither by itself nor with time."""
    return bool(gate.remedy) and gate.until is None


def _pointer_to_explain(key: GroupKey, severity: Severity) -> str:
    return f"; `gitops-bg explain {key}` says more" if severity is not Severity.INFO else ""


# --- on its way ---


def _delivered(desired: DesiredGroup, observed: ObservedGroup, decision: GroupDecision, now: datetime) -> GroupDecision:
    """Take in what came back, and give up what is too late; with a ledger entry for each listener that newly fails."""
    before, listeners, epoch = decision.record.outbox, _listeners(desired), decision.record.life(observed.uid)
    outbox, wrong = settled(before, listeners, observed.calls, epoch, now)
    # While the files are broken, or main does not count, nobody knows whether a hook has left them.
    is_known = desired.spec is not None and desired.main.counts
    record = replace(decision.record, outbox=only_known(outbox, listeners) if is_known else outbox)
    for hook, why in wrong:
        if not hook.mute_alert:
            entry = LedgerEntry(0, now, Event.HOOK_UNDELIVERED, reason=f"{hook.title}: {why}")
            record = noted(replace(record, epoch=epoch), entry)
    return replace(decision, record=record)


def _alert(key: GroupKey, desired: DesiredGroup, observed: ObservedGroup, one: OutboxMessage) -> Alert:
    facts = (
        ("Group", str(key)),
        ("Phase", one.phase),
        ("Commit", desired.commit),
        ("Explain", f"gitops-bg explain {key}"),
    )
    return Alert(one.severity, one.message, one.at, tuple(each for each in facts if each[1]), _links(observed))


def _links(observed: ObservedGroup) -> tuple[tuple[str, str], ...]:
    """Return the pages of a message by title: the pull request that people are to decide about."""
    pull = observed.git.pull
    if pull is None or not pull.url or pull.state is not PullState.OPEN:
        return ()
    return ((f"Pull request #{pull.number}", pull.url),)


def _listeners(desired: DesiredGroup) -> tuple[Hook, ...]:
    """Return those who are only told."""
    hooks = desired.spec.hooks if desired.spec is not None else ()
    return (*desired.alerts, *(hook for hook in hooks if hook.type in (HookType.EVENT, HookType.POST_ROLLOUT)))

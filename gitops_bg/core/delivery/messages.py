"""What those who only listen are told of an app or a release group: one table, filled by the subject's answers. Pure.

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
from dataclasses import dataclass, replace
from datetime import datetime

from gitops_bg.core.delivery.outbox import only_known, queued, settled
from gitops_bg.core.model.analysis.metrics import AnalysisPhase
from gitops_bg.core.model.analysis.runs import AnalysisRun
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.events import EVENTS, entry_text, sentence_of, severity_of
from gitops_bg.core.model.hooks import Hook, HookResponse, HookType, Severity
from gitops_bg.core.model.record import Event, LedgerEntry, Outbox
from gitops_bg.core.model.version import AppOrGroup, SubjectKind

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
    """The versions that an entry leads from, and to; empty where it has none. Those of a group have no digest there."""
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
    """A ledger entry as one sentence that stands alone, with what to do next, unless its reason already says that."""
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

"""The steps that notify hooks and people of what happened to an app. Post-rollout hooks, event hooks and alerts block
nothing.

Each message stays in the record until its hook accepts it, refuses it, or is unreachable for too long: at least once,
in order for each hook, and no hook waits for another (flagger.md §3.4). One table words every ledger entry.
"""

from collections.abc import Iterator
from dataclasses import replace

from gitops_bg.core.checks.event_text import sentence, subject_of
from gitops_bg.core.checks.gates import gates_to_show
from gitops_bg.core.checks.situations import flagger_phase, phase_of
from gitops_bg.core.checks.subject import listeners
from gitops_bg.core.delivery.ledger import untold
from gitops_bg.core.delivery.outbox import only_known, queued, settled
from gitops_bg.core.model.actions import label
from gitops_bg.core.model.analysis.metrics import AnalysisPhase, AnalysisStage
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import GateKind
from gitops_bg.core.model.events import entry_text, of_commit, severity_of
from gitops_bg.core.model.hooks import Hook, HookType, Severity
from gitops_bg.core.model.record import Event, LedgerEntry, SwitchKind
from gitops_bg.core.world import World


def note_awaited(world: World) -> tuple[World, str, str]:
    """The digest for which a person is awaited, and the text to send: once for each rollout, however often the wait
    recurs (flagger.md §3.7).

    A wait for people is no ledger entry; it is derived from the gates. A hook gate reports itself with an event
    (`HOOK_REFUSED`).
    """
    coming = world.candidate
    if (
        coming is None
        or coming.rollout == world.record.outbox.alerted
        or phase_of(world) is not Phase.AWAITING_PROMOTION
    ):
        return world, "", ""
    shut = [gate for gate in gates_to_show(world) if not gate.open]
    if [gate.kind for gate in shut] != [GateKind.APPROVAL]:
        return world, "", ""
    world = world.with_part(replace(world.record.outbox, alerted=coming.rollout))
    commit = of_commit(coming.source.commit)
    text = f"{world.spec.app}: {label(coming.number, coming.digest)}{commit} waits for approval: {shut[0].reason}"
    return world, coming.digest, text


def enqueue(world: World) -> World:
    """Queue new messages, remove delivered ones, give up those that are too late."""
    if not (world.spec.strategy.hooks or world.record.outbox.messages or world.record.outbox.undelivered):
        return world
    for step in (_settle, _queue_entries, _queue_success, _queue_phase, _queue_awaited):
        world = step(world)
    return world


def _settle(world: World) -> World:
    """Take in what came back, give up what is too late, and drop what is for hooks that left the file."""
    record = world.record
    outbox, wrong = settled(record.outbox, listeners(world), world.observed.calls, record.epoch, world.now)
    outbox = only_known(outbox, listeners(world))
    world = world if outbox == world.record.outbox else world.with_part(outbox)
    for hook, why in wrong:
        if not hook.mute_alert:
            world = world.noting(Event.HOOK_UNDELIVERED, reason=f"{hook.title}: {why}")
    return world


def _queue_entries(world: World) -> World:
    record = world.record
    if record.outbox.notified_sequence == record.sequence or not any(listeners(world)):
        return world
    phase = flagger_phase(world)
    for entry in untold(record):
        # A hook that accepts nothing is not reported to any hook: that would never end.
        if entry.event is not Event.HOOK_UNDELIVERED:
            world = _queue_entry(world, entry, phase)
    return world.with_part(replace(world.record.outbox, notified_sequence=record.sequence))


def _queue_entry(world: World, entry: LedgerEntry, phase: str) -> World:
    severity, digest = severity_of(entry), entry.to_digest or entry.from_digest
    for hook in listeners(world, HookType.EVENT):
        world = _queue(world, hook, phase, digest, entry_text(entry), severity)
    for hook in _alerted(world, severity):
        world = _queue(world, hook, phase, subject_of(entry), sentence(world, entry), severity)
    if entry.event in (Event.PROMOTED, Event.ANALYSED) and entry.to_digest == world.record.routing.traffic:
        return world.with_part(replace(world.record.outbox, unsettled=entry.to_digest))
    if entry.event is Event.ABORTED:
        return _queue_outcome(world, "Failed", entry.to_digest)
    return _queue_outcome(world, "Failed", entry.from_digest) if entry.event is Event.ROLLED_BACK else world


def _queue_success(world: World) -> World:
    """Queue the success of a rollout: its version serves, and no analysis judges it any more, however that ended."""
    digest = world.record.outbox.unsettled
    if not digest or (digest == world.record.routing.traffic and not _has_settled(world, digest)):
        return world
    told = _queue_outcome(world, "Succeeded", digest) if digest == world.record.routing.traffic else world
    return told.with_part(replace(told.record.outbox, unsettled=""))


def _has_settled(world: World, digest: str) -> bool:
    """Whether nothing but a person takes the serving version back."""
    run = world.record.run(AnalysisStage.POST)
    passed = run is None or run.digest != digest or run.phase is AnalysisPhase.SUCCESSFUL
    return passed and world.switch_kind is not SwitchKind.ROLLBACK


def _queue_outcome(world: World, outcome: str, digest: str) -> World:
    """Queue how a rollout ended, in Flagger's words."""
    for hook in listeners(world, HookType.POST_ROLLOUT):
        world = _queue(world, hook, outcome, digest)
    return world


def _queue_phase(world: World) -> World:
    """Queue a change of phase for event hooks."""
    phase, before = str(phase_of(world)), world.record.outbox.notified_phase
    hooks = tuple(listeners(world, HookType.EVENT))
    if not hooks or phase == before:
        return world
    version = world.incoming or world.candidate or world.active
    message = f"phase {before} → {phase}" if before else f"phase {phase}"
    for hook in hooks:
        digest = version.digest if version else ""
        severity = Severity.ERROR if phase == Phase.DEGRADED else Severity.INFO
        world = _queue(world, hook, flagger_phase(world), digest, message, severity)
    return world.with_part(replace(world.record.outbox, notified_phase=phase))


def _queue_awaited(world: World) -> World:
    """Queue an alert that the app waits for a person."""
    hooks = tuple(_alerted(world, Severity.WARN))
    if not hooks:
        return world
    world, digest, text = note_awaited(world)
    for hook in hooks if text else ():
        world = _queue(world, hook, flagger_phase(world), digest, text, Severity.WARN)
    return world


def _alerted(world: World, severity: Severity) -> Iterator[Hook]:
    return (hook for hook in listeners(world, HookType.ALERT) if severity.reaches(hook.severity))


def _queue(
    world: World, hook: Hook, phase: str, digest: str, message: str = "", severity: Severity = Severity.INFO
) -> World:
    outbox = world.record.outbox
    return world.with_part(
        queued(outbox, hook, world.now, phase=phase, checksum=digest, message=message, severity=severity)
    )

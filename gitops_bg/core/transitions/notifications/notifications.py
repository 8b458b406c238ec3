"""The step that notifies hooks and people of what happened to an app: it fills `core.delivery.messages`. Post-rollout
hooks, event hooks and alerts block nothing.

A wait for people is no ledger entry; it is derived from the gates, and told once for each rollout.
"""

from dataclasses import replace

from gitops_bg.core.checks.gates import gates_to_show
from gitops_bg.core.checks.situations import flagger_phase, phase_of
from gitops_bg.core.checks.subject import listeners
from gitops_bg.core.delivery.ledger import undelivered_entries
from gitops_bg.core.delivery.messages import NotificationFacts, OngoingAlert, delivered, notify
from gitops_bg.core.model.actions import label
from gitops_bg.core.model.analysis.metrics import AnalysisStage
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import GateKind
from gitops_bg.core.model.events import of_commit
from gitops_bg.core.model.hooks import HookType, Severity
from gitops_bg.core.model.record import Event, SwitchKind
from gitops_bg.core.world import World


def enqueue(world: World) -> World:
    """Queue new messages, remove delivered ones, give up those that are too late."""
    if not (world.spec.strategy.hooks or world.record.outbox.messages or world.record.outbox.undelivered):
        return world
    world = _settle(world)
    awaited = _awaited(world)
    outbox = notify(world.record.outbox, _of_app(world, awaited))
    if awaited and world.candidate is not None:
        outbox = replace(outbox, alerted=world.candidate.rollout)
    return world if outbox == world.record.outbox else world.with_part(outbox)


def _settle(world: World) -> World:
    """Take in what came back, give up what is too late, and drop what is for hooks that left the file."""
    record, hears = world.record, tuple(listeners(world))
    outbox, wrong = delivered(record.outbox, hears, world.observed.calls, record.epoch, world.now)
    world = world if outbox == record.outbox else world.with_part(outbox)
    for why in wrong:
        world = world.with_ledger_entry(Event.HOOK_UNDELIVERED, reason=why)
    return world


def _of_app(world: World, awaited: tuple[OngoingAlert, ...]) -> NotificationFacts:
    version, run = world.incoming or world.candidate or world.active, world.record.run(AnalysisStage.POST)
    return NotificationFacts(
        of=world.spec.app,
        now=world.now,
        listeners=tuple(listeners(world)),
        phase=phase_of(world),
        sent_phase=flagger_phase(world),
        version=version.digest if version else "",
        entries=tuple(undelivered_entries(world.record)),
        last=world.record.sequence,
        serving=world.record.routing.traffic,
        judging=run if run is not None and run.digest == world.record.routing.traffic else None,
        goes_back=world.switch_kind is SwitchKind.ROLLBACK,
        ongoing=awaited,
    )


def _awaited(world: World) -> tuple[OngoingAlert, ...]:
    """That a person is awaited: once for each rollout, however often the wait recurs.

    A hook gate reports itself with an event (`HOOK_REFUSED`).
    """
    coming, hears = world.candidate, listeners(world, HookType.ALERT)
    if not any(Severity.WARN.reaches(hook.severity) for hook in hears) or coming is None:
        return ()
    if coming.rollout == world.record.outbox.alerted or phase_of(world) is not Phase.AWAITING_PROMOTION:
        return ()
    shut = [gate for gate in gates_to_show(world) if not gate.open]
    if [gate.kind for gate in shut] != [GateKind.APPROVAL]:
        return ()
    what = f"{label(coming.number, coming.digest)}{of_commit(coming.source.commit)}"
    return (OngoingAlert(Severity.WARN, f"{what} waits for approval: {shut[0].reason}", coming.digest),)

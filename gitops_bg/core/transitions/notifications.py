"""What hooks, chats and people are told of an app or a release group: both fill `core.delivery.messages`, with what
happened and with what lasts until somebody acts (flagger.md §3.7).

Messages are part of the record that the decision saves, so a crash loses none. A wait for people is no ledger entry; it
is derived from the gates, and told once for each rollout. Post-rollout hooks, event hooks and alerts block nothing.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial

from gitops_bg.core.checks.auxiliary import addresses_of
from gitops_bg.core.checks.gates import gates_to_show
from gitops_bg.core.checks.phase import PHASES
from gitops_bg.core.checks.situations import flagger_phase, phase_of
from gitops_bg.core.checks.subject import listeners
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.delivery.ledger import undelivered_entries, with_entry
from gitops_bg.core.delivery.messages import NotificationFacts, OngoingAlert, calls_due, delivered, moments, notify
from gitops_bg.core.groups.inputs import DesiredGroup, ObservedGroup
from gitops_bg.core.groups.model import VersionStage, version_in
from gitops_bg.core.groups.record import GroupDecision, GroupRecord
from gitops_bg.core.groups.subject import version_of
from gitops_bg.core.model.analysis import AnalysisStage
from gitops_bg.core.model.conditions import DIVERGED, FOLDER_MISSING, INVALID_SPEC, PROMOTION_REJECTED, Condition, Phase
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.events import of_commit
from gitops_bg.core.model.hooks import Alert, Hook, HookType, OutboxMessage, Severity
from gitops_bg.core.model.journal import PullState
from gitops_bg.core.model.record import Event, LedgerEntry, SwitchKind
from gitops_bg.core.model.version import GroupKey
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
    """Say that a person is awaited: once for each rollout, however often the wait recurs.

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
    what = f"{coming.name}{of_commit(coming.source.commit)}"
    return (OngoingAlert(Severity.WARN, f"{what} waits for approval: {shut[0].reason}", coming.digest),)


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
    hears = _listeners(desired)
    if not observed.uid or not (hears or before.outbox.messages or before.outbox.undelivered):
        return decision
    decision = _delivered(desired, observed, decision, now)
    standing = tuple(_standing(desired, decision))
    ongoing = tuple(
        OngoingAlert(each.severity, f"{each.text}; `gitops-bg explain {key}` says more")
        for each in standing
        if each.is_told and each.key not in before.alerted
    )
    outbox = notify(decision.record.outbox, _facts_of_group(key, desired, decision, ongoing, now))
    kept = {each.key for each in standing if each.is_told or each.key in before.alerted}
    nobody = () if desired.main.counts else before.alerted
    record = replace(decision.record, outbox=outbox, alerted=tuple(sorted(kept)) if desired.alerts else nobody)
    waits = [decision.wake_at, *(each for each in moments(outbox, hears) if each > now)]
    wake_at = min((each for each in waits if each is not None), default=None)
    calls = calls_due(outbox, hears, record.life(observed.uid), now, partial(_alert, key, desired, observed))
    return replace(decision, record=record, calls=(*decision.calls, *calls), wake_at=wake_at)


def _facts_of_group(
    key: GroupKey, desired: DesiredGroup, decision: GroupDecision, ongoing: tuple[OngoingAlert, ...], now: datetime
) -> NotificationFacts:
    record, active = decision.record, desired.spec.active if desired.spec is not None else ""
    moving, run = record.transition, record.analyses.run(AnalysisStage.POST)
    serving = record.state.only(VersionStage.ACTIVE)
    return NotificationFacts(
        of=key,
        now=now,
        listeners=_listeners(desired),
        phase=decision.phase,
        sent_phase=PHASES[decision.phase].flagger,
        version=moving.target if moving is not None else active,
        entries=tuple(undelivered_entries(record)),
        last=record.sequence,
        serving=serving,
        judging=run if run is not None and version_of(run) == serving else None,
        goes_back=record.override is not None or (moving is not None and moving.goes_back),
        has_reported_failure=lambda version: any(version_in(hold.digest) == version for hold in record.holds),
        ongoing=ongoing,
    )


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
    """Return whether it says what no entry of the ledger tells: also that a group whose files were never valid has
    none.
    """
    is_invalid = (condition.type, condition.status) == (INVALID_SPEC, True) and desired.spec is None
    return is_invalid or (condition.type, condition.status) == (PROMOTION_REJECTED, True)


def _awaits_person(gate: GateResult) -> bool:
    """Return whether a shut gate opens neither by itself nor with time."""
    return bool(gate.remedy) and gate.until is None


def _delivered(desired: DesiredGroup, observed: ObservedGroup, decision: GroupDecision, now: datetime) -> GroupDecision:
    """Take in what came back, and give up what is too late; with a ledger entry for each listener that newly fails."""
    before, epoch = decision.record.outbox, decision.record.life(observed.uid)
    # While the files are broken, or main does not count, nobody knows whether a hook has left them.
    is_known = desired.spec is not None and desired.main.counts
    outbox, wrong = delivered(before, _listeners(desired), observed.calls, epoch, now, is_known=is_known)
    record = replace(decision.record, outbox=outbox)
    for why in wrong:
        record = with_entry(replace(record, epoch=epoch), LedgerEntry(0, now, Event.HOOK_UNDELIVERED, reason=why))
    return replace(decision, record=record)


def _alert(key: GroupKey, desired: DesiredGroup, observed: ObservedGroup, one: OutboxMessage) -> Alert:
    facts = (
        ("Group", str(key)),
        ("Version", one.checksum),
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


def alert_of(world: World, told: OutboxMessage) -> Alert:
    """Return what chats get of a message."""
    return Alert(told.severity, told.message, told.at, facts_of(world, told), links_of(world, told))


def facts_of(world: World, told: OutboxMessage) -> tuple[tuple[str, str], ...]:
    """Return the facts beside the sentence, by title; for a forgotten version only its digest."""
    version = world.record.version(told.checksum)
    source = version.source if version else None
    every = (
        ("App", str(world.spec.app)),
        ("Version", version.name if version else ""),
        ("Digest", told.checksum),
        ("Commit", source.commit if source else ""),
        ("Author", source.author if source else ""),
        ("Explain", f"gitops-bg explain {world.spec.app}"),
    )
    return tuple((title, value) for title, value in every if value)


def links_of(world: World, told: OutboxMessage) -> tuple[tuple[str, str], ...]:
    """Return the pages of a message, by title: the pull request, where it offers the version that the message is
    about, and where that version is reached as long as it is the candidate.
    """
    if not told.checksum:
        return ()
    pull, links = world.observed.git.pull, list[tuple[str, str]]()
    if pull is not None and pull.url and pull.offer.startswith(f"{told.checksum}@"):
        links.append((f"Pull request #{pull.number}", pull.url))
    return (*links, *(("Preview", address) for address in addresses_of(world, told.checksum)[:1]))

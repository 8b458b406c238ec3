"""Everything that an app waits for, in one list: behind the next time to decide (`wake_at`) and the waits shown
(`waits_of`).

In the order in which it is shown: what blocks the next version, what stops the app as a whole, what earlier versions
wait for; last, what only the engine waits for. Nothing here decides anything.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from gitops_bg.core.checks import proving
from gitops_bg.core.checks.adoption import is_adopting, is_releasing, may_go_at, watched_deployment
from gitops_bg.core.checks.auxiliary import has_http_route, waits_for_former, why_not_moved
from gitops_bg.core.checks.entering import entry_awaited
from gitops_bg.core.checks.gates import gates_before_commit, gates_to_show, standing_gates
from gitops_bg.core.checks.git import moments_of_merges
from gitops_bg.core.checks.onboarding import ends_at, exposures, leads_still
from gitops_bg.core.checks.phase import is_to_go, routes_first
from gitops_bg.core.checks.pods import drained_at, former_moments, may_still_serve, stabilization_ends
from gitops_bg.core.checks.pods import late_at as pods_listed_at
from gitops_bg.core.checks.sizes import is_in_flight, progress_deadline, recheck_at
from gitops_bg.core.checks.subject import listeners, round_of
from gitops_bg.core.checks.versions import pauses, warm_until
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.delivery import analyses, gates, hooks, messages
from gitops_bg.core.delivery.gates import live_verdict
from gitops_bg.core.delivery.world import answered_once
from gitops_bg.core.model.decision import GateKind, GateResult, Wait
from gitops_bg.core.model.main import held_since
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

GIT, PROBATION, DRAINING, RESTART, SCALE_DOWN = "git", "probation", "draining", "restart", "scaleDown"
"""The waits besides gates that are shown."""

MESSAGE, FORMER_SERVICE, MERGE, AUXILIARY = "message", "formerService", "merge", "auxiliary"
ADOPTION, CONTEST, EXPOSURE, RELEASE = "adoption", "contest", "exposure", "release"
"""The waits of the engine alone."""

LOOK_SOON = timedelta(seconds=3)
"""How soon a Deployment is looked at again whose pods are to take live traffic back: somebody waits for it."""

LOOK_AGAIN = timedelta(minutes=1)
"""How soon what nothing watches is looked at again: a route, an auxiliary object that could not be read, what an app is
adopted from, pods without a node.
"""


@dataclass(frozen=True, slots=True)
class Deadline:
    """One wait, and when time alone ends it."""

    gate: str
    """A `GateKind`, or one of the words above."""
    version: Version | None
    """The version that waits; None: the app."""
    reason: str
    at: datetime | None
    """When time ends the wait; None: only an event does."""
    shown: bool = True
    """Whether the status shows it."""
    while_suspended: bool = False
    """Whether its clock runs during a suspension: the end of the suspension, and what may lead to a rollback."""


@answered_once
def deadlines_of(world: World, gates: tuple[GateResult, ...]) -> tuple[Deadline, ...]:
    """Return all present waits, including those whose time has passed; ``gates`` are the gates shown."""
    shut = [gate for gate in gates if not gate.open]
    return (
        *_ahead(world, shut),
        *_of_the_app(world, {gate.kind for gate in shut}),
        *_of_what_serves(world),
        *_on_the_way_out(world),
        *_unseen(world),
    )


def _ahead(world: World, shut: list[GateResult]) -> Iterator[Deadline]:
    """Yield the shut gates of the next version."""
    concerned = world.incoming or world.record.version(world.target_digest) or world.active
    for gate in shut:
        until = gate.until
        if concerned and gate.kind == GateKind.AVAILABILITY:
            until = _late_at(world, concerned) or until
        yield Deadline(gate.kind, concerned, gate.reason, until, shown=concerned is not None)


def _late_at(world: World, version: Version) -> datetime | None:
    """Return when a version on its way fails by its progress deadline; None where it has failed, or has no deadline."""
    deadline = progress_deadline(world, version)
    return deadline if deadline and not version.failure and is_in_flight(world, version) else None


def _of_the_app(world: World, told: set[str]) -> Iterator[Deadline]:
    """Yield what stops the app as a whole, where no version on its way says so; nothing of it stops a rollback."""
    active, away = world.active, _why_git_waits(world)
    if active is None or world.incoming:
        return
    for gate in standing_gates(world, world.target_digest):
        if gate.kind not in told:
            yield Deadline(gate.kind, active, gate.reason, gate.until)
    if away and (world.candidate or world.record.override):
        yield Deadline(GIT, world.candidate or active, away, None)


def _why_git_waits(world: World) -> str:
    git = world.observed.git
    return f"main cannot be read: {git.unreachable}" if git.unreachable else held_since(git)


def _of_what_serves(world: World) -> Iterator[Deadline]:
    active, restart = world.active, world.record.operator.restart
    if active and active.stabilization:
        ready, ends = world.available(active.digest), stabilization_ends(world, active.stabilization)
        reason = f"{ready} of {active.stabilization.pods} pods available: rolled back at its end"
        yield Deadline(PROBATION, active, reason, ends, shown=active.stabilization.unready)
    if active and (coming := entry_awaited(world)):
        yield Deadline(RELEASE, active, coming, None)
    if active and not _fails(active) and world.full_size and not world.available(active.digest):
        yield Deadline(GateKind.AVAILABILITY, active, "none of its pods is available, and it is live", None)
    if restart:
        begins = "go" if restart.begun else "are to go"
        reason = f"pods older than {restart.at:%Y-%m-%dT%H:%M:%SZ} {begins}, one version after the other"
        yield Deadline(RESTART, active, reason, recheck_at(world), shown=active is not None)


def _fails(active: Version) -> bool:
    return active.stabilization is not None and active.stabilization.unready


def _on_the_way_out(world: World) -> Iterator[Deadline]:
    for version in world.record.versions:
        if version.retirement is None:
            continue
        until = warm_until(world.record, world.spec.strategy, version)
        if may_still_serve(world, version):
            reason = "requests may still be on their way to it"
            yield Deadline(DRAINING, version, reason, drained_at(world), shown=until is not None)
        if until:
            view = world.replica_set(version.digest)
            shown = view is not None and view.replicas > 0 and until > world.now
            yield Deadline(SCALE_DOWN, version, "its pods stay warm", until, shown=shown)


# --- what only the engine waits for ---


def _unseen(world: World) -> Iterator[Deadline]:
    suspend = world.spec.suspend
    if suspend and suspend.until:
        yield _hidden(GateKind.SUSPENSION, "the suspension ends", suspend.until)
    for version in world.record.versions:
        late_at = _late_at(world, version)
        if late_at:
            yield Deadline(GateKind.AVAILABILITY, version, "its progress deadline", late_at, shown=False)
            why = "its pods are late, and asked why"
            yield Deadline(GateKind.AVAILABILITY, version, why, pods_listed_at(version), shown=False)
    if any(pod.unschedulable or pod.waiting or pod.shut_gate for pod in world.observed.pods or ()):
        yield _hidden(GateKind.AVAILABILITY, "pods that do not come up are looked at again", world.now + LOOK_AGAIN)
    behind = world.candidate if world.incoming else None
    for gate in gates_before_commit(world, behind) if behind else ():
        yield Deadline(gate.kind, behind, gate.reason, gate.until, shown=False)
    yield from _calls(world)
    yield from _measurements(world)
    coming = world.incoming or world.candidate
    for moment in gates.moments(round_of(world), coming.digest) if coming is not None else ():
        yield _hidden(GateKind.POLICY, "a policy says something else", moment)
    for moment in moments_of_merges(world):
        yield _hidden(MERGE, "the forge is no longer asked who merged", moment)
    yield from _auxiliary(world)
    yield from _adoptions(world)
    if exposures(world):
        yield _hidden(EXPOSURE, "Services of others are looked at again", world.now + LOOK_AGAIN)
    if proven_at := proving.next_moment(world):
        yield Deadline(RELEASE, None, "its release is proven for longer", proven_at, shown=False)
    for moment in pauses(world):
        yield _hidden(CONTEST, "what somebody else changes again and again is repaired", moment)
    for moment in former_moments(world):
        yield _hidden(FORMER_SERVICE, "a Service that Git names no longer is not followed any more", moment)


def _auxiliary(world: World) -> Iterator[Deadline]:
    if world.desired.route or any(view.trouble for view in world.observed.auxiliary_objects):
        yield _hidden(AUXILIARY, "its route, and what could not be read, is looked at again", world.now + LOOK_AGAIN)
    if why_not_moved(world) or waits_for_former(world):
        yield _hidden(AUXILIARY, "a Gateway is asked about the route", world.now + LOOK_SOON)
    if world.desired.kept and has_http_route(world.record):
        yield _hidden(AUXILIARY, "who is to answer its requests is looked at again", world.now + LOOK_SOON)
    if is_to_go(world) and routes_first(world):
        yield _hidden(AUXILIARY, "the app ends once its route is gone", world.now + LOOK_SOON)


def _adoptions(world: World) -> Iterator[Deadline]:
    if is_releasing(world):
        yield _hidden(ADOPTION, "the Deployment's pods come up, and nothing watches them", world.now + LOOK_SOON)
    if is_adopting(world) or watched_deployment(world) or _waits_for_the_former(world):
        yield _hidden(ADOPTION, "what it is adopted from is looked at again", world.now + LOOK_AGAIN)
        yield Deadline(ADOPTION, None, "the old pods may go", may_go_at(world), shown=False)
    if world.moved and leads_still(world):
        yield _hidden(AUXILIARY, "the route of the app that it is now is looked at again", world.now + LOOK_AGAIN)
    if world.moved and (ends := ends_at(world)):
        yield _hidden(ADOPTION, "the pods of the app under its former name may go", ends)


def _waits_for_the_former(world: World) -> bool:
    """Return whether an object beside the versions is still that of the app that this one was before."""
    adopt, preview = world.spec.adopt, world.observed.preview_service
    if adopt is None or not adopt.app:
        return False
    return bool(preview and preview.app) or any(view.owner or view.former for view in world.observed.auxiliary_objects)


def _calls(world: World) -> Iterator[Deadline]:
    if world.spec.strategy.hooks:
        for moment in hooks.moments(round_of(world)):
            yield _hidden(GateKind.HOOK, "a hook is asked, or given up", moment)
        for moment in messages.moments(world.record.outbox, listeners(world)):
            yield _hidden(MESSAGE, "a message is sent, or given up", moment)


def _measurements(world: World) -> Iterator[Deadline]:
    if not world.record.analyses.runs:
        return
    for moment in analyses.moments(round_of(world)):
        yield _hidden(GateKind.ANALYSIS, "a measurement is due", moment)
    verdict = live_verdict(round_of(world))
    if verdict and verdict.until:
        yield _hidden(GateKind.ANALYSIS, verdict.reason, verdict.until)


def _hidden(gate: str, reason: str, at: datetime) -> Deadline:
    """Return a wait of the app that is not shown, and that a suspension does not stop."""
    return Deadline(gate, None, reason, at, shown=False, while_suspended=True)


def wake_at(world: World, gates: tuple[GateResult, ...] | None = None) -> datetime | None:
    """Return the next moment after ``now`` at which to decide again; None where only an event can change anything.

    A caller that has computed `gates_to_show` already passes them.
    """
    suspended, now = world.suspended, world.now
    known = deadlines_of(world, gates_to_show(world) if gates is None else gates)
    going = (each.at for each in known if each.at and (each.while_suspended or not suspended))
    return min((moment for moment in going if moment > now), default=None)


def waits_of(world: World, gates: tuple[GateResult, ...]) -> tuple[Wait, ...]:
    """Return all waits, those that block the next version first; ``gates`` are the gates shown."""
    wake = wake_at(world, gates)
    return tuple(
        Wait(str(each.gate), each.version.number, each.reason, _known(each.at, wake))
        for each in deadlines_of(world, gates)
        if each.shown and each.version
    )


def _known(at: datetime | None, wake: datetime | None) -> datetime | None:
    """Return the end of a wait, only where the engine decides again by then.

    An end that has passed is not shown (nobody measures, Git is unreachable). Nor is one that falls into a suspension
    that stops its clock: nothing would happen then, and nobody would remove it from the status.
    """
    return at if at and wake and wake <= at else None

"""Everything that an app waits for, each with its reason and, where known, its end. Nothing here decides anything.

The shut gates of the version that is next; what stops the app as a whole; and what the versions behind wait for: to
prove themselves, to drain, to be restarted, to be scaled down.
"""

from collections.abc import Iterator
from datetime import datetime

from gitops_bg.core.checks.availability import progress_deadline
from gitops_bg.core.checks.draining import drained_at, may_still_serve
from gitops_bg.core.checks.gates import standing_gates
from gitops_bg.core.checks.restart import recheck_at
from gitops_bg.core.checks.stabilization import stabilization_ends
from gitops_bg.core.model.decision import GateKind, GateResult, Wait
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

GIT, PROBATION, DRAINING, RESTART, SCALE_DOWN = "git", "probation", "draining", "restart", "scaleDown"
"""What is waited for besides gates."""


def waits_of(world: World, gates: tuple[GateResult, ...]) -> tuple[Wait, ...]:
    """All waits, those in the way of the next version first; ``gates`` are those that are shown."""
    concerned = world.incoming or world.record.version(world.target_digest) or world.active
    shut = [gate for gate in gates if not gate.open]
    ahead = (_shut(world, concerned, gate) for gate in shut) if concerned else ()
    return (*ahead, *_standing(world, {gate.kind for gate in shut}), *_behind(world))


def _shut(world: World, version: Version, gate: GateResult) -> Wait:
    until = gate.until
    if gate.kind is GateKind.AVAILABILITY and not version.failure:
        until = progress_deadline(world, version)
    return _wait(world, version, gate.kind, gate.reason, until)


def _standing(world: World, shown: set[str]) -> Iterator[Wait]:
    """What stops the app as a whole, where no version on its way says so; none of it stops the way back."""
    active, away = world.active, world.observed.git.unreachable
    if active is None or world.incoming:
        return
    for gate in standing_gates(world, world.target_digest):
        if gate.kind not in shown:
            yield _shut(world, active, gate)
    if away and (world.candidate or world.record.routing.override):
        yield _wait(world, world.candidate or active, GIT, f"the remote is away: {away}", None)


def _behind(world: World) -> Iterator[Wait]:
    active = world.active
    if active and active.probation and active.probation.unready:
        reason = f"{world.available(active.digest)} of {active.probation.pods} pods available: rolled back at its end"
        yield _wait(world, active, PROBATION, reason, stabilization_ends(world, active))
    elif active and world.full_size and not world.available(active.digest):
        yield _wait(world, active, GateKind.AVAILABILITY, "none of its pods is available, and it is live", None)
    restart = world.record.operator.restart
    if active and restart:
        begins = "go" if restart.begun else "are to go"
        reason = f"pods older than {restart.at:%Y-%m-%dT%H:%M:%SZ} {begins}, one version after the other"
        yield _wait(world, active, RESTART, reason, recheck_at(world))
    for version in world.record.versions:
        if version.retiring and version.scale_down_at is not None:
            yield from _on_its_way_out(world, version, version.scale_down_at)


def _on_its_way_out(world: World, version: Version, warm_until: datetime) -> Iterator[Wait]:
    if may_still_serve(world, version):
        yield _wait(world, version, DRAINING, "requests may still be on their way to it", drained_at(world))
    view = world.replica_set(version.digest)
    if view and view.replicas and warm_until > world.now:
        yield _wait(world, version, SCALE_DOWN, "its pods stay warm", warm_until)


def _wait(world: World, version: Version, gate: str, reason: str, until: datetime | None) -> Wait:
    """A wait; that it lasts longer than it should (nobody measures, Git is away) does not make its end known."""
    known = until if until and until > world.now else None
    return Wait(gate, version.number, version.source.commit, reason, known)

"""Everything that an app waits for, each with its reason and, where known, its end. Nothing here decides anything.

The shut gates of the version that is next, and what the versions behind it wait for: to drain, to be scaled down.
"""

from collections.abc import Iterator
from datetime import datetime

from gitops_bg.core.availability import progress_deadline
from gitops_bg.core.decision import Gate, GateKind, Wait
from gitops_bg.core.draining import drained_at, may_still_serve
from gitops_bg.core.model import Version
from gitops_bg.core.probation import probation_ends
from gitops_bg.core.world import World

PROBATION, DRAINING, SCALE_DOWN = "probation", "draining", "scaleDown"
"""What is waited for besides gates."""


def waits_of(world: World, gates: tuple[Gate, ...]) -> tuple[Wait, ...]:
    """All waits, those in the way of the next version first; ``gates`` are those that are shown."""
    concerned = world.moving_to or world.record.version(world.target_digest) or world.active
    ahead = (_shut(world, concerned, gate) for gate in gates if not gate.open) if concerned else ()
    return (*ahead, *_behind(world))


def _shut(world: World, version: Version, gate: Gate) -> Wait:
    until = gate.until
    if gate.kind is GateKind.AVAILABILITY and not version.failure:
        until = progress_deadline(world, version)
    return _wait(version, gate.kind.value, gate.reason, until)


def _behind(world: World) -> Iterator[Wait]:
    active = world.active
    if active and active.probation and active.probation.unready:
        reason = f"{world.available(active.digest)} of {active.probation.pods} pods available: rolled back at its end"
        yield _wait(active, PROBATION, reason, probation_ends(world, active))
    for version in world.record.versions:
        if not version.retiring or version.scale_down_at is None:
            continue
        if may_still_serve(world, version):
            yield _wait(version, DRAINING, "requests may still be on their way to it", drained_at(world))
        view = world.replica_set(version.digest)
        if view and view.replicas:
            yield _wait(version, SCALE_DOWN, "its pods stay warm", version.scale_down_at)


def _wait(version: Version, gate: str, reason: str, until: datetime | None) -> Wait:
    return Wait(gate, version.number, version.source.commit, reason, until)

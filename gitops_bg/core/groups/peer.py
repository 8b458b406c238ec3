"""A group as seen by the policies of others: whether it moves, or only waits for its turn (as `checks.policies.peer`).

Computed after a decision, and only if some policy asks about others.
"""

from collections.abc import Callable, Iterator

from gitops_bg.core.checks.policies.peer import waits_for_turn
from gitops_bg.core.groups.gates import gates_of
from gitops_bg.core.groups.gating.policies import of_promotion, place_of, verdicts
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.subject import GroupSubject, run_after, version_of
from gitops_bg.core.groups.world import GroupWorld, member_name
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.policies.facts import Labels, Peer
from gitops_bg.core.model.version import AppKey


def peer_of(world: GroupWorld, labels: Callable[[AppKey], Labels]) -> Peer:
    """Return the group after a decision; ``labels`` gives those of its services."""
    moves_to = moving_to(world)
    return Peer(
        world.key,
        moving=bool(moves_to),
        queued=None if moves_to else _queued(world),
        services=tuple((app, labels(app)) for app in _brought(world, moves_to or world.wanted)),
    )


def moving_to(world: GroupWorld) -> str:
    """Return the version that requests are about to move forward to, or have moved to while its analysis is not done;
    empty where there is none: a way back keeps nobody waiting.
    """
    moving, run = world.record.transition, run_after(world)
    if moving is not None:
        return "" if moving.goes_back else moving.target
    judged = run is not None and run.open and not GroupSubject(world).goes_back()
    return version_of(run) if run is not None and judged else ""


def _queued(world: GroupWorld) -> tuple[int, str] | None:
    """Return its place, if it waits only for its turn."""
    version = world.wanted
    if world.record.transition is not None or world.record.state.stage(version) is not VersionStage.CANDIDATE:
        return None
    others = (*_gates(world, version), *of_promotion(world, version))
    return place_of(world, version) if waits_for_turn(others, verdicts(world, version)) else None


def _gates(world: GroupWorld, version: str) -> Iterator[GateResult]:
    return (gate for gate in gates_of(world, version) if gate.kind != GateKind.POLICY)


def _brought(world: GroupWorld, version: str) -> Iterator[AppKey]:
    """The services that move with a version: those that it inherits stay where they are."""
    for place in world.record.state.endpoints:
        if place.version == place.initial_version == version:
            yield AppKey(world.key.namespace, member_name(place.service, version))

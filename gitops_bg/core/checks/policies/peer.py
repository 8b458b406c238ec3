"""An app as seen by the policies of others: whether it is healthy, moving, or only waits for its turn.

Computed after a decision, and only if some policy asks about others.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from gitops_bg.core.checks.gates import all_open, gates_before_commit, gates_before_first, gates_before_switch
from gitops_bg.core.checks.policies.facts import facts_of, place_of, verdicts
from gitops_bg.core.checks.policies.results import of_promotion
from gitops_bg.core.checks.situations import phase_of
from gitops_bg.core.model.analysis.metrics import AnalysisStage
from gitops_bg.core.model.decision import GateKind, GateResult, Phase
from gitops_bg.core.model.policies.facts import Peer, Verdict
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

CONCURRENCY = "concurrency"


def peer_of(world: World, *, commits: bool, labels: tuple[tuple[str, str], ...], since: datetime | None) -> Peer:
    """Return the app after a decision. ``commits``: its promotion is about to be committed to main.

    ``since`` is when it became healthy, if known; otherwise it counts from now.
    """
    phase, active = phase_of(world), world.active
    moving = commits or is_moving(world)
    peer = Peer(
        who=world.spec.app,
        labels=labels,
        healthy_since=(since or world.now) if phase is Phase.HEALTHY else None,
        phase=phase.value,
        moving=moving,
        queued=None if moving else _queued(world),
    )
    if active is None:
        return peer
    serving = facts_of(world, active).to
    return replace(peer, digest=serving.digest, number=serving.number, label=serving.label)


def is_moving(world: World) -> bool:
    """Return whether traffic is about to move forward, or has moved and the endpoints or the analysis are not done.

    An analysis that begins anew only if a rollback is taken back keeps no other app waiting.
    """
    switch, active, run = world.record.routing.switch, world.active, world.record.run(AnalysisStage.POST)
    if switch is not None and switch.switch_kind is not SwitchKind.ROLLBACK:
        return True
    if active is None:
        return False
    judged = run is not None and run.digest == active.digest and run.open
    return (judged and world.switch_kind is not SwitchKind.ROLLBACK) or active.routed_at is None


def _queued(world: World) -> tuple[int, str] | None:
    """Return its place, if it waits only for its turn."""
    version = world.incoming or world.candidate
    if version is None or (world.switch_kind is SwitchKind.ROLLBACK and world.incoming):
        return None
    others = (*_gates(world, version), *of_promotion(world, version))
    return place_of(world, version) if waits_for_turn(others, verdicts(world, version)) else None


def waits_for_turn(gates: Iterable[GateResult], found: Iterable[Verdict]) -> bool:
    """Return whether something waits for its turn, and for nothing else: what also waits for pods delays no other.

    ``found`` is what policies say, ``gates`` all else.
    """
    return {verdict.rule for verdict in found if verdict.holds} == {CONCURRENCY} and all_open(gates)


def _gates(world: World, version: Version) -> Iterator[GateResult]:
    if world.incoming:
        gates = gates_before_switch(world, version)
    else:
        gates = gates_before_commit(world, version) if world.active else gates_before_first(world, version)
    return (gate for gate in gates if gate.kind != GateKind.POLICY)

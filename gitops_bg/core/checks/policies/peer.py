"""An app as seen by the policies of others: whether it is healthy, moving, or only waits for its turn.

Computed after a decision, and only if some policy asks about others.
"""

from dataclasses import replace
from datetime import datetime

from gitops_bg.core.checks.gates import gates_before_commit, gates_before_first, gates_before_switch
from gitops_bg.core.checks.policies.facts import facts_of
from gitops_bg.core.checks.situations import phase_of
from gitops_bg.core.checks.subject import round_of
from gitops_bg.core.delivery.policies import with_place
from gitops_bg.core.model.analysis.metrics import AnalysisStage
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.policies.facts import Peer
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World


def peer_of(world: World, *, commits: bool, labels: tuple[tuple[str, str], ...], since: datetime | None) -> Peer:
    """Return the app after a decision. ``commits``: its promotion is about to be committed to main.

    ``since`` is when it became healthy, if known; otherwise it counts from now.
    """
    phase, active, version = phase_of(world), world.active, _next(world)
    peer = Peer(
        who=world.spec.app,
        labels=labels,
        healthy_since=(since or world.now) if phase is Phase.HEALTHY else None,
        phase=phase.value,
        moving=commits or is_moving(world),
    )
    if version is not None and not peer.moving:
        peer = with_place(round_of(world), peer, version.digest, _gates(world, version))
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


def _next(world: World) -> Version | None:
    """The version that may wait for its turn."""
    version = world.incoming or world.candidate
    return None if world.switch_kind is SwitchKind.ROLLBACK and world.incoming else version


def _gates(world: World, version: Version) -> tuple[GateResult, ...]:
    if world.incoming:
        return gates_before_switch(world, version)
    return gates_before_commit(world, version) if world.active else gates_before_first(world, version)

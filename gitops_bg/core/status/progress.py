"""The conditions that tools for Argo Rollouts read: Progressing, Completed, Paused, ReplicaFailure.

Reasons are those of Argo Rollouts where it has one (argo-rollouts.md §4). Nothing here decides anything.
"""

from collections.abc import Iterator

from gitops_bg.core.checks.adoption.release import at_rest
from gitops_bg.core.checks.pods.scheduling import StuckCause, stuck
from gitops_bg.core.checks.subject import awaits_confirmation
from gitops_bg.core.model.actions import label
from gitops_bg.core.model.analysis.metrics import AnalysisStage
from gitops_bg.core.model.conditions import Condition
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

STUCK_REASONS = {
    StuckCause.REFUSED: "PodsRefused",
    StuckCause.UNSCHEDULABLE: "PodsUnschedulable",
    StuckCause.WAITING: "PodsWaiting",
    StuckCause.AT_GATE: "PodsAtGate",
}
"""The reasons of Progressing and CandidateReady while something keeps the pods of a version from coming up."""
_PAUSES = {
    GateKind.PAUSE: "AutoPromotionCountdown",
    GateKind.MANUAL: "AwaitingConfirmation",
    GateKind.APPROVAL: "AwaitingPromotion",
    GateKind.POLICY: "AwaitingPolicy",
}
"""The gates that only a clock or a person opens; while any other gate is shut, something happens by itself."""


def progress_conditions(world: World, gates: tuple[GateResult, ...]) -> Iterator[Condition]:
    """Progressing, Completed, and Paused and ReplicaFailure while they are so; ``gates`` are the gates shown."""
    paused = _paused(world, gates)
    yield _progressing(world, paused)
    yield _completed(world)
    if paused is not None:
        yield paused
    yield from _replica_failure(world)


def _progressing(world: World, paused: Condition | None) -> Condition:
    """True while the rollout goes on by itself and when it has arrived, False where it cannot go on, else Unknown."""
    coming = world.incoming or world.candidate
    if coming is None or at_rest(world):
        return _arrived(world)
    pods = None if coming.available_since else stuck(world, coming)
    if coming.failure:
        said = f"{_name(coming)} did not become available"
        return Condition("Progressing", False, coming.failure, f"{said}: {pods.message}" if pods else said)
    if paused is not None:
        return Condition("Progressing", None, "RolloutPaused", paused.message)
    if pods:
        return Condition("Progressing", None, STUCK_REASONS[pods.cause], f"{_name(coming)} waits: {pods.message}")
    if coming.available_since is None:
        return Condition("Progressing", True, "ReplicaSetUpdated", f"{_name(coming)} comes up")
    return Condition("Progressing", True, "RolloutProgressing", f"{_name(coming)} is on its way")


def _arrived(world: World) -> Condition:
    if elsewhere := at_rest(world):
        return Condition("Progressing", None, "Released", elsewhere)
    hold = world.record.held(world.target_digest)
    if hold and world.target_digest != world.record.routing.traffic:
        return Condition("Progressing", False, "RolloutAborted", hold.why)
    if world.active is None:
        return Condition("Progressing", None, "NoVersion", "there is no version yet")
    return Condition("Progressing", True, "NewReplicaSetAvailable", f"{_name(world.active)} is live")


def _completed(world: World) -> Condition:
    active, run = world.active, world.record.run(AnalysisStage.POST)
    if elsewhere := at_rest(world):
        return Condition("Completed", False, "Released", elsewhere)
    if active is None:
        return Condition("Completed", False, "NothingServes", "no version was deployed yet")
    if world.incoming or world.target_digest != active.digest:
        return Condition("Completed", False, "RolloutNotCompleted", f"{_name(active)} is live, and not the target")
    if run and run.digest == active.digest and (run.running or run.paused):
        return Condition("Completed", False, "AwaitingVerdict", f"{_name(active)} is live, and not yet judged")
    return Condition("Completed", True, "RolloutCompleted", f"the target is live: {_name(active)}")


def _paused(world: World, gates: tuple[GateResult, ...]) -> Condition | None:
    """That nothing happens until a person decides or a countdown ends; None where something does."""
    shut = {gate.kind: gate.reason for gate in gates if not gate.open}
    inconclusive = next((run for run in world.record.analyses.runs if run.paused), None)
    if inconclusive:
        reason = shut.get(GateKind.ANALYSIS, f"{inconclusive.stage.called} was inconclusive")
        return Condition("Paused", True, "InconclusiveAnalysis", reason)
    if world.suspended and world.spec.suspend:
        return Condition("Paused", True, "Suspended", f"suspended: {world.spec.suspend.reason}")
    coming = world.incoming or world.candidate
    if coming and awaits_confirmation(world, coming):
        return Condition("Paused", True, "AwaitingConfirmation", _unconfirmed(shut))
    kind = next((kind for kind in _PAUSES if kind in shut), None)
    if kind is None or not shut.keys() <= _PAUSES.keys():
        return None
    return Condition("Paused", True, _PAUSES[kind], shut[kind])


def _unconfirmed(shut: dict[str, str]) -> str:
    return shut.get(GateKind.MANUAL) or shut.get(GateKind.HOOK, "a hook has not said yes yet")


def _replica_failure(world: World) -> Iterator[Condition]:
    """The condition ReplicaFailure, copied from the first ReplicaSet that has it."""
    failed = next((view for view in world.observed.replica_sets if view.ours and view.failure), None)
    if failed is not None:
        reason, _, message = failed.failure.partition(": ")
        yield Condition("ReplicaFailure", True, reason, f"{failed.name}: {message}")


def _name(version: Version) -> str:
    return label(version.number, version.digest)

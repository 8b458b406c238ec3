"""The words of a status here, and what Argo Rollouts and Flagger call the same."""

from __future__ import annotations

from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.record import RolloutOutcome

PHASES = {
    Phase.INVALID: ("Degraded (InvalidSpec)", "an event only"),
    Phase.SUSPENDED: ("Paused (manually paused)", "Suspended"),
    Phase.ADOPTING: ("none: workloadRef has no Services of before", "Initializing"),
    Phase.DEPLOYING: ("Progressing", "Initializing"),
    Phase.ROLLING_BACK: ("Progressing", "Failed"),
    Phase.DEGRADED: ("Degraded (ProgressDeadlineExceeded)", "Progressing, until it is Failed"),
    Phase.SCALED_TO_ZERO: ("Healthy", "Succeeded: it was so before"),
    Phase.WAITING: ("none: there are no hooks", "Waiting; WaitingPromotion"),
    Phase.PAUSED: ("Paused (InconclusiveAnalysisRun)", "none: no data is a failure"),
    Phase.PROMOTING: ("Progressing (active service cutover pending)", "Promoting, Finalising"),
    Phase.RESTARTING: ("Progressing (rollout is restarting)", "none"),
    Phase.PROGRESSING: ("Progressing", "Progressing"),
    Phase.AWAITING_PROMOTION: ("Paused (BlueGreenPause)", "WaitingPromotion"),
    Phase.HELD: ("Degraded (RolloutAborted)", "Failed"),
    Phase.HEALTHY: ("Healthy", "Initialized, Succeeded"),
}
"""Of each phase: Argo Rollouts' phase with its reason, Flagger's phase."""

ENDINGS = {
    RolloutOutcome.PROMOTED: "Promoted",
    RolloutOutcome.FAST_PROMOTED: "FastPromoted",
    RolloutOutcome.ABORTED: "Aborted",
    RolloutOutcome.SUPERSEDED: "Superseded",
    RolloutOutcome.CANCELLED: "RolledBack: the template is the stable one again",
    RolloutOutcome.ROLLED_BACK: "Aborted, after the cutover; or Promoted, and then RolledBack of another rollout",
}
"""Of each outcome of a rollout: Argo Rollouts' completionStatus."""

"""What a failed action holds up: only the actions of a decision that depend on it.

The live Services, the serving version, a way back, new versions and what is cleaned up are chains of their own: a
refused ReplicaSet leaves no Service that leads astray, and no rollback waits for a new version.
"""

from gitops_bg.core.model.actions import (
    ApplyConfiguration,
    ApplyService,
    ClusterAction,
    CreateReplicaSet,
    DeleteApp,
    DeleteConfiguration,
    DeleteReplicaSet,
    EvictPod,
    HandBack,
    MarkService,
    PointPreview,
    RepairSelector,
    ScaleDeployment,
    ScaleReplicaSet,
    ServiceRole,
    SwitchTraffic,
    SyncPodMetadata,
)
from gitops_bg.core.model.record import SwitchKind

ON_WORKLOADS = (CreateReplicaSet, ScaleReplicaSet, DeleteReplicaSet, SyncPodMetadata, EvictPod)
SWITCHING = (SwitchTraffic, MarkService)
"""The writes of one decision on where live traffic goes."""
RETURNING = (ScaleDeployment, HandBack)


def waits_for(action: ClusterAction, failed: ClusterAction) -> bool:
    """Return whether an action may not be carried out, because an earlier one of the same decision was not."""
    if isinstance(action, DeleteApp):
        return True
    if isinstance(failed, ApplyConfiguration):
        return _uses(action, failed)
    if isinstance(failed, ON_WORKLOADS):
        return _digest(action) == _digest(failed)
    if isinstance(failed, RETURNING) and isinstance(action, RETURNING):
        return True
    if isinstance(failed, SWITCHING) and isinstance(action, SwitchTraffic):
        return not (_goes_back(action) and _goes_back(failed))
    return _leads_live_traffic(failed) and _removes_pods(action)


def stands_alone(action: object) -> bool:
    """Return whether an action on one live Service is tried whatever became of others: each that leads back from bad
    pods goes by itself, and so does each mark, without which it may not.
    """
    return isinstance(action, RepairSelector | MarkService) or _goes_back(action)


def _digest(action: ClusterAction) -> str | None:
    """Return the version whose workload an action writes to, or that it leads a Service to."""
    match action:
        case CreateReplicaSet():
            return action.snapshot.digest
        case ScaleReplicaSet() | DeleteReplicaSet() | SyncPodMetadata() | EvictPod():
            return action.digest
        case SwitchTraffic() | ApplyService() | PointPreview():
            return action.digest
        case _:
            return None


def _uses(action: ClusterAction, copy: ApplyConfiguration) -> bool:
    """Return whether an action gives a version pods that need a copy."""
    if isinstance(action, CreateReplicaSet):
        return copy.ref in action.snapshot.configuration
    return isinstance(action, ScaleReplicaSet) and action.number == copy.number and action.replicas > action.current


def _goes_back(action: object) -> bool:
    return isinstance(action, SwitchTraffic) and action.switch_kind is SwitchKind.ROLLBACK


def _leads_live_traffic(action: ClusterAction) -> bool:
    is_made = isinstance(action, ApplyService) and action.role == ServiceRole.ACTIVE and action.create
    return is_made or isinstance(action, (*SWITCHING, RepairSelector, HandBack))


def _removes_pods(action: ClusterAction) -> bool:
    """Return whether there are fewer pods after an action, or less that pods need."""
    if isinstance(action, ScaleReplicaSet | ScaleDeployment):
        return action.replicas < action.current
    return isinstance(action, DeleteReplicaSet | DeleteConfiguration | EvictPod)

"""What people hear of an action on the cluster: one Kubernetes Event, by what came of the action.

The words are Argo Rollouts' where it has one (argo-rollouts.md §4).
"""

from typing import assert_never

from gitops_bg.core.model.actions import (
    ApplyApp,
    ApplyAuxiliaryObject,
    ApplyConfiguration,
    ApplyService,
    ClusterAction,
    CreateReplicaSet,
    DeleteApp,
    DeleteAuxiliaryObject,
    DeleteConfiguration,
    DeleteReplicaSet,
    EvictPod,
    MarkService,
    PointPreview,
    ScaleReplicaSet,
    SwitchTraffic,
    SyncPodMetadata,
)
from gitops_bg.core.model.change_set import ActionResult
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.status.rollout_events import RolloutEvent

CREATE_REFUSED, WRITE_REFUSED = "ReplicaSetCreateError", "WriteRefused"


def event_of(result: ActionResult) -> RolloutEvent | None:
    """The Event for what came of an action; None where it is not worth one."""
    if result.refused:
        reason = CREATE_REFUSED if isinstance(result.action, CreateReplicaSet) else WRITE_REFUSED
        return RolloutEvent(reason, str(result), warning=True)
    reason = reason_of(result.action)
    return RolloutEvent(reason, str(result)) if reason else None


def reason_of(action: ClusterAction) -> str:
    """The reason of the Event for an action that was carried out; empty where it is not worth one."""
    match action:
        case SwitchTraffic():
            reason = "RolledBack" if action.switch_kind is SwitchKind.ROLLBACK else "TrafficSwitched"
        case CreateReplicaSet():
            reason = "ReplicaSetRepaired" if action.repair else "NewReplicaSetCreated"
        case ScaleReplicaSet():
            reason = "ScalingReplicaSet"
        case SyncPodMetadata():
            reason = "PodMetadataChanged"
        case EvictPod():
            reason = "PodEvicted"
        case ApplyConfiguration() | DeleteConfiguration():
            reason = _reason_of_copy(action)
        case DeleteReplicaSet():
            reason = "ReplicaSetDeleted"
        case PointPreview():
            reason = "PreviewSwitched"
        case ApplyService():
            reason = "ServiceApplied"
        case ApplyAuxiliaryObject() | DeleteAuxiliaryObject():
            reason = "AuxiliaryObjectApplied" if isinstance(action, ApplyAuxiliaryObject) else "AuxiliaryObjectDeleted"
        case ApplyApp() | DeleteApp() | MarkService():
            reason = ""
        case _:
            assert_never(action)
    return reason


def _reason_of_copy(action: ApplyConfiguration | DeleteConfiguration) -> str:
    if isinstance(action, DeleteConfiguration):
        return "ConfigurationDeleted"
    return "ConfigurationRepaired" if action.repair else "ConfigurationCopied"

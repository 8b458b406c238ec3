"""The Kubernetes Event of an action on the cluster, by the result of the action.

The words are in the one table, `core.model.events`.
"""

from collections.abc import Mapping, Sequence

from gitops_bg.core.model.actions import (
    ApplyAuxiliaryObject,
    ApplyConfiguration,
    ApplyService,
    CreateReplicaSet,
    DeleteAuxiliaryObject,
    DeleteConfiguration,
    DeleteReplicaSet,
    EvictPod,
    HandBack,
    PointPreview,
    RepairSelector,
    ScaleDeployment,
    ScaleReplicaSet,
    SwitchTraffic,
    SyncPodMetadata,
)
from gitops_bg.core.model.change_set import ActionResult
from gitops_bg.core.model.events import Notice
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.status.rollout_events import RolloutEvent


def event_of(result: ActionResult, news: Sequence[LedgerEntry] = ()) -> RolloutEvent | None:
    """The Event for the result of an action; None where it is not worth one, or an entry of the ledger among the
    ``news`` has told it: that a rollout begins is told once, and not for its first pods once more.
    """
    if result.refused:
        refused = Notice.CREATE_REFUSED if isinstance(result.action, CreateReplicaSet) else Notice.WRITE_REFUSED
        return RolloutEvent(refused, str(result))
    notice = None if _is_told(result.action, news) else notice_of(result.action)
    return RolloutEvent(notice, str(result)) if notice else None


def _is_told(action: object, news: Sequence[LedgerEntry]) -> bool:
    if not isinstance(action, ScaleReplicaSet) or action.current:
        return False
    return any(entry.event is Event.CANDIDATE and entry.to_digest == action.digest for entry in news)


def notice_of(action: object) -> Notice | None:
    """The notice of an action that was carried out; None where it is not worth one."""
    match action:
        case SwitchTraffic(adopts=True):
            return Notice.SERVICE_TAKEN_OVER
        case CreateReplicaSet(repair=True):
            return Notice.REPLICA_SET_REPAIRED
        case CreateReplicaSet(replicas=0):
            return None  # it has no pods yet
        case ApplyConfiguration(repair=True):
            return Notice.CONFIGURATION_REPAIRED
        case _:
            return _NOTICES.get(type(action))


_NOTICES: Mapping[type, Notice] = {
    ScaleDeployment: Notice.DEPLOYMENT_SCALED,
    HandBack: Notice.SERVICE_HANDED_BACK,
    CreateReplicaSet: Notice.REPLICA_SET_CREATED,
    ScaleReplicaSet: Notice.REPLICA_SET_SCALED,
    DeleteReplicaSet: Notice.REPLICA_SET_DELETED,
    SyncPodMetadata: Notice.POD_METADATA_CHANGED,
    EvictPod: Notice.POD_EVICTED,
    ApplyConfiguration: Notice.CONFIGURATION_COPIED,
    DeleteConfiguration: Notice.CONFIGURATION_DELETED,
    PointPreview: Notice.PREVIEW_SWITCHED,
    RepairSelector: Notice.SERVICE_APPLIED,
    ApplyService: Notice.SERVICE_APPLIED,
    ApplyAuxiliaryObject: Notice.AUXILIARY_OBJECT_APPLIED,
    DeleteAuxiliaryObject: Notice.AUXILIARY_OBJECT_DELETED,
}
"""Without an Event: writes to the app's own object, marks on Services, and switches, whose ledger entry is told."""

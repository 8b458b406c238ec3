"""What an app was adopted from, a Deployment or what an app of before let go, read on demand while its pods are to go:
nothing watches it.
"""

from collections.abc import Sequence

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import APPS, DAEMON_SETS, DEPLOYMENTS, REPLICA_SETS, Kind, Object
from gitops_bg.cluster.observation.states import Pairs, meta_of, pairs
from gitops_bg.core import names
from gitops_bg.core.errors import Refused
from gitops_bg.core.model.observed import DeploymentView
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.spec import DeletionPolicy, ScaleDown
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.load import AppConfig


def adopted_from(config: AppConfig | None, record: Record) -> str | None:
    """The name of the Deployment that has to be looked at, empty for a workload without one; None where nothing has.

    Only where its pods are to go, and have not, or are to come back: an app that leaves them alone needs no right to
    read it.
    """
    if record.routing.traffic and (back := gives_back_to(config, record)):
        return back
    adopt = config.spec.adopt if config is not None and config.spec is not None else None
    if adopt is None or adopt.scale_down is ScaleDown.NEVER or record.adopted is None or record.adopted.left:
        return None
    return adopt.deployment


def gives_back_to(config: AppConfig | None, record: Record) -> str:
    """The Deployment that live traffic goes back to, or would because the app's folder is gone; empty for none."""
    spec = config.spec if config is not None else None
    if config is None or spec is None:
        return record.release
    if spec.release is not None:
        return spec.release.deployment
    reverts = spec.deletion_policy is DeletionPolicy.REVERT_TO_TARGET and not config.folder
    return record.release or (spec.adopt.deployment if spec.adopt and reverts else "")


def deployment_view(
    client: Client, app: AppKey, name: str, before: Sequence[Pairs], every_node: bool
) -> DeploymentView:
    """The present state of a Deployment, a quorum read; without a name, of the workload whose pods the selectors
    ``before`` the hand-over name: a ReplicaSet, or, where versions run on ``every_node``, a DaemonSet that an agent
    made.
    """
    if not name:
        return _without_deployment(client, app, before, (REPLICA_SETS, DAEMON_SETS) if every_node else (REPLICA_SETS,))
    try:
        live = client.get(DEPLOYMENTS, app.namespace, name)
    except Refused as error:
        return DeploymentView(name, trouble=str(error))
    return DeploymentView(name, gone=True) if live is None else _view(live)


def _without_deployment(client: Client, app: AppKey, before: Sequence[Pairs], kinds: Sequence[Kind]) -> DeploymentView:
    views: list[DeploymentView] = []
    for kind in kinds:
        try:
            listed = client.list(kind, app.namespace)
        except Refused as error:
            return DeploymentView("", trouble=str(error), kind=kind.name)
        selected = [each for each in listed if any(set(one) <= pod_labels(each).items() for one in before)]
        views.extend(_view(each, kind) for each in selected if not _is_kept(kind, app, each))
    return min(views, key=_not_yet, default=DeploymentView("", gone=True, kind=REPLICA_SETS.name))


def _is_kept(kind: Kind, app: AppKey, live: Object) -> bool:
    """Whether a workload is the app's own, or a DaemonSet that no agent made: nobody could take its pods away."""
    controller = meta_of(live).controller
    own = controller is not None and (controller.kind, controller.name) == (APPS.name, app.name)
    return own or (kind == DAEMON_SETS and names.DIGEST not in pod_labels(live))


def _not_yet(view: DeploymentView) -> tuple[bool, bool]:
    """Sorts first what nobody has, and of that what has pods: one goes after the other, where there are two. The former
    app may have let its Services go, and not yet its workloads: these are not gone.
    """
    return bool(view.controller), not view.replicas


def _view(live: Object, kind: Kind = DEPLOYMENTS) -> DeploymentView:
    meta = meta_of(live)
    return DeploymentView(
        name=meta.name,
        replicas=size_of(kind, live),
        available=_available(live),
        labels=pairs(pod_labels(live)),
        controller=f"{meta.controller.kind} {meta.controller.name}" if meta.controller else "",
        kind=kind.name,
    )


def size_of(kind: Kind, live: Object) -> int:
    """How many pods a workload has, or is to have. A DaemonSet has some as long as it is there: nodes come and go."""
    if kind == DAEMON_SETS:
        return max(1, int((live.get("status") or {}).get("desiredNumberScheduled", 0)))
    return int(live["spec"].get("replicas", 1))


def _available(live: Object) -> int:
    status = live.get("status") or {}
    if status.get("observedGeneration", 0) < live["metadata"].get("generation", 0):
        return 0
    return min(int(status.get("availableReplicas", 0)), int(status.get("updatedReplicas", 0)))


def pod_labels(live: Object) -> dict[str, str]:
    """The labels that the pods of a workload get."""
    return (live["spec"]["template"].get("metadata") or {}).get("labels") or {}

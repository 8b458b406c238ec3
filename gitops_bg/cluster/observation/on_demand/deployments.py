"""The Deployment that an app was adopted from, read on demand while its pods are to go: nothing watches it."""

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import DEPLOYMENTS, Object
from gitops_bg.cluster.observation.states import meta_of, pairs
from gitops_bg.core.errors import Refused
from gitops_bg.core.model.observed import DeploymentView
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.spec import DeletionPolicy, ScaleDown
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.load import AppConfig


def adopted_from(config: AppConfig | None, record: Record) -> str:
    """The name of the Deployment that has to be looked at; empty where none has.

    Only where its pods are to go, and have not, or are to come back: an app that leaves them alone needs no right to
    read it.
    """
    if record.routing.traffic and (back := gives_back_to(config, record)):
        return back
    adopt = config.spec.adopt if config is not None and config.spec is not None else None
    if adopt is None or adopt.scale_down is ScaleDown.NEVER or record.adopted is None or record.adopted.left:
        return ""
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


def deployment_view(client: Client, app: AppKey, name: str) -> DeploymentView:
    """The present state of a Deployment, a quorum read."""
    try:
        live = client.get(DEPLOYMENTS, app.namespace, name)
    except Refused as error:
        return DeploymentView(name, trouble=str(error))
    return DeploymentView(name, gone=True) if live is None else _view(live)


def _view(live: Object) -> DeploymentView:
    spec, meta = live["spec"], meta_of(live)
    return DeploymentView(
        name=meta.name,
        replicas=spec.get("replicas", 1),
        available=_available(live),
        labels=pairs(pod_labels(live)),
        controller=f"{meta.controller.kind} {meta.controller.name}" if meta.controller else "",
    )


def _available(live: Object) -> int:
    status = live.get("status") or {}
    if status.get("observedGeneration", 0) < live["metadata"].get("generation", 0):
        return 0
    return min(int(status.get("availableReplicas", 0)), int(status.get("updatedReplicas", 0)))


def pod_labels(live: Object) -> dict[str, str]:
    """The labels that the pods of a Deployment get."""
    return (live["spec"]["template"].get("metadata") or {}).get("labels") or {}

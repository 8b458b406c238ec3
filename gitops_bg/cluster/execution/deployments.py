"""The one write on a workload that is not ours: the number of pods of the Deployment that an app was adopted from.

It must not touch anything else, and take no pods away while live traffic may reach them.
"""

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import DEPLOYMENTS
from gitops_bg.cluster.observation.on_demand.deployments import pod_labels
from gitops_bg.cluster.observation.states import meta_of
from gitops_bg.cluster.ports import Entries, Spare
from gitops_bg.core.errors import WorldChanged
from gitops_bg.core.model.actions import ScaleDeployment
from gitops_bg.core.model.drift import Change, ChangeSetEntry
from gitops_bg.core.model.version import AppKey


def scale_deployment(client: Client, app: AppKey, action: ScaleDeployment, spare: Spare) -> Entries:
    """Set its replicas, by compare-and-swap on those seen.

    Raises `WorldChanged` where it is gone, somebody controls it by now, or live traffic goes to its pods.
    """
    live = client.get(DEPLOYMENTS, app.namespace, action.name)
    if live is None:
        raise WorldChanged(f"{DEPLOYMENTS.called(app.namespace, action.name)} is gone")
    if meta_of(live).controller is not None:
        raise WorldChanged(f"{DEPLOYMENTS.called(app.namespace, action.name)} is controlled by somebody by now")
    if live["spec"].get("replicas", 1) != action.current:
        raise WorldChanged(f"{DEPLOYMENTS.called(app.namespace, action.name)} has another size by now")
    if action.replicas < action.current:
        spare(f"{DEPLOYMENTS.name} {action.name}", pod_labels(live))
    client.scale(DEPLOYMENTS, app.namespace, action.name, live["metadata"]["resourceVersion"], action.replicas)
    return (ChangeSetEntry(DEPLOYMENTS.name, app.namespace, action.name, Change.CONFIGURED),)

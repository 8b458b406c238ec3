"""The one write on a workload that is not ours: the number of pods of what an app was adopted from.

It must not touch anything else, and take no pods away while live traffic may reach them. A ReplicaSet or a DaemonSet
that an agent made goes as a whole with its last pods: its name is that of the same version, should the former app come
back.
"""

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import DAEMON_SETS, DEPLOYMENTS, REPLICA_SETS, Object
from gitops_bg.cluster.manifests.patches import unchanged
from gitops_bg.cluster.observation.on_demand.deployments import pod_labels, size_of
from gitops_bg.cluster.observation.states import meta_of
from gitops_bg.cluster.ports import Entries, Spare
from gitops_bg.core import names
from gitops_bg.core.errors import WorldChanged
from gitops_bg.core.model.actions import ScaleDeployment
from gitops_bg.core.model.change_set import Change, ChangeSetEntry
from gitops_bg.core.model.version import AppKey


def scale_deployment(client: Client, app: AppKey, action: ScaleDeployment, spare: Spare) -> Entries:
    """Set its replicas, by compare-and-swap on those seen.

    Raises `WorldChanged` where it is gone, somebody controls it by now, or live traffic goes to its pods.
    """
    kind = next(each for each in (DEPLOYMENTS, REPLICA_SETS, DAEMON_SETS) if each.name == action.kind)
    live, called = client.get(kind, app.namespace, action.name), kind.called(app.namespace, action.name)
    if live is None:
        raise WorldChanged(f"{called} is gone")
    if meta_of(live).controller is not None:
        raise WorldChanged(f"{called} is controlled by somebody by now")
    if kind != DAEMON_SETS and size_of(kind, live) != action.current:
        raise WorldChanged(f"{called} has another size by now")
    if action.replicas < action.current:
        spare(f"{kind.name} {action.name}", pod_labels(live))
    version, change = live["metadata"]["resourceVersion"], Change.CONFIGURED
    if kind == DEPLOYMENTS:
        client.scale(kind, app.namespace, action.name, version, action.replicas)
    elif action.replicas == 0 and names.DIGEST in pod_labels(live):
        client.delete(kind, app.namespace, action.name, live["metadata"]["uid"], version)
        change = Change.DELETED
    else:  # The agent may write those of its own apps: it needs no further right.
        client.json_patch(kind, app.namespace, action.name, _size(live, action.replicas))
    return (ChangeSetEntry(kind.name, app.namespace, action.name, change),)


def _size(live: Object, replicas: int) -> list[Object]:
    version = live["metadata"]["resourceVersion"]
    return [*unchanged(version), {"op": "add", "path": "/spec/replicas", "value": replicas}]

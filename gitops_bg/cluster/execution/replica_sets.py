"""ReplicaSets as the workloads of an app's versions: the first `ports.Workloads`."""

from collections.abc import Iterator
from dataclasses import replace

from gitops_bg.cluster.api.kinds import DAEMON_SETS, REPLICA_SETS, WORKLOADS, Kind, Object
from gitops_bg.cluster.execution.writer import Guards, Writer, refuse_if_deleting
from gitops_bg.cluster.manifests import pod_templates
from gitops_bg.cluster.manifests.patches import change_annotation, change_nodes, change_replicas
from gitops_bg.cluster.manifests.pod_templates import Labels
from gitops_bg.cluster.manifests.render import replica_set_manifest
from gitops_bg.cluster.observation.additions import AppliedStates
from gitops_bg.cluster.observation.drift import ChangedField
from gitops_bg.cluster.observation.on_demand import Pods
from gitops_bg.cluster.observation.project import WORKLOAD_STATES
from gitops_bg.cluster.observation.reader import Reader
from gitops_bg.cluster.observation.states import ReplicaSetState, State
from gitops_bg.cluster.observation.views import SeenReplicaSets, live_name, workload_of
from gitops_bg.cluster.ports import Entries, Spare
from gitops_bg.core import names
from gitops_bg.core.errors import WorldChanged
from gitops_bg.core.model.actions import CreateReplicaSet, DeleteReplicaSet, ScaleReplicaSet, SyncPodMetadata
from gitops_bg.core.model.drift import Drift
from gitops_bg.core.model.version import AppKey, WorkloadKind


class ReplicaSets:
    """The ReplicaSets of one cluster's apps. Thread-safe as long as each app has one thread at a time."""

    def __init__(self, reader: Reader, writer: Writer, guards: Guards, settled: AppliedStates, pods: Pods) -> None:
        self._reader = reader
        self._writer = writer
        self._guards = guards
        self._settled = settled
        self._pods = pods

    def current(self, app: AppKey) -> SeenReplicaSets:
        """Return the ReplicaSets with the labels of the app, and foreign ones under a name that it needs, from the
        caches.
        """
        return SeenReplicaSets(self._reader.replica_sets(app))

    def owned(self, app: AppKey, uid: str) -> Iterator[tuple[Kind, State]]:
        """Return the ReplicaSets that the object with this uid owns."""
        found = (each for each in self._reader.replica_sets(app) if uid in each.meta.owners)
        return ((WORKLOADS[each.workload], each) for each in found)

    def create(self, app: AppKey, action: CreateReplicaSet, own: Labels) -> Entries:
        """Create the ReplicaSet of a version, or repair it; one that exists is never made smaller.

        An object that lost our labels is in no cache: who decided to create it did not see it, and what size it has.
        """
        name = self._name(app, action.number, action.snapshot.digest)
        workload = action.snapshot.workload
        kind, state_of = WORKLOADS[workload], WORKLOAD_STATES[workload]
        existing = self._guards.own(kind, app, name)
        worn = None
        if existing is not None:
            refuse_if_deleting(kind, existing)
            before = state_of(existing)
            replicas = max(action.replicas, before.replicas)
            action = replace(
                action, replicas=replicas, anti_affinity=pod_templates.read_anti_affinity(before.anti_affinity)
            )
            own = pod_templates.read_labels(before.own_pods)
            worn = pod_templates.read_metadata(before.worn).changed(action.metadata)
            name = before.meta.name
        manifest = replica_set_manifest(app, self._guards.uid(app), name, action, worn, own)
        written = self._writer.apply(kind, manifest, existing)
        if kind == REPLICA_SETS:
            self._writer.intents.wrote(kind, app.namespace, name, _size(None, action.replicas))
        state = state_of(written.body)
        if not state.intact:
            self._settled.add(state, ())
        return (written.entry,)

    def scale(self, app: AppKey, action: ScaleReplicaSet, spare: Spare) -> Entries:
        """Set its replicas, by compare-and-swap on those seen; of a DaemonSet, on the nodes that were read."""
        name = self._name(app, action.number, action.digest)
        if action.workload is WorkloadKind.DAEMON_SET:
            return self._put(app, name, action, spare)
        if action.replicas < action.current and not action.serving:
            _spare(self._guards.existing(REPLICA_SETS, app, name), spare)
        drift = self._rescaled(app, name, action)
        entry = self._writer.json_patch(REPLICA_SETS, app.namespace, name, change_replicas(app, action)).entry
        self._writer.intents.wrote(REPLICA_SETS, app.namespace, name, _size(action.current, action.replicas))
        return (replace(entry, drift=drift),)

    def _rescaled(self, app: AppKey, name: str, action: ScaleReplicaSet) -> Drift | None:
        """Return what somebody else made of the size that was written before; asks the server only then."""
        size = _size(action.current, action.replicas)
        if not self._writer.intents.repeats(REPLICA_SETS, app.namespace, name, size):
            return None
        return self._writer.intents.drift_of(REPLICA_SETS, self._guards.existing(REPLICA_SETS, app, name), size)

    def _put(self, app: AppKey, name: str, action: ScaleReplicaSet, spare: Spare) -> Entries:
        """Put a DaemonSet on its nodes, or take it off them."""
        live = self._guards.existing(DAEMON_SETS, app, name)
        if not action.replicas:
            _spare(live, spare)
        change = change_nodes(app, action, live)
        return (self._writer.json_patch(DAEMON_SETS, app.namespace, name, change).entry,) if change else ()

    def sync_pod_metadata(self, app: AppKey, action: SyncPodMetadata) -> Entries:
        """Update the live pods, once the controller has seen the template and so creates no pods of the old one."""
        kind, body, state = self._existing(app, action.number, action.digest)
        worn = pod_templates.read_metadata(state.worn)
        if worn.metadata != action.metadata or not state.seen:
            raise WorldChanged(f"{kind.name} {state.meta.name} does not give {action.metadata} to its pods yet")
        changed = []
        for pod in self._pods.of(app, action.digest):
            change = pod_templates.change_of(pod, body["spec"]["template"], worn)
            if change is not None:
                changed.append(self._pods.change(pod, change))
        done = change_annotation(app, names.POD_METADATA, state.worn, pod_templates.written_metadata(worn.settled()))
        return (*changed, self._writer.json_patch(kind, app.namespace, state.meta.name, done).entry)

    def delete(self, app: AppKey, action: DeleteReplicaSet, spare: Spare) -> Entries:
        """Delete the workload."""
        kind = WORKLOADS[action.workload]
        body = self._guards.own(kind, app, action.name)
        if body is None:
            return ()
        _spare(body, spare)
        return (self._writer.delete(kind, body),)

    def require_available(self, app: AppKey, number: int, digest: str, needed: int) -> None:
        """Check I1 live: the controller has seen the present object, and counts enough available pods."""
        kind, body, state = self._existing(app, number, digest)
        refuse_if_deleting(kind, body)
        if needed and not state.seen:
            raise WorldChanged(f"the controller has not looked at {kind.name} {state.meta.name} since it changed")
        if state.available < needed:
            raise WorldChanged(f"{kind.name} {state.meta.name} has {state.available} available pods, not {needed}")

    def _existing(self, app: AppKey, number: int, digest: str) -> tuple[Kind, Object, ReplicaSetState]:
        """Return what runs a version, read live."""
        workload = workload_of(self._reader, app, digest)
        kind = WORKLOADS[workload]
        body = self._guards.existing(kind, app, self._name(app, number, digest))
        return kind, body, WORKLOAD_STATES[workload](body)

    def _name(self, app: AppKey, number: int, digest: str) -> str:
        return live_name(self._reader, app, number, digest)


def _size(found: int | None, wanted: int) -> ChangedField:
    return ChangedField(("spec", "replicas"), found, wanted)


def _spare(replica_set: Object, spare: Spare) -> None:
    spare(replica_set["metadata"]["name"], replica_set["spec"]["template"]["metadata"].get("labels") or {})

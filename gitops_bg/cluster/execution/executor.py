"""Carries out one `ClusterAction` at a time. What is to be done was decided in the core; here are the safeguards.

Before a write that traffic depends on, the objects are read live; where they are no longer what the action was
decided on, it raises `WorldChanged` and the next pass looks again (DESIGN §5, I1 and I2).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from gitops_bg.cluster.api.errors import ForeignObject
from gitops_bg.cluster.api.kinds import APPS, CONFIGURATION, REPLICA_SETS, SERVICES, Kind, Object
from gitops_bg.cluster.execution.anchors import let_go
from gitops_bg.cluster.execution.auxiliary import AuxiliaryObjects
from gitops_bg.cluster.execution.configuration_copies import Copies
from gitops_bg.cluster.execution.writer import Writer, entry_between
from gitops_bg.cluster.manifests import anti_affinity, ephemeral_metadata
from gitops_bg.cluster.manifests.patches import (
    adopt_service,
    change_annotation,
    change_replicas,
    change_selector,
    mark_service,
    replace_ports,
    replace_selector,
    unchanged,
)
from gitops_bg.cluster.manifests.render import (
    app_manifest,
    replica_set_manifest,
    selects,
    service_manifest,
)
from gitops_bg.cluster.manifests.services import (
    ServiceNames,
    desired_service,
    git_says,
    live_service_names,
    service_names,
    snapshots,
)
from gitops_bg.cluster.observation.applied_states import AppliedStates, intent_of
from gitops_bg.cluster.observation.observe import app_drifted, service_drifted
from gitops_bg.cluster.observation.ownership import NOBODYS, Allegiance, app_owner_of, owner_of
from gitops_bg.cluster.observation.pods import Pods
from gitops_bg.cluster.observation.project import app_state, replica_set_state, service_state
from gitops_bg.cluster.observation.reader import Reader, WriteThrough
from gitops_bg.cluster.observation.states import State, meta_of
from gitops_bg.core import names
from gitops_bg.core.errors import Refused, WorldChanged
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
from gitops_bg.core.model.change_set import ActionResult, ChangeSetEntry
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.text.foreign_json import reread_json
from gitops_bg.spec.app.load import AppConfig

Entries = tuple[ChangeSetEntry, ...]
"""What an action wrote to, in that order; empty where there was nothing left to write to."""


class Executor:
    """Carries out actions of one cluster. Safe for many threads as long as each app has one at a time."""

    def __init__(
        self,
        reader: Reader,
        memory: WriteThrough,
        writer: Writer,
        settled: AppliedStates,
        pods: Pods,
        auxiliary_objects: AuxiliaryObjects,
        us: Allegiance = NOBODYS,
    ) -> None:
        self._us = us
        self._reader = reader
        self._memory = memory
        self._writer = writer
        self._settled = settled
        self._pods = pods
        self.copies = Copies(reader, writer, self._own, self._uid)
        self._auxiliary_objects = auxiliary_objects

    def carry_out(
        self, app: AppKey, config: AppConfig | None, action: ClusterAction, decided_on: str = ""
    ) -> ActionResult:
        """Do it and say what was written to, or raise: `WorldChanged`, `Transient`, `Refused`, `InvalidInput`.

        ``config`` is None once the folder of the app has left main. Where ``decided_on`` is given, traffic moves only
        while the BlueGreenDeployment is still at that resourceVersion: another agent may have decided otherwise since.
        """
        return ActionResult(action, self._written(app, config, action, decided_on))

    def _written(self, app: AppKey, config: AppConfig | None, action: ClusterAction, decided_on: str) -> Entries:
        match action:
            case ApplyApp() | DeleteApp():
                written = self._change_app(app, config, action)
            case ApplyConfiguration() | DeleteConfiguration():
                written = self.copies.carry_out(app, config, action)
            case CreateReplicaSet():
                written = self._create_replica_set(app, config, action)
            case ScaleReplicaSet():
                written = self._scale(app, config, action)
            case SyncPodMetadata():
                written = self._sync_pod_metadata(app, action)
            case EvictPod():
                written = self._pods.evict(app.namespace, action.name, action.uid)
            case DeleteReplicaSet():
                written = self._delete_replica_set(app, config, action)
            case ApplyService():
                written = self._apply_service(app, config, action, decided_on)
            case PointPreview():
                written = self._point(app, action)
            case SwitchTraffic() | MarkService():
                written = self._change_traffic(app, config, action, decided_on)
            case ApplyAuxiliaryObject() | DeleteAuxiliaryObject():
                written = self._auxiliary_objects.carry_out(app, self._uid(app), config, action)
            case _:
                assert_never(action)
        return written

    def _change_app(self, app: AppKey, config: AppConfig | None, action: ApplyApp | DeleteApp) -> Entries:
        return self._apply_app(app, config) if isinstance(action, ApplyApp) else self._delete_app(app)

    def _apply_app(self, app: AppKey, config: AppConfig | None) -> Entries:
        manifest = app_manifest(app, _known(config).body, self._us)
        live = self._own(APPS, app, app.name)
        written = self._writer.apply(APPS, manifest, live, force=True)
        state = app_state(written.body)
        if app_drifted(state, manifest):
            self._settled.add(state, intent_of(manifest))
        return (written.entry,)

    def _delete_app(self, app: AppKey) -> Entries:
        body = self._own(APPS, app, app.name)
        if body is None:
            return ()
        freed = [entry for kind, state in self._kept_beyond(app) for entry in self._let_go(app, kind, state)]
        return (*freed, self._writer.delete(APPS, body))

    def _let_go(self, app: AppKey, kind: Kind, state: State) -> Entries:
        live = self._own(kind, app, state.meta.name)
        operations = let_go(live) if live is not None else []
        return (self._writer.json_patch(kind, app.namespace, state.meta.name, operations).entry,) if operations else ()

    def _kept_beyond(self, app: AppKey) -> Iterator[tuple[Kind, State]]:
        """What would outlive the BlueGreenDeployment: let go of before that is deleted on purpose."""
        state = self._reader.app(app)
        uid = state.meta.uid if state is not None else ""
        services = (self._reader.service(app.namespace, name) for name in service_names(None, state).all())
        found: list[tuple[Kind, State]] = [(REPLICA_SETS, each) for each in self._reader.replica_sets(app)]
        found += [(SERVICES, each) for each in services if each is not None]
        found += [(CONFIGURATION[each.kind], each) for each in self._reader.copies(app, in_use=True).states]
        return ((kind, each) for kind, each in found if uid in each.meta.owners)

    def _create_replica_set(self, app: AppKey, config: AppConfig | None, action: CreateReplicaSet) -> Entries:
        existing = self._own(REPLICA_SETS, app, names.replica_set_name(app, action.snapshot.digest))
        worn = None
        if existing is not None:
            self._refuse_if_deleting(REPLICA_SETS, existing)
            if action.replicas < existing["spec"]["replicas"]:
                self._refuse_if_serving(app, config, existing)
            before = replica_set_state(existing)
            action = replace(action, anti_affinity=anti_affinity.read(before.anti_affinity))
            worn = ephemeral_metadata.read(before.worn).changed(action.metadata)
        manifest = replica_set_manifest(app, self._uid(app), action, worn)
        written = self._writer.apply(REPLICA_SETS, manifest, existing)
        state = replica_set_state(written.body)
        if not state.intact:
            self._settled.add(state, ())
        return (written.entry,)

    def _scale(self, app: AppKey, config: AppConfig | None, action: ScaleReplicaSet) -> Entries:
        name = names.replica_set_name(app, action.digest)
        if action.replicas < action.current and not action.serving:
            self._refuse_if_serving(app, config, self._existing(REPLICA_SETS, app, name))
        return (self._writer.json_patch(REPLICA_SETS, app.namespace, name, change_replicas(app, action)).entry,)

    def _sync_pod_metadata(self, app: AppKey, action: SyncPodMetadata) -> Entries:
        """Only once the controller has seen the template: it makes no more pods of the old one then."""
        body = self._existing(REPLICA_SETS, app, names.replica_set_name(app, action.digest))
        state = replica_set_state(body)
        worn = ephemeral_metadata.read(state.worn)
        if worn.metadata != action.metadata or not state.seen:
            raise WorldChanged(f"ReplicaSet {state.meta.name} does not give {action.metadata} to its pods yet")
        changed = []
        for pod in self._pods.of(app, action.digest):
            change = ephemeral_metadata.change_of(pod, body["spec"]["template"], worn)
            if change is not None:
                changed.append(self._pods.change(pod, change))
        done = change_annotation(app, names.POD_METADATA, state.worn, ephemeral_metadata.written(worn.settled()))
        return (*changed, self._writer.json_patch(REPLICA_SETS, app.namespace, state.meta.name, done).entry)

    def _delete_replica_set(self, app: AppKey, config: AppConfig | None, action: DeleteReplicaSet) -> Entries:
        body = self._own(REPLICA_SETS, app, action.name)
        if body is None:
            return ()
        self._refuse_if_serving(app, config, body)
        return (self._writer.delete(REPLICA_SETS, body),)

    def _apply_service(self, app: AppKey, config: AppConfig | None, action: ApplyService, decided_on: str) -> Entries:
        existing = self._own(SERVICES, app, action.name)
        self._refuse_if_overtaken(app, decided_on)
        if existing is not None and not git_says(config, action.name):
            uid = self._uid(app)
            as_it_is = service_manifest(app, uid, action.name, action.digest, existing, "", action.ports)
            as_it_is = self._writer.anchors.anchored(SERVICES, as_it_is)
            adopted = adopt_service(existing, as_it_is)
            return (self._writer.json_patch(SERVICES, app.namespace, action.name, adopted).entry,)
        manifest, before = self._service(app, config, action), existing
        if existing is not None:
            existing = self._with_ports(app, existing, manifest)
            # A lock: whoever moves the selector meanwhile is not overruled.
            version = existing["metadata"]["resourceVersion"]
            manifest["metadata"] = {**manifest["metadata"], "resourceVersion": version}
        answer = self._writer.apply(SERVICES, manifest, existing).body
        if answer["spec"].get("selector") != manifest["spec"]["selector"]:
            # Kubernetes before 1.22 merges selectors by key: what somebody else added is still there.
            whole = replace_selector(app, answer, manifest)
            answer = self._writer.json_patch(SERVICES, app.namespace, action.name, whole).body
        self._settle_service(answer, manifest)
        return (entry_between(SERVICES, before, answer),)

    def _with_ports(self, app: AppKey, live: Object, manifest: Object) -> Object:
        """A Service with the ports and the selector of its manifest, in one write where it has others."""
        change = replace_ports(live, manifest)
        name = live["metadata"]["name"]
        return self._writer.json_patch(SERVICES, app.namespace, name, change).body if change else live

    def _point(self, app: AppKey, action: PointPreview) -> Entries:
        state = self._reader.service(app.namespace, action.name)
        live = reread_json(state.content)["spec"] if state is not None else {}
        change = change_selector(app, action, live)
        return (self._writer.json_patch(SERVICES, app.namespace, action.name, change).entry,)

    def _change_traffic(
        self, app: AppKey, config: AppConfig | None, action: SwitchTraffic | MarkService, decided_on: str
    ) -> Entries:
        if isinstance(action, SwitchTraffic):
            return self._switch(app, config, action, decided_on)
        return self._mark(app, action, decided_on)

    def _switch(self, app: AppKey, config: AppConfig | None, action: SwitchTraffic, decided_on: str) -> Entries:
        """The Service is read before the record, and may be no other one when it is written.

        Who moved it meanwhile, there and back, has changed the record first: no selector tells that.
        """
        self._require_available(app, action)
        live = self._writer.get(SERVICES, app.namespace, action.name)
        self._refuse_if_overtaken(app, decided_on)
        if not action.create:
            return self._move(app, action, live)
        if self._own(SERVICES, app, action.name) is not None:
            raise WorldChanged(f"Service {app.namespace}/{action.name} exists by now")
        return (self._writer.apply(SERVICES, self._service(app, config, action), None).entry,)

    def _move(self, app: AppKey, action: SwitchTraffic, live: Object | None) -> Entries:
        if live is None:
            raise WorldChanged(f"Service {app.namespace}/{action.name} is gone")
        lock = unchanged(live["metadata"]["resourceVersion"])
        change = [*lock, *change_selector(app, action, live["spec"])]
        return (self._writer.json_patch(SERVICES, app.namespace, action.name, change).entry,)

    def _mark(self, app: AppKey, action: MarkService, decided_on: str) -> Entries:
        live = self._existing(SERVICES, app, action.name)
        self._refuse_if_overtaken(app, decided_on)
        change = mark_service(app, action, live)
        return (self._writer.json_patch(SERVICES, app.namespace, action.name, change).entry,)

    def _refuse_if_overtaken(self, app: AppKey, decided_on: str) -> None:
        if not decided_on:
            return
        live = self._writer.get(APPS, app.namespace, app.name)
        if live is None or live["metadata"]["resourceVersion"] != decided_on:
            raise WorldChanged(f"{APPS.called(app.namespace, app.name)} is not what this was decided on")

    def _require_available(self, app: AppKey, action: SwitchTraffic) -> None:
        """I1, read live: the pods that traffic is to go to are there."""
        body = self._existing(REPLICA_SETS, app, names.replica_set_name(app, action.digest))
        self._refuse_if_deleting(REPLICA_SETS, body)
        state = replica_set_state(body)
        if action.needs_available and not state.seen:
            raise WorldChanged(f"the controller has not looked at ReplicaSet {state.meta.name} since it changed")
        if state.available < action.needs_available:
            raise WorldChanged(
                f"ReplicaSet {state.meta.name} has {state.available} available pods, not {action.needs_available}"
            )

    def _refuse_if_serving(self, app: AppKey, config: AppConfig | None, replica_set: Object) -> None:
        """I2, read live: no active Service, of Git's name or of the live spec's, selects these pods."""
        labels = replica_set["spec"]["template"]["metadata"].get("labels") or {}
        for name in self._active_services(app, config):
            service = self._writer.get(SERVICES, app.namespace, name)
            selector = (service["spec"].get("selector") or {}) if service is not None else {}
            if selects(selector, labels):
                raise WorldChanged(f"the active Service {name} selects {replica_set['metadata']['name']}")

    def _refuse_if_deleting(self, kind: Kind, body: Object) -> None:
        if "deletionTimestamp" in body["metadata"]:
            raise WorldChanged(f"{kind.name} {body['metadata']['name']} is still being deleted")

    def _active_services(self, app: AppKey, config: AppConfig | None) -> set[str]:
        live = self._reader.app(app)
        found: list[ServiceNames] = [service_names(config, live), live_service_names(live)]
        return {name for each in found for name in each.all_active()}

    def _own(self, kind: Kind, app: AppKey, name: str) -> Object | None:
        """The object as it is now, None where there is none. Raises `ForeignObject` where it is not ours."""
        body = self._writer.get(kind, app.namespace, name)
        if body is None:
            return None
        if not self._memory.version(kind, app.namespace, name):
            self._memory.found(kind, app, name)
        owner = app_owner_of(app_state(body), app, self._us) if kind == APPS else owner_of(kind, meta_of(body), app)
        if owner:
            raise ForeignObject(owner)
        return body

    def _existing(self, kind: Kind, app: AppKey, name: str) -> Object:
        body = self._own(kind, app, name)
        if body is None:
            raise WorldChanged(f"{kind.called(app.namespace, name)} is gone")
        return body

    def _uid(self, app: AppKey) -> str:
        state = self._reader.app(app)
        if state is None:
            raise WorldChanged(f"{APPS.called(app.namespace, app.name)} is gone")
        return state.meta.uid

    def _service(self, app: AppKey, config: AppConfig | None, action: ApplyService | SwitchTraffic) -> Object:
        known = dict(snapshots(config, self._reader.replica_sets(app)))
        uid, digest = self._uid(app), short(action.digest)
        return desired_service(app, uid, action.name, digest, config, known, action.ports)

    def _settle_service(self, answer: Object, manifest: Object) -> None:
        state = service_state(answer)
        plain = {key: value for key, value in manifest["metadata"].items() if key != "resourceVersion"}
        intent = {**manifest, "metadata": plain}
        if service_drifted(state, intent):
            self._settled.add(state, intent_of(intent))


def _known(config: AppConfig | None) -> AppConfig:
    if config is None or config.spec is None:
        raise Refused("there is no valid app.yaml to apply")
    return config

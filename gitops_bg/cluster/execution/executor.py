"""Carries out one `ClusterAction` at a time, as the core decided. The safeguards are here and behind the ports.

Before a write that traffic depends on, the objects are read live; where they have changed since the decision, it raises
`WorldChanged` and the next pass looks again (DESIGN §5, I1 and I2). Copies of the ConfigMaps and Secrets that pods use
are made of the content in Git's files, which goes only to the API server. Of workloads that are not ours it writes one
thing: the number of pods of the Deployment that an app was adopted from, and none goes while live traffic may reach it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import assert_never

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.errors import Forbidden, NotFound, grant_for_secrets
from gitops_bg.cluster.api.kinds import APPS, CONFIGURATION, DEPLOYMENTS, SECRETS, Kind, Object
from gitops_bg.cluster.execution.auxiliary import AuxiliaryWriter
from gitops_bg.cluster.execution.writer import Guards, Writer, let_go
from gitops_bg.cluster.manifests.patches import disown
from gitops_bg.cluster.manifests.render import app_manifest, configuration_manifest
from gitops_bg.cluster.observation.additions import AppliedStates, intent_of
from gitops_bg.cluster.observation.observe import app_drifted
from gitops_bg.cluster.observation.on_demand import Pods, pod_labels
from gitops_bg.cluster.observation.ownership import Ownership
from gitops_bg.cluster.observation.project import app_state, snapshot_in
from gitops_bg.cluster.observation.reader import Reader
from gitops_bg.cluster.observation.states import ReplicaSetState, State, meta_of
from gitops_bg.cluster.ports import Entries, Spare, TrafficRouter, Workloads
from gitops_bg.core import names
from gitops_bg.core.dataclass import dataclass
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
    HandBack,
    MarkService,
    PointPreview,
    RepairSelector,
    ScaleDeployment,
    ScaleReplicaSet,
    SwitchTraffic,
    SyncPodMetadata,
)
from gitops_bg.core.model.drift import ActionResult, Change, ChangeSetEntry
from gitops_bg.core.model.spec import DeletionPolicy
from gitops_bg.core.model.version import AppKey, ConfigurationRef
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.manifests.configuration import Configuration, configuration_of, find


class Copies:
    """The copies of one cluster.

    ``own`` reads an object live and raises where it is not ours; ``uid`` returns the app's.
    """

    def __init__(
        self,
        reader: Reader,
        writer: Writer,
        own: Callable[[Kind, AppKey, str], Object | None],
        uid: Callable[[AppKey], str],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._own = own
        self._uid = uid

    def carry_out(
        self, app: AppKey, config: AppConfig | None, action: ApplyConfiguration | DeleteConfiguration
    ) -> tuple[ChangeSetEntry, ...]:
        """Carry out the action, or raise as `Executor.carry_out`; a refusal to access Secrets says who grants the
        right.
        """
        try:
            match action:
                case ApplyConfiguration():
                    return self._apply(app, config, action)
                case DeleteConfiguration():
                    return self._delete(app, action)
            assert_never(action)
        except Forbidden as error:
            if SECRETS.plural not in str(error):
                raise
            grant = grant_for_secrets(app.namespace)
            raise Forbidden(f"the agent may not copy the Secrets of {app}: {grant}; {error}") from error

    def _apply(self, app: AppKey, config: AppConfig | None, action: ApplyConfiguration) -> tuple[ChangeSetEntry, ...]:
        """Apply a copy. One with other content is recreated: an immutable object cannot be changed."""
        held = find(config.configuration if config else (), action.ref)
        if held is None:
            raise WorldChanged(f"Git no longer has what {action.name} is to hold")
        kind = CONFIGURATION[action.ref.kind]
        existing = self._own(kind, app, action.name)
        if existing is not None and "deletionTimestamp" in existing["metadata"]:
            raise WorldChanged(f"{kind.name} {action.name} is still being deleted")
        manifest = configuration_manifest(app, self._uid(app), held)
        drift = self._writer.drift(kind, existing, manifest)
        gone: tuple[ChangeSetEntry, ...] = ()
        if existing is not None and content_of(action.ref, existing).ref != action.ref:
            gone, existing = (self._make_room(kind, existing),), None
        return (*gone, replace(self._writer.apply(kind, manifest, existing).entry, drift=drift))

    def _make_room(self, kind: Kind, existing: Object) -> ChangeSetEntry:
        deleted = self._writer.delete(kind, existing)
        if existing["metadata"].get("finalizers"):
            raise WorldChanged(f"{kind.name} {existing['metadata']['name']} is kept by a finalizer")
        return deleted

    def _delete(self, app: AppKey, action: DeleteConfiguration) -> tuple[ChangeSetEntry, ...]:
        used = (ref for state in self._reader.replica_sets(app) for ref in snapshot_in(state).configuration)
        if (action.kind, action.name) in {(ref.kind, names.configuration_name(app, ref)) for ref in used}:
            raise WorldChanged(f"a ReplicaSet uses {action.kind} {action.name}")
        kind = CONFIGURATION[action.kind]
        body = self._own(kind, app, action.name)
        return (self._writer.delete(kind, body),) if body is not None else ()

    def held(self, app: AppKey, ref: ConfigurationRef) -> Configuration:
        """Return the content of a live copy, where it is that of ``ref``. Raises `NotFound`, and as
        `Executor.carry_out`.
        """
        name = names.configuration_name(app, ref)
        body = self._writer.get(CONFIGURATION[ref.kind], app.namespace, name)
        held = content_of(ref, body) if body is not None else None
        if held is None or held.ref != ref:
            raise NotFound(f"the cluster has no copy of {ref} as {app} had it")
        return held


def content_of(ref: ConfigurationRef, body: Object) -> Configuration:
    """Return the content of a live object, under the name of its original in Git."""
    return configuration_of(ref.kind, ref.name, body)


WorkloadAction = CreateReplicaSet | ScaleReplicaSet | SyncPodMetadata | DeleteReplicaSet
RouteAction = RepairSelector | ApplyService | PointPreview | SwitchTraffic | MarkService | HandBack


@dataclass(frozen=True, slots=True)
class Parts:
    """What the executor writes through."""

    router: TrafficRouter
    workloads: Workloads
    pods: Pods
    auxiliary_objects: AuxiliaryWriter
    deployments: Callable[[AppKey, ScaleDeployment, Spare], Entries]


class Executor:
    """Carries out actions in one cluster. Thread-safe as long as each app has one thread at a time."""

    def __init__(
        self, reader: Reader, writer: Writer, guards: Guards, settled: AppliedStates, parts: Parts, us: Ownership
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._guards = guards
        self._settled = settled
        self._parts = parts
        self._us = us
        self.copies = Copies(reader, writer, guards.own, guards.uid)

    def carry_out(
        self, app: AppKey, config: AppConfig | None, action: ClusterAction, decided_on: str = ""
    ) -> ActionResult:
        """Carry out an action and return what it wrote to, or raise: `WorldChanged`, `Transient`, `Refused`,
        `InvalidInput`.

        ``config`` is None once the folder of the app has left main. With ``decided_on``, traffic moves only while the
        BlueGreenDeployment is still at that resourceVersion: another agent may have decided otherwise since.
        """
        return ActionResult(action, self._written(app, config, action, decided_on))

    def _written(self, app: AppKey, config: AppConfig | None, action: ClusterAction, decided_on: str) -> Entries:
        match action:
            case ApplyApp() | DeleteApp():
                written = self._change_app(app, config, action)
            case ApplyConfiguration() | DeleteConfiguration():
                written = self.copies.carry_out(app, config, action)
            case CreateReplicaSet() | ScaleReplicaSet() | SyncPodMetadata() | DeleteReplicaSet():
                written = self._change_workload(app, config, action)
            case EvictPod():
                written = self._parts.pods.evict(app.namespace, action.name, action.uid)
            case RepairSelector() | ApplyService() | PointPreview() | SwitchTraffic() | MarkService() | HandBack():
                written = self._change_route(app, config, action, decided_on)
            case ScaleDeployment():
                written = self._parts.deployments(app, action, partial(self._refuse_if_serving, app, config))
            case ApplyAuxiliaryObject() | DeleteAuxiliaryObject():
                written = self._parts.auxiliary_objects.carry_out(app, self._guards.uid(app), config, action)
            case _:
                assert_never(action)
        return written

    def _change_workload(self, app: AppKey, config: AppConfig | None, action: WorkloadAction) -> Entries:
        workloads, alone = self._parts.workloads, isinstance(action, ScaleReplicaSet) and action.unpromoted
        spare = partial(self._refuse_if_serving, app, config, alone=alone)
        match action:
            case CreateReplicaSet():
                written = workloads.create(app, action, config.selector if config else {})
            case ScaleReplicaSet():
                written = workloads.scale(app, action, spare)
            case SyncPodMetadata():
                written = workloads.sync_pod_metadata(app, action)
            case DeleteReplicaSet():
                written = workloads.delete(app, action, spare)
            case _:
                assert_never(action)
        return written

    def _change_route(self, app: AppKey, config: AppConfig | None, action: RouteAction, decided_on: str) -> Entries:
        router = self._parts.router
        match action:
            case RepairSelector():
                written = router.repair(app, action, decided_on)
            case ApplyService():
                written = router.apply(app, config, action, decided_on)
            case PointPreview():
                written = router.point(app, config, action)
            case SwitchTraffic():
                self._parts.workloads.require_available(app, action.number, action.digest, action.needs_available)
                written = router.switch(app, config, action, decided_on)
            case MarkService():
                written = router.mark(app, config, action, decided_on)
            case HandBack():
                written = router.hand_back(app, action, decided_on)
            case _:
                assert_never(action)
        return written

    def _refuse_if_serving(
        self, app: AppKey, config: AppConfig | None, name: str, labels: Mapping[str, str], *, alone: bool = False
    ) -> None:
        """Check I2 live: raise where a route of live traffic leads to these pods, or, with ``alone``, to them alone."""
        route = self._parts.router.serving(app, config, labels, alone=alone)
        if route:
            raise WorldChanged(f"the active Service {route} selects {name}")

    def _change_app(self, app: AppKey, config: AppConfig | None, action: ApplyApp | DeleteApp) -> Entries:
        return self._apply_app(app, config) if isinstance(action, ApplyApp) else self._delete_app(app, config, action)

    def _apply_app(self, app: AppKey, config: AppConfig | None) -> Entries:
        manifest = app_manifest(app, _known(config).body, self._us)
        live = self._guards.own(APPS, app, app.name)
        written = self._writer.apply(APPS, manifest, live, force=True)
        state = app_state(written.body)
        if app_drifted(state, manifest):
            self._settled.add(state, intent_of(manifest))
        return (written.entry,)

    def _refuse_if_reached(self, app: AppKey, config: AppConfig | None, uid: str) -> None:
        """Check I2 live for all versions with pods: raise where an active Service selects them, or its endpoints still
        lead to them.
        """
        for kind, state in self._parts.workloads.owned(app, uid):
            has_pods = isinstance(state, ReplicaSetState) and (state.replicas or state.pods)
            live = self._guards.own(kind, app, state.meta.name) if has_pods else None
            if live is None:
                continue
            labels = live["spec"]["template"]["metadata"].get("labels") or {}
            self._refuse_if_serving(app, config, state.meta.name, labels)
            if service := self._parts.router.reaching(app, config, labels.get(names.DIGEST, "")):
                raise WorldChanged(f"the endpoints of the active Service {service} still lead to {state.meta.name}")

    def _delete_app(self, app: AppKey, config: AppConfig | None, action: DeleteApp) -> Entries:
        """Delete it, after its objects are let go: to go with it, or to stay. Dying in between is no harm: those that
        are let go already are not found again. One with another name only while no request reaches it.
        """
        body = self._guards.own(APPS, app, app.name)
        if body is None:
            return ()
        uid, stays = body["metadata"]["uid"], action.policy is DeletionPolicy.ORPHAN
        if action.moved_to:
            self._refuse_if_reached(app, config, uid)
        release = partial(disown, app_uid=uid) if stays else let_go
        freed = [
            entry
            for kind, state in self._kept_beyond(app, uid, action.services)
            for entry in self._let_go(app, kind, state, release)
        ]
        freed.extend(self._parts.auxiliary_objects.disown(app, uid, action.auxiliary_objects))
        freed.extend(self._parts.auxiliary_objects.let_route_go(app, body))
        return (*freed, self._writer.delete(APPS, body))

    def _kept_beyond(self, app: AppKey, uid: str, former: Sequence[str]) -> list[tuple[Kind, State]]:
        """Return objects that would outlive the BlueGreenDeployment, because the namespace owns them as well; Services
        first: what they select stays ours for as long as they are.
        """
        copies = (each for each in self._reader.copies(app, in_use=True).states if uid in each.meta.owners)
        found = [*self._parts.router.owned(app, uid, former), *self._parts.workloads.owned(app, uid)]
        return [*found, *((CONFIGURATION[each.kind], each) for each in copies)]

    def _let_go(self, app: AppKey, kind: Kind, state: State, release: Callable[[Object], list[Object]]) -> Entries:
        live = self._guards.own(kind, app, state.meta.name)
        operations = release(live) if live is not None else []
        return (self._writer.json_patch(kind, app.namespace, state.meta.name, operations).entry,) if operations else ()


def _known(config: AppConfig | None) -> AppConfig:
    if config is None or config.spec is None:
        raise Refused("there is no valid app.yaml to apply")
    return config


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

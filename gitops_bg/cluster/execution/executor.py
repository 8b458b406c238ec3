"""Carries out one `ClusterAction` at a time, as the core decided. The safeguards are here and behind the ports.

Before a write that traffic depends on, the objects are read live; where they have changed since the decision, it raises
`WorldChanged` and the next pass looks again (DESIGN §5, I1 and I2).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import assert_never

from gitops_bg.cluster.api.kinds import APPS, CONFIGURATION, Kind, Object
from gitops_bg.cluster.execution.anchors import let_go
from gitops_bg.cluster.execution.auxiliary import AuxiliaryObjects
from gitops_bg.cluster.execution.configuration_copies import Copies
from gitops_bg.cluster.execution.guards import Guards
from gitops_bg.cluster.execution.writer import Writer
from gitops_bg.cluster.manifests.patches import disown
from gitops_bg.cluster.manifests.render import (
    app_manifest,
)
from gitops_bg.cluster.observation.applied_states import AppliedStates, intent_of
from gitops_bg.cluster.observation.observe import app_drifted
from gitops_bg.cluster.observation.on_demand.pods import Pods
from gitops_bg.cluster.observation.ownership import Ownership
from gitops_bg.cluster.observation.project import app_state
from gitops_bg.cluster.observation.reader import Reader
from gitops_bg.cluster.observation.states import ReplicaSetState, State
from gitops_bg.cluster.ports import Entries, Spare, TrafficRouter, Workloads
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
    HandBack,
    MarkService,
    PointPreview,
    RepairSelector,
    ScaleDeployment,
    ScaleReplicaSet,
    SwitchTraffic,
    SyncPodMetadata,
)
from gitops_bg.core.model.drift import ActionResult
from gitops_bg.core.model.spec import DeletionPolicy
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.load import AppConfig

WorkloadAction = CreateReplicaSet | ScaleReplicaSet | SyncPodMetadata | DeleteReplicaSet
RouteAction = RepairSelector | ApplyService | PointPreview | SwitchTraffic | MarkService | HandBack


@dataclass(frozen=True, slots=True)
class Parts:
    """What the executor writes through."""

    router: TrafficRouter
    workloads: Workloads
    pods: Pods
    auxiliary_objects: AuxiliaryObjects
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
        """Objects that would outlive the BlueGreenDeployment, because the namespace owns them as well; Services first:
        what they select stays ours for as long as they are.
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

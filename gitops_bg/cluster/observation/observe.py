"""From the states of an app's live objects to `core.model.observed`: what the core decides on. Pure.

Git's part (``Observed.git``) is filled in by the agent. Nothing here says what to do about a drift.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from gitops_bg.cluster.api.kinds import CONFIGURATION, REPLICA_SETS, SERVICES, Object
from gitops_bg.cluster.execution.anchors import Anchors
from gitops_bg.cluster.execution.auxiliary import AuxiliaryObjects
from gitops_bg.cluster.manifests import ephemeral_metadata
from gitops_bg.cluster.manifests.operator_requests import request_of
from gitops_bg.cluster.manifests.render import app_manifest, digest_in, service_manifest
from gitops_bg.cluster.manifests.services import (
    desired_service_if_known,
    former_names,
    git_says,
    service_names,
    snapshots,
)
from gitops_bg.cluster.observation.applied_states import AppliedStates, intent_of
from gitops_bg.cluster.observation.drift import contains, ports_are
from gitops_bg.cluster.observation.ownership import NOBODYS, Allegiance, app_owner_of, claim_on, owner_of
from gitops_bg.cluster.observation.pods import Pods
from gitops_bg.cluster.observation.project import snapshot_in
from gitops_bg.cluster.observation.reader import Reader
from gitops_bg.cluster.observation.states import (
    AppState,
    ConfigurationState,
    Copied,
    Meta,
    ReplicaSetState,
    ServiceState,
    SliceState,
)
from gitops_bg.core import names
from gitops_bg.core.checks.ports import choose, sources_of, written
from gitops_bg.core.errors import Refused
from gitops_bg.core.model.desired import Desired, Missing
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.observed import (
    AuxiliaryView,
    ConfigurationView,
    Observed,
    PodView,
    ReplicaSetView,
    ServiceView,
)
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey, Color, Version
from gitops_bg.core.text.foreign_json import reread_json
from gitops_bg.spec.app.load import AppConfig

_S = TypeVar("_S", AppState, ServiceState)


@dataclass(frozen=True, slots=True)
class Contents:
    """The live objects of one app, as states."""

    app: AppState | None = None
    replica_sets: tuple[ReplicaSetState, ...] = ()
    services: Mapping[str, ServiceState] = field(default_factory=dict)
    slices: tuple[SliceState, ...] = ()
    auxiliary_objects: tuple[AuxiliaryView, ...] = ()
    pods: tuple[PodView, ...] | None = None
    pods_refused: str = ""
    copies: Copied = field(default_factory=Copied)
    namespace_uid: str = ""
    """Of the second owner of what is to outlive the BlueGreenDeployment; empty where it cannot be known."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where `gather` looks: most of it is in caches, the rest is asked for only where an app needs it."""

    reader: Reader
    pods: Pods
    auxiliary_objects: AuxiliaryObjects
    anchors: Anchors


def gather(sources: Sources, app: AppKey, config: AppConfig | None, record: Record) -> Contents:
    """Read what `observe` needs; the only step that may ask the server."""
    reader = sources.reader
    state = reader.app(app)
    names = (*service_names(config, state).all(), *former_names(config, state, record))
    found = {name: reader.service(app.namespace, name) for name in names}
    services = {name: service for name, service in found.items() if service is not None}
    copies = reader.copies(app, in_use=_uses_configuration(config, record))
    uid = state.meta.uid if state is not None else ""
    beside, anchor = sources.auxiliary_objects.views(app, uid, config, record), sources.anchors.uid(app.namespace, uid)
    sets, slices = reader.replica_sets(app), reader.slices(app)
    contents = Contents(state, sets, services, slices, beside, copies=copies, namespace_uid=anchor)
    return (
        _with_pods(contents, sources.pods, app)
        if record.operator.restart and record.operator.restart.begun
        else contents
    )


def _uses_configuration(config: AppConfig | None, record: Record) -> bool:
    in_git = config is not None and bool(config.configuration)
    return in_git or any(version.snapshot.configuration for version in record.versions)


def _with_pods(contents: Contents, pods: Pods, app: AppKey) -> Contents:
    """With the pods, for a restart. Who may not list them can do without: nothing else depends on it."""
    try:
        return replace(contents, pods=pods.views(app))
    except Refused as error:
        return replace(contents, pods_refused=str(error))


def observe(
    app: AppKey,
    contents: Contents,
    config: AppConfig | None,
    record: Record,
    settled: AppliedStates | None = None,
    us: Allegiance = NOBODYS,
) -> Observed:
    """What Kubernetes shows of ``app``, compared with ``config`` (None: its folder left main)."""
    look = _Look(app, contents, config, record, settled or AppliedStates(), us)
    wanted = service_names(config, contents.app)
    return Observed(
        app_uid=look.uid,
        app_drifted=look.app_drifted(),
        app_going=look.going,
        app_foreign=app_owner_of(contents.app, app, us) if contents.app is not None else "",
        app_claimed=claim_on(contents.app, app) if contents.app is not None else "",
        replica_sets=tuple(look.replica_set(state) for state in contents.replica_sets),
        configurations=tuple(look.copy(state) for state in contents.copies.states if state.of),
        unlisted=contents.copies.unlisted,
        active_service=look.service(wanted.active),
        more_active_services=tuple(view for name in wanted.more_active if (view := look.service(name))),
        former_services=tuple(
            view for name in former_names(config, contents.app, record) if (view := look.service(name))
        ),
        preview_service=look.service(wanted.preview),
        auxiliary_objects=contents.auxiliary_objects,
        pods=contents.pods,
        pods_refused=contents.pods_refused,
        request=request_of(contents.app.request) if contents.app is not None else None,
    )


def app_drifted(state: AppState, manifest: Object) -> bool:
    """Whether a BlueGreenDeployment differs from its manifest, also by a field that left Git."""
    labelled = (state.meta.manager, state.meta.app) == (names.MANAGER, manifest["metadata"]["labels"][names.APP])
    wanted = manifest["metadata"].get("annotations") or {}
    says = not wanted or wanted == {names.REPOSITORY: state.repository, names.CLUSTER: state.cluster}
    live = reread_json(state.spec)
    return not (labelled and says and contains(live, manifest["spec"]) and contains(manifest["spec"], live))


def service_drifted(state: ServiceState, manifest: Object) -> bool:
    """Whether a Service differs from its manifest, the selector apart; also by a port that left Git."""
    live = reread_json(state.content)
    if not ports_are(live["spec"].get("ports") or (), manifest["spec"].get("ports") or ()):
        return True
    spec = {key: value for key, value in manifest["spec"].items() if key != "selector"}
    metadata = {key: manifest["metadata"].get(key) for key in ("labels", "annotations", "ownerReferences")}
    return not contains(live["metadata"], metadata) or not contains(live["spec"], spec)


@dataclass(frozen=True, slots=True)
class _Look:
    """One look at one app."""

    app: AppKey
    contents: Contents
    config: AppConfig | None
    record: Record
    settled: AppliedStates
    us: Allegiance

    @property
    def uid(self) -> str:
        return self.contents.app.meta.uid if self.contents.app is not None else ""

    @property
    def going(self) -> bool:
        """Somebody deletes the BlueGreenDeployment: nothing is given to an owner that goes."""
        return self.contents.app is not None and self.contents.app.meta.deleting

    def app_drifted(self) -> bool:
        state = self.contents.app
        if state is None or self.going or self.config is None or self.config.spec is None:
            return False
        manifest = app_manifest(self.app, self.config.body, self.us)
        return self._unsettled(state, manifest, app_drifted)

    def replica_set(self, state: ReplicaSetState) -> ReplicaSetView:
        version = self._version(state)
        digest = state.full_digest if version is None else version.digest
        owner = owner_of(REPLICA_SETS, state.meta, self.app)
        worn = ephemeral_metadata.read(state.worn)
        return ReplicaSetView(
            name=state.meta.name,
            snapshot=replace(snapshot_in(state), digest=digest),
            replicas=state.replicas,
            available=state.available,
            number=int(state.number) if state.number.isdecimal() else 0,
            color=Color(state.color) if state.color in set(Color) else None,
            ours=not owner,
            owner=owner,
            deleting=state.meta.deleting,
            min_ready_seconds=state.min_ready_seconds,
            drifted=self._replica_set_drifted(state, version),
            pods=state.pods,
            ready=state.ready,
            failure=state.failure,
            metadata=worn.metadata,
            undressed=worn.pending and state.seen,
        )

    def copy(self, state: ConfigurationState) -> ConfigurationView:
        owner = owner_of(CONFIGURATION[state.kind], state.meta, self.app)
        return ConfigurationView(
            kind=state.kind,
            name=state.meta.name,
            digest=state.digest,
            ours=not owner,
            owner=owner,
            deleting=state.meta.deleting,
            drifted=not (state.immutable and self._labelled(state.meta) and self._controlled(state.meta)),
        )

    def service(self, name: str | None) -> ServiceView | None:
        state = self.contents.services.get(name) if name else None
        if state is None:
            return None
        owner = owner_of(SERVICES, state.meta, self.app)
        digest = digest_in(self.app, dict(state.selector))
        content = reread_json(state.content)
        ports = content["spec"].get("ports") or []
        view = ServiceView(
            name=state.meta.name,
            digest=digest,
            selector=state.selector,
            ours=not owner,
            owner=owner,
            ready_endpoints=self._ready(state.meta.name, ports),
            other_endpoints=self._has_others(state.meta.name, digest),
            ports=written(ports),
            withdrawn=(content["metadata"].get("annotations") or {}).get(names.WITHDRAWN, ""),
        )
        return view if owner else replace(view, drifted=self._service_drifted(state, view))

    def _version(self, state: ReplicaSetState) -> Version | None:
        """The version a ReplicaSet runs: by its annotation, else (where somebody wrote into that) by its name."""
        known = self.record.version(state.full_digest) if state.full_digest else None
        by_name = (each for each in self.record.versions if self._name(each) == state.meta.name)
        return known or next(by_name, None)

    def _name(self, version: Version) -> str:
        return names.replica_set_name(self.app, version.digest)

    def _replica_set_drifted(self, state: ReplicaSetState, version: Version | None) -> bool:
        if self.settled.covers(state, ()):
            return False
        labelled = version is None or (state.color, state.number) == (version.color, str(version.number))
        ours = self._labelled(state.meta) and self._controlled(state.meta)
        return not (state.intact and ours and labelled)

    def _labelled(self, meta: Meta) -> bool:
        return (meta.manager, meta.app) == (names.MANAGER, names.app_label(self.app))

    def _controlled(self, meta: Meta) -> bool:
        """By our object, and held by the namespace, too."""
        if not self.uid or self.going:
            return True
        controller, anchor = meta.controller, self.contents.namespace_uid
        return controller is not None and controller.uid == self.uid and (not anchor or anchor in meta.owners)

    def _service_drifted(self, state: ServiceState, view: ServiceView) -> bool:
        if not self.uid or self.going:
            return False
        if not self._controlled(state.meta):
            return True
        name, known = state.meta.name, snapshots(self.config, self.contents.replica_sets)
        ports = self._ports(view, known.get(view.digest, ""))
        if not git_says(self.config, name):
            as_it_is = reread_json(state.content)
            manifest = service_manifest(self.app, self.uid, name, view.digest, as_it_is, "", ports or view.ports)
            return service_drifted(state, manifest)
        wanted = desired_service_if_known(self.app, self.uid, name, view.digest, self.config, known, ports)
        return wanted is not None and self._unsettled(state, wanted, service_drifted)

    def _ports(self, view: ServiceView, template: str) -> str:
        """The ports that a Service is to have with the version that it selects; empty for one that nobody knows."""
        version = next((each for each in self.record.versions if short(each.digest) == view.digest), None)
        if version is None or self.config is None or self.config.spec is None:
            return ""
        is_preview = view.name == self.config.spec.strategy.preview_service
        routed = self.record.routing.preview if is_preview else self.record.routing.traffic
        full = replace(version, snapshot=replace(version.snapshot, text=template))
        target, primary = self.config.target or Missing.UNREADABLE, self.config.primary or Missing.UNREADABLE
        desired = Desired("", target, primary, ports=self.config.ports)
        return choose(sources_of(desired, full, view.name, view, serving=routed == version.digest))

    def _unsettled(self, state: _S, manifest: Object, drifted: Callable[[_S, Object], bool]) -> bool:
        return drifted(state, manifest) and not self.settled.covers(state, intent_of(manifest))

    def _has_others(self, service: str, digest: str) -> bool:
        ours = names.pod_base(self.app, digest)
        return any(base != ours for each in self.contents.slices if each.service == service for base in each.bases)

    def _ready(self, service: str, ports: list[Object]) -> int:
        """The pods that get the traffic of every port: of the worst port, so many are ready."""
        slices = [each for each in self.contents.slices if each.service == service]
        names = {port.get("name") or "" for port in ports}
        reached = [{pod for each in slices if name in each.ports for pod in each.ready} for name in names]
        return min(map(len, reached)) if reached else len({pod for each in slices for pod in each.ready})

"""From the states of an app's live objects to `core.model.observed`, on which the core decides. Pure.

The agent fills in Git's part (``Observed.git``). Nothing here says what to do about a drift.
"""

from collections.abc import Callable, Iterable
from dataclasses import field, replace
from datetime import datetime
from functools import partial

from gitops_bg.cluster.api.kinds import CONFIGURATION, Object
from gitops_bg.cluster.execution.auxiliary import AuxiliaryWriter
from gitops_bg.cluster.execution.operator_requests import requests_of
from gitops_bg.cluster.execution.writer import Anchors
from gitops_bg.cluster.manifests.render import app_manifest
from gitops_bg.cluster.manifests.services import (
    ServiceNames,
    former_names,
    former_preview,
    route_kind_in,
    service_names,
)
from gitops_bg.cluster.observation.additions import AppliedStates
from gitops_bg.cluster.observation.on_demand import Pods, adopted_from, gives_back_to
from gitops_bg.cluster.observation.ownership import UNOWNED, Ownership, app_owner_of, claim_on, owner_of
from gitops_bg.cluster.observation.reader import Reader
from gitops_bg.cluster.observation.routes import (
    FRESH_SECONDS,
    RECENT_SECONDS,
    ForeignServices,
    Listed,
    ServiceRoutes,
    serves_app,
)
from gitops_bg.cluster.observation.states import (
    AppState,
    ConfigurationState,
    Copied,
    ServiceState,
)
from gitops_bg.cluster.observation.views import AppContext, SeenReplicaSets
from gitops_bg.cluster.ports import SeenWorkloads, TrafficRouter, TrafficRoutes, Workloads
from gitops_bg.core import names
from gitops_bg.core.checks.onboarding import may_be_exposed
from gitops_bg.core.checks.pods import wants_pods
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import Refused, Transient
from gitops_bg.core.foreign_json import reread_json
from gitops_bg.core.model.auxiliary import ROUTES, RivalRoute
from gitops_bg.core.model.digest import without_nulls
from gitops_bg.core.model.observed import (
    AuxiliaryView,
    ConfigurationView,
    DeploymentView,
    Observed,
    PodView,
    ServiceView,
    Successor,
)
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey, WorkloadKind
from gitops_bg.spec.app.load import AppConfig


@dataclass(frozen=True, slots=True)
class Contents:
    """The live objects of one app, as states."""

    app: AppState | None = None
    workloads: SeenWorkloads = field(default_factory=SeenReplicaSets)
    routes: TrafficRoutes = field(default_factory=ServiceRoutes)
    auxiliary_objects: tuple[AuxiliaryView, ...] = ()
    rivals: tuple[RivalRoute, ...] = ()
    """The HTTPRoutes of others, where the app has one."""
    pods: tuple[PodView, ...] | None = None
    pods_refused: str = ""
    copies: Copied = field(default_factory=Copied)
    namespace_uid: str = ""
    """The uid of the namespace as second owner (``execution.writer``); empty where it is unknown."""
    deployment: DeploymentView | None = None
    """What the app was adopted from; None where nobody has to look at it."""
    others: Listed = field(default_factory=Listed)
    """The Services that are not ours, where somebody has to look at them."""
    successor: Successor | None = None
    """The app that has another name by now; None where nobody has to look at it."""
    found: tuple[ServiceState, ...] = ()
    """The Services of the app under any name, where its record begins: no memory says which ones carried traffic."""


@dataclass(frozen=True, slots=True)
class ObservationSources:
    """The sources of `gather`: most are caches, the others are asked only where an app needs them."""

    reader: Reader
    router: TrafficRouter
    workloads: Workloads
    pods: Pods
    auxiliary_objects: AuxiliaryWriter
    anchors: Anchors
    deployment: Callable[[AppKey, str], DeploymentView]
    foreign_services: ForeignServices


def gather(
    sources: ObservationSources, app: AppKey, config: AppConfig | None, record: Record, now: datetime | None = None
) -> Contents:
    """Read what `observe` needs; the only step that may ask the server. ``now`` None: nobody asks why pods are late."""
    reader = sources.reader
    state = reader.app(app)
    found = () if record.epoch else reader.services(app)
    named, former = service_names(config, state).all(), former_names(config, state, record, found)
    names = (*named, *(each for each in former if each not in named))
    if _runs_on_every_node(config, record):
        _follow_daemon_sets(reader, app, record)
    adopting, returning = _may_claim_services(config, record), _goes_back(config, record)
    routes = sources.router.current(app, names, adopting=adopting, returning=returning)
    copies = reader.copies(app, in_use=_uses_configuration(config, record))
    uid = state.meta.uid if state is not None else ""
    beside = sources.auxiliary_objects.views(app, uid, config, record, lost=bool(found))
    anchor = sources.anchors.uid(app, uid)
    adopted = adopted_from(config, record)
    deployment = sources.deployment(app, adopted) if adopted else None
    contents = Contents(
        state,
        sources.workloads.current(app),
        routes,
        beside,
        sources.auxiliary_objects.rivals(app, config),
        copies=copies,
        namespace_uid=anchor,
        deployment=deployment,
        others=_others(sources.foreign_services, app, config, record),
        successor=_successor(sources, app, service_names(config, state).all_active(), record),
        found=found,
    )
    return _with_pods(contents, sources.pods, app) if wants_pods(record, now) else contents


def _may_claim_services(config: AppConfig | None, record: Record) -> bool:
    """Return whether Services that are not ours matter: the app agrees to take them over, or hands them back."""
    spec = config.spec if config is not None else None
    if spec is None:
        return False
    return bool(gives_back_to(config, record)) or (spec.adopt is not None and not record.routing.traffic)


def _goes_back(config: AppConfig | None, record: Record) -> bool:
    """Return whether Services are handed back, or were, and our pods have not gone yet."""
    return bool(record.routing.traffic and gives_back_to(config, record)) and not record.released


def _others(services: ForeignServices, app: AppKey, config: AppConfig | None, record: Record) -> Listed:
    """Return the Services of others, only while the app has pods that they must not have: before it is handed over, and
    while a version is there that nobody promoted. Where they may not be listed, the app goes on.
    """
    spec = config.spec if config is not None else None
    if spec is None or spec.adopt is None or record.routing.traffic:
        return services.of(app.namespace, RECENT_SECONDS) if may_be_exposed(record) else Listed()
    found = services.of(app.namespace, FRESH_SECONDS)
    if isinstance(found.trouble, Transient):
        raise found.trouble
    return found


def _successor(sources: ObservationSources, app: AppKey, services: Iterable[str], record: Record) -> Successor | None:
    """Return whether the app that this one is under a new name has a route; only where this one may have one."""
    routes = (one for one in record.last_read.auxiliary_objects if one.kind in ROUTES)
    own = next((one for one in routes if one.name != names.candidate_route(app)), None)
    if own is None or not record.last_read.moved_to:
        return None
    found = (sources.reader.service(app.namespace, name) for name in services)
    taken = (serves_app(state, app) for state in found if state is not None)
    other = AppKey(app.namespace, next(filter(None, taken), record.last_read.moved_to))
    live = sources.reader.app(other)
    kind = route_kind_in(reread_json(live.spec)) if live is not None else own.kind
    if not kind:
        return Successor(wants_route=False)
    return Successor(True, sources.auxiliary_objects.is_replaced(other, kind, app, own))


def _follow_daemon_sets(reader: Reader, app: AppKey, record: Record) -> None:
    """Have DaemonSets looked at. Where they may not be: unknown is not absent once one was up. Before, whoever creates
    the first one is refused as well, and the app says so.
    """
    try:
        reader.follow_daemon_sets(app.namespace)
    except Refused:
        if any(each.on_every_node and (each.available_since or each.was_active) for each in record.versions):
            raise


def _runs_on_every_node(config: AppConfig | None, record: Record) -> bool:
    named = (config.target, config.primary) if config is not None else ()
    snapshots = [each.snapshot for each in named if each]
    snapshots += [version.snapshot for version in record.versions]
    return any(each.workload is WorkloadKind.DAEMON_SET for each in snapshots)


def _uses_configuration(config: AppConfig | None, record: Record) -> bool:
    in_git = config is not None and bool(config.configuration)
    return in_git or any(version.snapshot.configuration for version in record.versions)


def _with_pods(contents: Contents, pods: Pods, app: AppKey) -> Contents:
    """Add the pods, for a restart or a version that is late. An agent that may not list them does without: nothing else
    depends on it.
    """
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
    us: Ownership = UNOWNED,
) -> Observed:
    """Return what Kubernetes shows of ``app``, compared with ``config`` (None: its folder left main)."""
    state, settled = contents.app, settled or AppliedStates()
    look = AppContext(app, state, config, record, settled, contents.namespace_uid, contents.workloads.snapshots())
    wanted = service_names(config, state)
    view = partial(contents.routes.view, look)
    return Observed(
        app_uid=look.uid,
        app_drifted=_is_app_drifted(look, us),
        app_going=look.going,
        app_foreign=app_owner_of(state, app, us) if state is not None else "",
        app_claimed=claim_on(state, app) if state is not None else "",
        replica_sets=contents.workloads.views(look),
        configurations=tuple(_copy(look, each) for each in contents.copies.states if each.of),
        unlisted=contents.copies.unlisted,
        active_service=view(wanted.active) if wanted.active else None,
        more_active_services=tuple(filter(None, map(view, wanted.more_active))),
        former_services=tuple(filter(None, map(view, former_names(config, state, record, contents.found)))),
        former_preview=former_preview(config, state),
        preview_service=view(wanted.preview) if wanted.preview else None,
        other_services=_of_others(contents.others, wanted),
        other_services_refused=str(contents.others.trouble) if isinstance(contents.others.trouble, Refused) else "",
        deployment=contents.deployment,
        successor=contents.successor,
        auxiliary_objects=contents.auxiliary_objects,
        rivals=contents.rivals,
        pods=contents.pods,
        pods_refused=contents.pods_refused,
        requests=requests_of(state.request) if state is not None else (),
    )


def _of_others(listed: Listed, own: ServiceNames) -> tuple[ServiceView, ...] | None:
    """Return those that the app does not name."""
    if listed.services is None:
        return None
    return tuple(view for view in listed.services if view.name not in own.all())


def app_drifted(state: AppState, manifest: Object) -> bool:
    """Return whether a BlueGreenDeployment differs from its manifest, including a field that left Git, whatever its
    value: none, 0, no and nothing at all are not the same.
    """
    labelled = (state.meta.manager, state.meta.app) == (names.MANAGER, manifest["metadata"]["labels"][names.APP])
    wanted = manifest["metadata"].get("annotations") or {}
    says = not wanted or wanted == Ownership(state.repository, state.cluster, state.branch).annotations
    return not (labelled and says and reread_json(state.spec) == without_nulls(manifest["spec"]))


def _is_app_drifted(look: AppContext, us: Ownership) -> bool:
    state = look.state
    if state is None or look.going or look.config is None or look.config.spec is None:
        return False
    return look.unsettled(state, app_manifest(look.app, look.config.body, us), app_drifted)


def _copy(look: AppContext, state: ConfigurationState) -> ConfigurationView:
    owner = owner_of(CONFIGURATION[state.kind], state.meta, look.app)
    return ConfigurationView(
        kind=state.kind,
        name=state.meta.name,
        digest=state.digest,
        ours=not owner,
        owner=owner,
        deleting=state.meta.deleting,
        drifted=not (state.immutable and look.labelled(state.meta) and look.controlled(state.meta)),
    )

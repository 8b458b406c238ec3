"""One look at one app: what its live objects are compared with, and its ReplicaSets as workloads: what each runs, its
name, its progress, and what counts as drift. Pure.

A ReplicaSet keeps the name that it was created with, also when its app is renamed, so the name is looked up by digest.
"""

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import TypeVar

from gitops_bg.cluster.api.kinds import WORKLOADS, Object
from gitops_bg.cluster.manifests import pod_templates
from gitops_bg.cluster.observation.additions import AppliedStates, intent_of
from gitops_bg.cluster.observation.ownership import owner_of
from gitops_bg.cluster.observation.project import snapshot_in
from gitops_bg.cluster.observation.reader import Reader
from gitops_bg.cluster.observation.states import AppState, Meta, ReplicaSetState, ServiceState
from gitops_bg.core import names
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.digest import digest_of
from gitops_bg.core.model.observed import ReplicaSetView
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.spec import Adoption
from gitops_bg.core.model.version import AppKey, Color, Version, WorkloadKind, short
from gitops_bg.spec.app.load import AppConfig

_S = TypeVar("_S", AppState, ServiceState)


@dataclass(frozen=True, slots=True)
class AppContext:
    """What is known of an app besides its workloads and routes. ``config`` None: its folder left main."""

    app: AppKey
    state: AppState | None
    """The BlueGreenDeployment."""
    config: AppConfig | None
    record: Record
    settled: AppliedStates
    namespace_uid: str = ""
    """The uid of the namespace as second owner (``execution.writer``); empty where it is unknown."""
    snapshots: Mapping[str, str] = field(default_factory=dict)
    """The known pod templates, by short digest."""

    @property
    def uid(self) -> str:
        """The uid of the BlueGreenDeployment; empty where there is none."""
        return self.state.meta.uid if self.state is not None else ""

    @property
    def going(self) -> bool:
        """Whether somebody is deleting the BlueGreenDeployment: it must not become an owner then."""
        return self.state is not None and self.state.meta.deleting

    @property
    def adopt(self) -> Adoption | None:
        """What the app's file agrees to take over."""
        return self.config.spec.adopt if self.config is not None and self.config.spec is not None else None

    def labelled(self, meta: Meta) -> bool:
        """Return whether an object has our labels."""
        return (meta.manager, meta.app) == (names.MANAGER, names.app_label(self.app))

    def controlled(self, meta: Meta) -> bool:
        """Return whether our object controls it, and the namespace is its second owner."""
        if not self.uid or self.going:
            return True
        controller, anchor = meta.controller, self.namespace_uid
        return controller is not None and controller.uid == self.uid and (not anchor or anchor in meta.owners)

    def unsettled(self, state: _S, manifest: Object, drifted: Callable[[_S, Object], bool]) -> bool:
        """Return whether it drifted, beyond how the server normalised our last apply."""
        return drifted(state, manifest) and not self.settled.covers(state, intent_of(manifest))


@dataclass(frozen=True, slots=True)
class SeenReplicaSets:
    """The ReplicaSets of an app; the `ports.SeenWorkloads` of ReplicaSets."""

    states: tuple[ReplicaSetState, ...] = ()

    def views(self, look: AppContext) -> tuple[ReplicaSetView, ...]:
        """Return the view of each ReplicaSet, compared with its version in the record."""
        return tuple(_view(look, state) for state in self.states)

    def snapshots(self) -> Mapping[str, str]:
        """Return the snapshots in their annotations, by short digest."""
        return {short(state.full_digest): state.snapshot for state in self.states if state.snapshot}


def _view(look: AppContext, state: ReplicaSetState) -> ReplicaSetView:
    version = _version(look, state)
    digest = _claimed(look.app, state) if version is None else version.digest
    owner = owner_of(WORKLOADS[state.workload], state.meta, look.app)
    worn = pod_templates.read_metadata(state.worn)
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
        drifted=_drifted(look, state, version),
        pods=state.pods,
        ready=state.ready,
        failure=state.failure,
        metadata=worn.metadata,
        pods_outdated=worn.pending and state.seen,
        metadata_pending=worn.pending,
    )


def _version(look: AppContext, state: ReplicaSetState) -> Version | None:
    """Return the version that a ReplicaSet runs."""
    return next((each for each in look.record.versions if runs(look.app, state, each.digest)), None)


def _claimed(app: AppKey, state: ReplicaSetState) -> str:
    """Return the digest that a ReplicaSet of no known version runs: that of its own text where its name confirms it,
    else its annotation's, which may be gone, or that of another version.

    The short one of its name where neither fits: it says which pods these are, and is no version's digest.
    """
    named, of_text = names.short_digest_in(app, state.meta.name), _digest_of_text(state)
    if not named:
        return state.full_digest or of_text
    return next((each for each in (of_text, state.full_digest) if short(each) == named), named)


def _digest_of_text(state: ReplicaSetState) -> str:
    """Return the digest of a ReplicaSet's snapshot, as far as anybody can compute it."""
    snapshot = snapshot_in(state)
    try:
        return digest_of(snapshot.text, snapshot.configuration, snapshot.workload) if snapshot.text else ""
    except ValueError:
        return ""


def runs(app: AppKey, state: ReplicaSetState, digest: str) -> bool:
    """Return whether a ReplicaSet runs the version of a digest: by its name, which nobody can change, as it cannot the
    selector of its pods; by its annotation where the name says nothing of a version.
    """
    named = names.short_digest_in(app, state.meta.name)
    return named == short(digest) if named else state.full_digest == digest


def _drifted(look: AppContext, state: ReplicaSetState, version: Version | None) -> bool:
    if look.settled.covers(state, ()):
        return False
    labelled = version is None or (state.color, state.number) == (version.color, str(version.number))
    ours = look.labelled(state.meta) and look.controlled(state.meta)
    return not (state.intact and ours and labelled)


def workload_of(reader: Reader, app: AppKey, digest: str) -> WorkloadKind:
    """Return what runs a version: what the live object is."""
    found = (each.workload for each in reader.replica_sets(app) if runs(app, each, digest))
    return next(found, WorkloadKind.REPLICA_SET)


def live_name(reader: Reader, app: AppKey, number: int, digest: str) -> str:
    """Return the name of the ReplicaSet of a version: of ours that exists, else the one that it is created with.

    One that is being deleted counts last, as for the core (``checks.versions.live_name``).
    """
    found = (each for each in reader.replica_sets(app) if runs(app, each, digest))
    ours = [each.meta for each in found if not owner_of(WORKLOADS[each.workload], each.meta, app)]
    first = min(ours, key=lambda meta: meta.deleting, default=None)
    return first.name if first else names.replica_set_name(app, number, digest)

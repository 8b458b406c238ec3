"""ReplicaSets as the workloads of an app: what each runs, its progress, and what counts as drift. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gitops_bg.cluster.api.kinds import WORKLOADS
from gitops_bg.cluster.manifests import ephemeral_metadata
from gitops_bg.cluster.observation.look import AppContext
from gitops_bg.cluster.observation.ownership import owner_of
from gitops_bg.cluster.observation.project import snapshot_in
from gitops_bg.cluster.observation.states import ReplicaSetState
from gitops_bg.core import names
from gitops_bg.core.model.digest import digest_of, short
from gitops_bg.core.model.observed import ReplicaSetView
from gitops_bg.core.model.version import AppKey, Color, Version


@dataclass(frozen=True, slots=True)
class SeenReplicaSets:
    """The ReplicaSets of an app; the `ports.SeenWorkloads` of ReplicaSets."""

    states: tuple[ReplicaSetState, ...] = ()

    def views(self, look: AppContext) -> tuple[ReplicaSetView, ...]:
        """The view of each ReplicaSet, compared with its version in the record."""
        return tuple(_view(look, state) for state in self.states)

    def snapshots(self) -> Mapping[str, str]:
        """The snapshots in their annotations, by short digest."""
        return {short(state.full_digest): state.snapshot for state in self.states if state.snapshot}


def _view(look: AppContext, state: ReplicaSetState) -> ReplicaSetView:
    version = _version(look, state)
    digest = _claimed(look.app, state) if version is None else version.digest
    owner = owner_of(WORKLOADS[state.workload], state.meta, look.app)
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
        drifted=_drifted(look, state, version),
        pods=state.pods,
        ready=state.ready,
        failure=state.failure,
        metadata=worn.metadata,
        pods_outdated=worn.pending and state.seen,
        metadata_pending=worn.pending,
    )


def _version(look: AppContext, state: ReplicaSetState) -> Version | None:
    """The version that a ReplicaSet runs."""
    return next((each for each in look.record.versions if runs(look.app, state, each.digest)), None)


def _claimed(app: AppKey, state: ReplicaSetState) -> str:
    """The digest that a ReplicaSet of no known version runs: that of its own text where its name confirms it, else its
    annotation's, which may be gone, or that of another version.

    The short one of its name where neither fits: it says which pods these are, and is no version's digest.
    """
    named, of_text = names.short_digest_in(app, state.meta.name), _digest_of_text(state)
    if not named:
        return state.full_digest or of_text
    return next((each for each in (of_text, state.full_digest) if short(each) == named), named)


def _digest_of_text(state: ReplicaSetState) -> str:
    """The digest of a ReplicaSet's snapshot, as far as anybody can compute it."""
    snapshot = snapshot_in(state)
    try:
        return digest_of(snapshot.text, snapshot.configuration, snapshot.workload) if snapshot.text else ""
    except ValueError:
        return ""


def runs(app: AppKey, state: ReplicaSetState, digest: str) -> bool:
    """Whether a ReplicaSet runs the version of a digest: by its name, which nobody can change, as it cannot the
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

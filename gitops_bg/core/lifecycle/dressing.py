"""What pods carry by the role of their version: `activeMetadata`, `previewMetadata` (argo-rollouts.md §1.1).

First the ReplicaSet's template, so that new pods have it; then the pods that are there, in place. Never a part of a
version's digest or of a selector, and no pod is restarted for it. Comes after all that traffic depends on.
"""

from gitops_bg.core.actions import ClusterAction, CreateReplicaSet, DressPods
from gitops_bg.core.lifecycle.sizes import wanted_size
from gitops_bg.core.model import NO_METADATA, PodMetadata, Stage, Version
from gitops_bg.core.observed import ReplicaSetView
from gitops_bg.core.world import World


def metadata_for(world: World, version: Version) -> PodMetadata:
    """What the pods of a version are to carry now; nothing once it is neither live nor on its way there.

    What is to serve first is dressed as the active version at once, as in Argo Rollouts.
    """
    strategy, is_first = world.spec.strategy, not world.record.traffic
    if version.digest == world.record.traffic:
        return strategy.active_metadata
    if version.stage is not Stage.CANDIDATE or version.retiring:
        return NO_METADATA
    return strategy.active_metadata if is_first else strategy.preview_metadata


def dress(world: World) -> tuple[ClusterAction, ...]:
    """The writes that bring metadata to ReplicaSets and pods; none while a switch is on its way."""
    if world.suspended or world.record.switch:
        return ()
    return tuple(action for version in world.record.versions for action in _dress(world, version))


def _dress(world: World, version: Version) -> tuple[ClusterAction, ...]:
    view = world.replica_set(version.digest)
    if view is None:
        return ()
    wanted = metadata_for(world, version)
    if view.metadata != wanted:
        return _dress_replica_set(world, version, view, wanted)
    return (DressPods(version.digest, version.number, wanted),) if view.undressed else ()


def _dress_replica_set(
    world: World, version: Version, view: ReplicaSetView, wanted: PodMetadata
) -> tuple[ClusterAction, ...]:
    """One that is scaled or repaired in this decision is left to the next: this write says its size, too."""
    snapshot, ready = world.snapshot(version), world.spec.min_ready_seconds
    differs = view.drifted or view.min_ready_seconds != ready or view.replicas != wanted_size(world, version)
    if differs or not snapshot.text:
        return ()
    number, color, why = version.number, version.color, f"its pods get {wanted}"
    return (CreateReplicaSet(number, snapshot, color, view.replicas, ready, True, metadata=wanted, reason=why),)

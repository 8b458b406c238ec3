"""Actions that give pods the metadata of their version's role (argo-rollouts.md §1.1).

First the ReplicaSet's template, so that new pods have it; then the existing pods, in place. The metadata is never part
of a digest or a selector, and no pod is restarted for it. These actions come after all that traffic depends on.
"""

from gitops_bg.core.checks.adoption.release import is_releasing
from gitops_bg.core.checks.pods.ephemeral_metadata import metadata_for
from gitops_bg.core.checks.pods.sizes import wanted_size
from gitops_bg.core.model.actions import ClusterAction, CreateReplicaSet, SyncPodMetadata
from gitops_bg.core.model.observed import ReplicaSetView
from gitops_bg.core.model.version import PodMetadata, Version
from gitops_bg.core.world import World


def sync_pod_metadata(world: World) -> tuple[ClusterAction, ...]:
    """The writes that bring metadata to ReplicaSets and pods; none while a switch is under way, and of a suspended app
    only where it gives live traffic back.
    """
    if (world.suspended and not is_releasing(world)) or world.record.routing.switch:
        return ()
    return tuple(action for version in world.record.versions for action in _dress(world, version))


def _dress(world: World, version: Version) -> tuple[ClusterAction, ...]:
    view = world.replica_set(version.digest)
    if view is None:
        return ()
    wanted = metadata_for(world, version)
    if view.metadata != wanted:
        return _dress_replica_set(world, version, view, wanted)
    return (SyncPodMetadata(version.digest, version.number, wanted),) if view.pods_outdated else ()


def _dress_replica_set(
    world: World, version: Version, view: ReplicaSetView, wanted: PodMetadata
) -> tuple[ClusterAction, ...]:
    """Write the metadata to the template, unless this decision also scales or repairs the ReplicaSet: then the next
    decision does, because the write includes the size.
    """
    snapshot, ready = world.snapshot(version), world.spec.min_ready_seconds
    differs = view.drifted or view.min_ready_seconds != ready or view.replicas != wanted_size(world, version)
    if differs or not snapshot.text:
        return ()
    number, color, why = version.number, version.color, f"its pods get {wanted}"
    return (CreateReplicaSet(number, snapshot, color, view.replicas, ready, True, metadata=wanted, reason=why),)

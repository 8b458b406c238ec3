"""Actions on ReplicaSets, their pods, and the copies of ConfigMaps and Secrets that these need: which must exist, at
which size, which may go, and what metadata pods carry. The engine orders them.

A copy is made for each content that a version uses, immutable, and named by its content. The copies of a new version
come before its pods, which would wait for them. All others come last: running pods have read theirs, and a rollback to
a warm version is one write whatever became of its copies (I6). The content of a copy stands in Git, in the target or in
``primary.yaml``; where it does not, the copy cannot be created.
"""

from collections.abc import Iterable
from dataclasses import replace

from gitops_bg.core.checks.adoption import is_released, is_releasing
from gitops_bg.core.checks.onboarding import leak_to, serves_by
from gitops_bg.core.checks.pods import metadata_for
from gitops_bg.core.checks.sizes import PodGroup, wanted_size
from gitops_bg.core.checks.versions import REPLICA_SET, has_twin, is_live, live_name, repair_is_due
from gitops_bg.core.model.actions import (
    ApplyConfiguration,
    ClusterAction,
    CreateReplicaSet,
    DeleteConfiguration,
    DeleteReplicaSet,
    EvictPod,
    ScaleReplicaSet,
    SyncPodMetadata,
)
from gitops_bg.core.model.analysis import AnalysisStage
from gitops_bg.core.model.observed import ConfigurationView, ReplicaSetView
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.version import AntiAffinityTerm, ConfigurationRef, PodMetadata, Snapshot, Stage, Version
from gitops_bg.core.names import configuration_name
from gitops_bg.core.world import World

# --- what pods carry by the role of their version (argo-rollouts.md §1.1) ---
# First the ReplicaSet's template, so that new pods have it; then the existing pods, in place. The metadata is never
# part of a digest or a selector, and no pod is restarted for it. These actions come after all that traffic depends on.


def sync_pod_metadata(world: World) -> tuple[ClusterAction, ...]:
    """Return the writes that bring metadata to ReplicaSets and pods; none while a switch is under way, and of a
    suspended app only where it gives live traffic back.
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
    return (SyncPodMetadata(version.digest, version.number, wanted, version.tag),) if view.pods_outdated else ()


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


# --- the pods that a restart asks to evict now (argo-rollouts.md §1.3) ---


def evictions(world: World) -> tuple[ClusterAction, ...]:
    """Return the evictions that were decided now; a pod that stays is asked for again after a while."""
    restart = world.record.operator.restart
    if restart is None or restart.asked_at != world.now:
        return ()
    return tuple(
        EvictPod(pod.name, pod.uid, version.digest, version.number, version.tag)
        for version in world.record.versions
        for pod in PodGroup.of(world, version).pods
        if pod.uid in restart.asked
    )


# --- which ReplicaSets exist, at which size ---
# What traffic needs grows first, new versions last: a refused new version must not hold up the serving one, or a
# rollback.


def grow(world: World, versions: tuple[Version, ...]) -> tuple[ClusterAction, ...]:
    """Create the missing ReplicaSets of these versions, repair changed ones, scale up those that are too small."""
    return tuple(action for version in versions for action in _grow(world, version))


def by_priority(world: World) -> tuple[tuple[Version, ...], tuple[Version, ...], tuple[Version, ...]]:
    """Sort the versions: those that traffic needs now, others that served here, and those new in this cluster.

    Traffic needs the target of a rollback under way, and then the serving version. In a rebuilt cluster every version
    is new, whatever served before.
    """
    versions, back = manageable(world), world.incoming if world.switch_kind is SwitchKind.ROLLBACK else None
    wanted = (back.digest if back else "", world.record.routing.traffic)
    needed = tuple(version for digest in wanted for version in versions if version.digest == digest)
    others = tuple(version for version in versions if version.digest not in wanted)
    served = tuple(version for version in others if not is_new(world, version))
    return needed, served, tuple(version for version in others if is_new(world, version))


def is_new(world: World, version: Version) -> bool:
    """Return whether a version has not served in this cluster yet."""
    return not version.was_active or not world.record.routing.traffic


def begins(world: World, version: Version) -> bool:
    """Return whether the ReplicaSet of a version is created now: there is none, and nothing prevents it."""
    return world.replica_set(version.digest) is None and bool(_grow(world, version))


def manageable(world: World) -> tuple[Version, ...]:
    """Return the versions to manage now: while suspended, only the one that traffic goes back to, or where nothing
    serves, as in a rebuilt cluster, the first one to.
    """
    if not world.suspended:
        return world.record.versions
    coming = world.incoming
    return (coming,) if coming and world.switch_kind is not SwitchKind.PROMOTION else ()


def _grow(world: World, version: Version) -> tuple[ClusterAction, ...]:
    view, size = world.replica_set(version.digest), wanted_size(world, version)
    if view is None:
        due = repair_is_due(world, REPLICA_SET, live_name(world, version))
        return _create(world, version, size) if due and not _in_the_way(world, version) else ()
    if _needs_repair(world, version, view):
        return _repair(world, version, max(size, view.replicas))
    if view.replicas < size and repair_is_due(world, REPLICA_SET, view.name):
        reason = f"the {version.stage} version needs {size}"
        return (_scaled(version, view.replicas, size, reason),)
    return ()


def _create(world: World, version: Version, size: int) -> tuple[ClusterAction, ...]:
    """Create a new candidate at 0 (DESIGN §4.1), and a version that served before at its size at once."""
    snapshot = world.snapshot(version)
    gone_for_good = version.stage is Stage.ARCHIVED or (version.retiring and not version.was_active)
    if not snapshot.text or (gone_for_good and version.digest != world.desired_digest):
        return ()
    ready, color, metadata = world.spec.min_ready_seconds, version.color, metadata_for(world, version)
    if version.was_active:
        return (CreateReplicaSet(version.number, snapshot, color, size, ready, metadata=metadata),)
    created = CreateReplicaSet(
        version.number, snapshot, color, 0, ready, anti_affinity=_anti_affinity(world), metadata=metadata
    )
    if size == 0:
        return (created,)
    return created, _scaled(version, 0, size, "a new candidate")


def _scaled(version: Version, current: int, size: int, reason: str, serving: bool = False) -> ScaleReplicaSet:
    workload = version.snapshot.workload
    return ScaleReplicaSet(version.digest, version.number, current, size, reason, serving, workload, tag=version.tag)


def _anti_affinity(world: World) -> AntiAffinityTerm | None:
    """Return the version whose nodes a new version avoids.

    Never applied to one that served before: nothing may slow a rollback (I6).
    """
    anti, active = world.spec.strategy.anti_affinity, world.active
    return AntiAffinityTerm(active.digest, anti.weight) if anti and active else None


def _needs_repair(world: World, version: Version, view: ReplicaSetView) -> bool:
    """Return whether the ReplicaSet differs from its version, the snapshot to repair it is known, and that is due."""
    differs = view.drifted or view.min_ready_seconds != world.spec.min_ready_seconds
    return differs and bool(world.snapshot(version).text) and repair_is_due(world, REPLICA_SET, view.name)


def _repair(world: World, version: Version, replicas: int) -> tuple[ClusterAction, ...]:
    snapshot, ready, metadata = world.snapshot(version), world.spec.min_ready_seconds, metadata_for(world, version)
    return (CreateReplicaSet(version.number, snapshot, version.color, replicas, ready, True, metadata=metadata),)


def shrink(world: World) -> tuple[ClusterAction, ...]:
    """Scale down what is too big, delete what belongs to no version; never while a switch is under way (I2)."""
    if world.suspended or world.record.routing.switch:
        return ()
    smaller = [action for version in world.record.versions for action in _shrink(world, version)]
    return (*smaller, *_delete_unknown(world))


def _shrink(world: World, version: Version) -> tuple[ClusterAction, ...]:
    view, size = world.replica_set(version.digest), wanted_size(world, version)
    if view is None or view.replicas <= size or _needs_repair(world, version, view):
        return ()
    if not repair_is_due(world, REPLICA_SET, view.name):
        return ()
    leak = leak_to(world, version)
    serving = is_live(world, version.digest) and not (leak or is_released(world))
    if serving and size < world.full_size:
        return ()
    reason = "archived" if version.stage is Stage.ARCHIVED else f"the {version.stage} version needs {size}"
    scaled = _scaled(version, view.replicas, size, reason, serving)
    return (replace(scaled, unpromoted=leak is not None and serves_by(world, leak)),)


def _delete_unknown(world: World) -> list[ClusterAction]:
    known = {version.digest for version in world.record.versions}
    return [
        DeleteReplicaSet(view.name, view.snapshot.digest, "beyond revisionHistoryLimit", view.snapshot.workload)
        for view in world.observed.replica_sets
        if view.ours
        and not view.deleting
        and view.snapshot.digest not in known
        and not is_live(world, view.snapshot.digest)
    ]


def _in_the_way(world: World, version: Version) -> bool:
    """Return whether a version without a ReplicaSet must wait for one: a former one of it that is being deleted, or one
    that is not ours and has its name. A new version also waits where Services could not tell its pods from another's.
    """
    if is_new(world, version) and has_twin(world, version):
        return True
    name = live_name(world, version)
    leaving = (view.ours and view.snapshot.digest == version.digest for view in world.observed.replica_sets)
    return any(leaving) or any(view.name == name for view in world.observed.replica_sets)


def ensure_copies(world: World, versions: Iterable[Version]) -> tuple[ApplyConfiguration, ...]:
    """Create the copies for those of the versions that get pods, and have not served here yet."""
    return _missing(world, [version for version in versions if _gets_first_pods(world, version)])


def repair_copies(world: World, made: tuple[ApplyConfiguration, ...]) -> tuple[ApplyConfiguration, ...]:
    """Recreate all other copies that somebody deleted or replaced, except those ``made`` already."""
    return _missing(world, manageable(world), made)


def prune_copies(world: World) -> tuple[ClusterAction, ...]:
    """Delete the copies that nothing uses any more: no version, no ReplicaSet, neither target nor primary."""
    if not world.observed.configurations or world.suspended or world.record.routing.switch or not _all_known(world):
        return ()
    used = {(ref.kind, configuration_name(world.spec.app, ref)) for ref in _used(world)}
    return tuple(
        DeleteConfiguration(view.kind, view.name)
        for view in world.observed.configurations
        if view.ours and not view.deleting and (view.kind, view.name) not in used
    )


def _gets_first_pods(world: World, version: Version) -> bool:
    """Return whether a version that uses configuration gets its first pods here, or has not served with them
    yet; the pods of its Jobs, which use the same, come before.
    """
    if not version.snapshot.configuration or not is_new(world, version):
        return False
    run = world.record.run(AnalysisStage.BEFORE_PODS)
    has_jobs = run is not None and run.digest == version.digest and run.running and run.started_at is not None
    return has_jobs or wanted_size(world, version) > 0


def _missing(
    world: World, versions: Iterable[Version], made: tuple[ApplyConfiguration, ...] = ()
) -> tuple[ApplyConfiguration, ...]:
    """Return the missing copies, each once, for the newest of the versions that use it."""
    done = {action.ref for action in made}
    used = ((ref, version) for version in versions for ref in version.snapshot.configuration)
    wanted = {ref: version for ref, version in used if ref not in done}
    if not wanted:
        return ()
    at_hand = {ref for snapshot in _in_git(world) for ref in snapshot.configuration}
    views = {(view.kind, view.name): view for view in world.observed.configurations}
    found = (
        _make(world, version, ref, views.get((ref.kind, configuration_name(world.spec.app, ref))))
        for ref, version in sorted(wanted.items(), key=lambda item: item[0])
        if ref in at_hand and _would_be_seen(world, version, ref)
    )
    return tuple(action for action in found if action)


def _would_be_seen(world: World, version: Version, ref: ConfigurationRef) -> bool:
    """Return whether a missing copy can be told from an existing one.

    A copy of a kind that the agent may not list is created once: with the ReplicaSet that uses it.
    """
    return ref.kind not in world.observed.unlisted or begins(world, version)


def _make(
    world: World, version: Version, ref: ConfigurationRef, view: ConfigurationView | None
) -> ApplyConfiguration | None:
    if view is not None and (view.deleting or (view.digest == ref.digest and not view.drifted)):
        return None
    name = configuration_name(world.spec.app, ref)
    due = repair_is_due(world, ref.kind, name)
    if not due:
        return None
    return ApplyConfiguration(ref, name, version.number, repair=view is not None)


def _used(world: World) -> set[ConfigurationRef]:
    snapshots = (
        *(version.snapshot for version in world.record.versions),
        *(view.snapshot for view in world.observed.replica_sets),
        *_in_git(world),
    )
    return {ref for snapshot in snapshots for ref in snapshot.configuration}


def _in_git(world: World) -> tuple[Snapshot, ...]:
    return tuple(one.snapshot for one in (world.desired.target, world.desired.primary) if one)


def _all_known(world: World) -> bool:
    """Return whether every ReplicaSet belongs to a version of the record: what another one uses is not known for
    sure.
    """
    known = {version.digest for version in world.record.versions}
    return all(view.snapshot.digest in known for view in world.observed.replica_sets)

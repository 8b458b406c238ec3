"""Actions on copies of ConfigMaps and Secrets: one for each content that a version uses, immutable, named by its
content.

The copies of a new version come before its pods, which would wait for them. All others come last: running pods have
read theirs, and a rollback to a warm version is one write whatever became of its copies (I6). The content of a copy
stands in Git, in the target or in ``primary.yaml``; where it does not, the copy cannot be created.
"""

from collections.abc import Iterable

from gitops_bg.core.checks.contests import repair_is_due
from gitops_bg.core.checks.pods.sizes import wanted_size
from gitops_bg.core.model.actions import (
    ApplyConfiguration,
    ClusterAction,
    DeleteConfiguration,
)
from gitops_bg.core.model.observed import ConfigurationView
from gitops_bg.core.model.version import ConfigurationRef, Snapshot, Version
from gitops_bg.core.names import configuration_name
from gitops_bg.core.plan.workloads import begins, is_new, manageable
from gitops_bg.core.world import World


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
    """Whether a version that uses configuration gets its first pods here, or has not served with them yet."""
    return bool(version.snapshot.configuration) and is_new(world, version) and wanted_size(world, version) > 0


def _missing(
    world: World, versions: Iterable[Version], made: tuple[ApplyConfiguration, ...] = ()
) -> tuple[ApplyConfiguration, ...]:
    """The missing copies, each once, for the newest of the versions that use it."""
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
    """Whether a missing copy can be told from an existing one.

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
    """Whether every ReplicaSet belongs to a version of the record: what another one uses is not known for sure."""
    known = {version.digest for version in world.record.versions}
    return all(view.snapshot.digest in known for view in world.observed.replica_sets)

"""Actions on copies of ConfigMaps and Secrets: one for each content that a version uses, immutable, named by it.

A new version's copies come before its pods, which would wait for them. All others come after what traffic depends on:
pods that run have read theirs, and the way back to a warm version is one write whatever became of them (I6). What a
copy is to hold stands in Git, in the target or in ``primary.yaml``; where it does not, nothing can be made of it here.
"""

from collections.abc import Iterable

from gitops_bg.core.actions import ApplyConfiguration, ClusterAction, DeleteConfiguration
from gitops_bg.core.lifecycle.scaling import in_hand
from gitops_bg.core.lifecycle.sizes import wanted_size
from gitops_bg.core.model import ConfigurationRef, Snapshot, Version
from gitops_bg.core.names import configuration_name
from gitops_bg.core.observed import ConfigurationView
from gitops_bg.core.world import World


def prepare(world: World) -> tuple[ApplyConfiguration, ...]:
    """The copies for versions that get their first pods here: that never served, or not in this cluster."""
    return _missing(world, (one for one in _using(world) if _is_new(world, one) and wanted_size(world, one)))


def mend(world: World, prepared: tuple[ApplyConfiguration, ...]) -> tuple[ApplyConfiguration, ...]:
    """The copies for all versions, as far as they are not ``prepared``: somebody deleted or replaced them."""
    done = {action.ref for action in prepared}
    return tuple(action for action in _missing(world, _using(world)) if action.ref not in done)


def clear(world: World) -> tuple[ClusterAction, ...]:
    """Delete the copies that nothing uses any more: no version, no ReplicaSet, neither target nor primary."""
    if not world.observed.configurations or world.suspended or world.record.switch or not _all_known(world):
        return ()
    used = {(ref.kind, configuration_name(world.spec.app, ref)) for ref in _used(world)}
    return tuple(
        DeleteConfiguration(view.kind, view.name)
        for view in world.observed.configurations
        if view.ours and not view.deleting and (view.kind, view.name) not in used
    )


def _is_new(world: World, version: Version) -> bool:
    """In a rebuilt cluster a version that served in the one before begins anew, and nothing serves meanwhile."""
    return not version.was_active or not world.record.traffic


def _using(world: World) -> tuple[Version, ...]:
    return tuple(version for version in in_hand(world) if version.snapshot.configuration)


def _missing(world: World, versions: Iterable[Version]) -> tuple[ApplyConfiguration, ...]:
    """Each copy once, for the newest of the versions that use it."""
    wanted = {ref: version for version in versions for ref in version.snapshot.configuration}
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
    """Of a kind that may not be listed, a copy is made once: before there is a ReplicaSet that uses it."""
    return ref.kind not in world.observed.unlisted or world.replica_set(version.digest) is None


def _make(
    world: World, version: Version, ref: ConfigurationRef, view: ConfigurationView | None
) -> ApplyConfiguration | None:
    if view is not None and (view.deleting or (view.digest == ref.digest and not view.drifted)):
        return None
    name = configuration_name(world.spec.app, ref)
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
    """Whether every ReplicaSet is of a version of the record: of another, nobody knows for sure what it uses."""
    known = {version.digest for version in world.record.versions}
    return all(view.snapshot.digest in known for view in world.observed.replica_sets)

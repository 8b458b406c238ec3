"""Registers what the folders of a group say: new versions, their services, and what left. World in, world out."""

from dataclasses import replace

from gitops_bg.core.groups.desired import DesiredVersion
from gitops_bg.core.groups.lifecycle import delete, promote, register, unregister
from gitops_bg.core.groups.model import GroupState, Part, PromotionRejected, VersionStage, version_number
from gitops_bg.core.groups.record import DeletedVersion
from gitops_bg.core.groups.world import GroupWorld


def forget_changed(world: GroupWorld) -> GroupWorld:
    """Forget that a version was deleted once its folder says something else, or is gone; a failure likewise."""
    kept = tuple(each for each in world.record.deleted if world.content(each.name) == each.content)
    failed = world.record.failed
    if failed is not None and (world.spec.active != failed.target or world.content(failed.target) != failed.content):
        failed = None
    return world.with_record(deleted=kept, failed=failed)


def drop_removed(world: GroupWorld) -> GroupWorld:
    """Delete versions whose folder left main; never the active one, nor one that traffic moves from or to."""
    moving = world.record.transition
    for version in world.record.state.versions:
        name = version.name
        if name in world.desired.versions or (moving and name in (moving.source, moving.target)):
            continue
        if version.stage is VersionStage.ACTIVE:
            message = f"the folder of {name} left main, but it is active: it serves on"
            world = replace(world, rejected=("ActiveVersionRemoved", message))
            continue
        world = world.with_record(state=delete(world.record.state, name))
        world = world.with_event("VersionDeleted", f"{name} was deleted: its folder left main")
    return world


def register_versions(world: GroupWorld) -> GroupWorld:
    """Register the versions and services of the folders, lowest number first.

    A version deleted by a promotion or rollback stays deleted until its folder says something else. Of a group without
    a record every version up to the active one is promoted in turn, as if it had happened so: the record may be lost,
    and services that only an older folder has must serve on.
    """
    if not world.record.state.versions:
        world = _replayed(world)
    deleted = {each.name for each in world.record.deleted}
    for name in sorted(world.desired.versions, key=version_number):
        if name not in deleted:
            world = _registered(world, name, world.desired.versions[name])
    return world


def _replayed(world: GroupWorld) -> GroupWorld:
    active = version_number(world.spec.active)
    for name in sorted(world.desired.versions, key=version_number):
        if version_number(name) <= active:
            world = _registered(world, name, world.desired.versions[name])
            state = world.record.state
            if state.stage(name) is VersionStage.CANDIDATE:
                after = replace(promote(world.state, name, world.spec.archive_size, world.now), routes=())
                gone = remember_deleted(world, state, after)
                world = world.with_record(state=after, deleted=gone)
    return world


def _registered(world: GroupWorld, name: str, version: DesiredVersion) -> GroupWorld:
    state = world.record.state
    is_new = state.stage(name) is None
    try:
        for service, desired in sorted(version.services.items()):
            if not _has(state, service, name, pods=desired.pods):
                state = register(state, service, name, (), world.now, pods=desired.pods)
    except PromotionRejected as error:
        return replace(world, rejected=(str(error.why), f"{name}: {error}"))
    state = _without_removed(state, name, version)
    world = world.with_record(state=state)
    if is_new and state.stage(name) is not None:
        stage = str(state.stage(name)).lower()
        world = world.with_event("VersionRegistered", f"{name} is {stage}: {', '.join(sorted(version.services))}")
    return world


def _has(state: GroupState, service: str, version: str, *, pods: bool) -> bool:
    """Whether the state has a service that was deployed in a version, with pods if it shall have some."""
    parts = state.endpoints if pods else state.registrations
    return any((each.service, each.initial_version) == (service, version) for each in parts)


def _without_removed(state: GroupState, name: str, version: DesiredVersion) -> GroupState:
    """Without the services that a version's folder no longer has."""

    def stays(part: Part, pods: bool) -> bool:
        desired = version.services.get(part.service)
        return part.initial_version != name or (desired is not None and (desired.pods or not pods))

    gone = [
        each for each in state.registrations if each.initial_version == name and each.service not in version.services
    ]
    state = replace(state, endpoints=tuple(each for each in state.endpoints if stays(each, True)))
    for each in gone:
        state = unregister(state, each.service, each.version)
    return state


def remember_deleted(world: GroupWorld, before: GroupState, after: GroupState) -> tuple[DeletedVersion, ...]:
    """The versions that a transition deleted, with what their folders say now."""
    gone = {each.name for each in before.versions} - {each.name for each in after.versions}
    found = (DeletedVersion(name, world.content(name)) for name in sorted(gone, key=version_number))
    return (*world.record.deleted, *(each for each in found if each.content))

"""The step that watches the versions on their way, and the one that has just arrived: since when their pods are
available, and whether they take too long.
"""

from dataclasses import replace

from gitops_bg.core.checks.adoption.onboarding import leak_to
from gitops_bg.core.checks.adoption.release import is_released
from gitops_bg.core.checks.pods.availability import DEADLINE_EXCEEDED, is_available, is_in_flight, progress_deadline
from gitops_bg.core.checks.pods.scheduling import why_stuck
from gitops_bg.core.checks.subject import awaits_confirmation
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import Version
from gitops_bg.core.transitions.verdicts.triggers import watch_active
from gitops_bg.core.world import World


def watch_versions(world: World) -> World:
    """Note the times of every version that is on its way forward, and the probation of the one that serves."""
    for version in world.record.versions:
        if is_in_flight(world, version):
            world = _with_availability(world, version)
    return watch_active(world)


def _with_availability(world: World, version: Version) -> World:
    if awaits_confirmation(world, version) or leak_to(world, version) or is_released(world):  # No deadline yet.
        return world.with_version(replace(version, available_since=None, waiting_since=None))
    if is_available(world, version):
        return world if version.available_since else _came_up(world, version)
    if version.available_since or version.waiting_since is None:
        return world.with_version(replace(version, available_since=None, waiting_since=world.now))
    deadline = progress_deadline(world, version)
    late = deadline is not None and world.now >= deadline
    if late is bool(version.failure) or world.suspended:
        return world
    return _failed(world, version) if late else _given_more_time(world, version)


def _failed(world: World, version: Version) -> World:
    failed = replace(version, failure=DEADLINE_EXCEEDED)
    missing = why_stuck(world, version)
    reason = f"not available within {world.spec.progress_deadline_seconds} s; live traffic is untouched"
    told = f"{DEADLINE_EXCEEDED}: {reason}" + (f"; {missing}" if missing else "")
    return world.with_version(failed).with_ledger_entry(Event.FAILED, to=failed, reason=told)


def _given_more_time(world: World, version: Version) -> World:
    """Clear the failure: somebody raised the deadline, and it has not passed yet."""
    on_its_way = replace(version, failure="")
    reason = f"progressDeadlineSeconds is {world.spec.progress_deadline_seconds} now"
    return world.with_version(on_its_way).with_ledger_entry(Event.RECOVERED, to=on_its_way, reason=reason)


def _came_up(world: World, version: Version) -> World:
    up = replace(version, available_since=world.now, waiting_since=None, failure="")
    world = world.with_version(up)
    return (
        world.with_ledger_entry(Event.RECOVERED, to=up, reason="its pods are available after all")
        if version.failure
        else world
    )

"""The step that watches candidates come up: since when they are available, and whether they take too long."""

from dataclasses import replace
from datetime import datetime, timedelta

from gitops_bg.core.analysis.metrics import AnalysisStage
from gitops_bg.core.hooks.confirmation import awaits_confirmation
from gitops_bg.core.lifecycle.sizes import wanted_size
from gitops_bg.core.model import Stage, Version
from gitops_bg.core.record import Event
from gitops_bg.core.traffic.onboarding import leak_to
from gitops_bg.core.world import World

DEADLINE_EXCEEDED = "ProgressDeadlineExceeded"


def note_availability(world: World) -> World:
    """Keep the times of every version that is on its way forward."""
    for version in world.record.versions:
        if is_coming(world, version):
            world = _note(world, version)
    return world


def is_coming(world: World, version: Version) -> bool:
    """Whether a version is on its way to live traffic: the candidate, or what ``primary.yaml`` names."""
    on_its_way = version.stage is Stage.CANDIDATE and not version.retiring
    return version.digest != world.record.traffic and (on_its_way or version.digest == world.goal)


def is_available(world: World, version: Version) -> bool:
    """Whether all pods that the version is to have now are available.

    A candidate that was, and is given more pods because the load has grown, has not failed: as long as it has those
    that the autoscaler says it needs at least. Once traffic is to move to it, it needs all of them, in time.
    """
    view, needed = world.replica_set(version.digest), wanted_size(world, version)
    autoscaler = world.record.autoscaler
    if autoscaler and version.available_since and version.digest != world.goal:
        needed = min(needed, max(1, autoscaler.minimum))
    return view is not None and view.available >= needed


def progress_deadline(world: World, version: Version) -> datetime | None:
    """When a version that makes no progress is said to have failed; None while it is available."""
    if version.waiting_since is None:
        return None
    return version.waiting_since + timedelta(seconds=world.spec.progress_deadline_seconds)


def expires_at(world: World, version: Version) -> datetime | None:
    """When a candidate has waited long enough for somebody to promote it; None where it may wait for ever."""
    seconds, since = world.spec.strategy.expire_after_seconds, ready_since(world, version)
    if seconds is None or since is None or not world.record.traffic:
        return None
    return since + timedelta(seconds=seconds)


def ready_since(world: World, version: Version) -> datetime | None:
    """Since when only people and clocks keep a candidate back: its pods are available, and its analysis has ended."""
    if world.spec.strategy.pre_promotion_analysis is None or version.available_since is None:
        return version.available_since
    run = world.record.run(AnalysisStage.PRE)
    if run is None or run.rollout != version.rollout or run.finished_at is None:
        return None
    return max(version.available_since, run.finished_at)


def is_expired(world: World, version: Version) -> bool:
    """Whether nobody promoted a candidate in time."""
    moment = expires_at(world, version)
    return moment is not None and world.now >= moment


def _note(world: World, version: Version) -> World:
    if awaits_confirmation(world, version) or leak_to(world, version):  # Nobody is late who was not let begin.
        return world.with_version(replace(version, available_since=None, waiting_since=None))
    if is_available(world, version):
        return world if version.available_since else _came_up(world, version)
    if version.available_since or version.waiting_since is None or _resumed(world):
        return world.with_version(replace(version, available_since=None, waiting_since=world.now))
    deadline = progress_deadline(world, version)
    late = deadline is not None and world.now >= deadline
    if late is bool(version.failure) or world.suspended:
        return world
    return _failed(world, version) if late else _given_more_time(world, version)


def _failed(world: World, version: Version) -> World:
    failed = replace(version, failure=DEADLINE_EXCEEDED)
    reason = f"not available within {world.spec.progress_deadline_seconds} s; live traffic is untouched"
    return world.with_version(failed).noting(Event.FAILED, to=failed, reason=f"{DEADLINE_EXCEEDED}: {reason}")


def _given_more_time(world: World, version: Version) -> World:
    """Somebody raised the deadline, and it is not over yet."""
    on_its_way = replace(version, failure="")
    reason = f"progressDeadlineSeconds is {world.spec.progress_deadline_seconds} now"
    return world.with_version(on_its_way).noting(Event.RECOVERED, to=on_its_way, reason=reason)


def _came_up(world: World, version: Version) -> World:
    up = replace(version, available_since=world.now, waiting_since=None, failure="")
    world = world.with_version(up)
    return world.noting(Event.RECOVERED, to=up, reason="its pods are available after all") if version.failure else world


def _resumed(world: World) -> bool:
    """A suspension has just ended: nothing was done during it, so nobody was late."""
    return world.record.suspended and not world.suspended

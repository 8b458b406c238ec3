"""Whether the pods of a version are up, since when, and whether they take too long."""

from datetime import datetime, timedelta

from gitops_bg.core.checks.pods.sizes import wanted_size
from gitops_bg.core.model.analysis.metrics import AnalysisStage
from gitops_bg.core.model.version import Stage, Version
from gitops_bg.core.world import World

DEADLINE_EXCEEDED = "ProgressDeadlineExceeded"


def is_in_flight(world: World, version: Version) -> bool:
    """Whether a version is on its way to live traffic: the candidate, or the version that ``primary.yaml`` names."""
    on_its_way = version.stage is Stage.CANDIDATE and not version.retiring
    return version.digest != world.record.routing.traffic and (on_its_way or version.digest == world.desired_digest)


def is_available(world: World, version: Version) -> bool:
    """Whether all pods that the version should have now are available.

    A candidate that was available, and that gets more pods because the load has grown, has not failed: the autoscaler's
    minimum is enough for it. Once traffic is to move to it, it needs all of them, in time. So with a DaemonSet: a node
    that comes or goes takes what serves along, and has proved nothing against the candidate.
    """
    view, needed = world.replica_set(version.digest), wanted_size(world, version)
    autoscaler = world.record.last_read.autoscaler
    if autoscaler and version.available_since and version.digest != world.desired_digest:
        needed = min(needed, max(1, autoscaler.minimum))
    if version.on_every_node and version.available_since and version.digest != world.desired_digest:
        needed = max(1, min(needed, world.available(world.record.routing.traffic)))
    return view is not None and view.available >= needed


def progress_deadline(world: World, version: Version) -> datetime | None:
    """When a version without progress counts as failed; None while it is available."""
    if version.waiting_since is None:
        return None
    return world.waits_since(version.waiting_since) + timedelta(seconds=world.spec.progress_deadline_seconds)


def expires_at(world: World, version: Version) -> datetime | None:
    """When a candidate has waited long enough for a promotion; None where it may wait for ever."""
    seconds, since = world.spec.strategy.expire_after_seconds, ready_since(world, version)
    if seconds is None or since is None or not world.record.routing.traffic:
        return None
    return world.waits_since(since) + timedelta(seconds=seconds)


def ready_since(world: World, version: Version) -> datetime | None:
    """Since when a candidate waits only for people and clocks: its pods are available, and its analysis has ended."""
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

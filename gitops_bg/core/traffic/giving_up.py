"""The step that ends the way of a version which does not arrive: past its progress deadline, or wanted by nobody.

Every end is a hold with an event, as `abort` makes it; live traffic is never touched here. It looks at what is, not at
what has just happened, so a field that is switched on later holds for what failed before.
"""

from gitops_bg.core.lifecycle.availability import is_coming, is_expired
from gitops_bg.core.looks import awaited
from gitops_bg.core.model import Version
from gitops_bg.core.record import Cause, Event, Lane
from gitops_bg.core.spec import OnExpire
from gitops_bg.core.traffic.following import override
from gitops_bg.core.traffic.holds import put_hold
from gitops_bg.core.world import World


def give_up(world: World, version: Version, *, cause: Cause, reason: str, by: str = "") -> World:
    """Abort a version on its way: hold it, and have ``primary.yaml`` name live traffic again where it named it."""
    waits, active = awaited(world.desired.looks), world.active
    world = put_hold(world, version, cause=cause, reason=reason, by=by, event=Event.ABORTED, awaits=waits)
    if active is None or world.goal != version.digest:
        return world
    return override(world, active, cause=cause, reason=reason, by=by)


def give_up_late(world: World) -> World:
    """Abort what exceeded its progress deadline, if ``progressDeadlineAbort`` says so (argo-rollouts.md §1.3).

    Never the way back, and never the first deployment: there is nothing to return to.
    """
    if not world.spec.progress_deadline_abort or world.active is None or world.suspended:
        return world
    reason = f"not available within {world.spec.progress_deadline_seconds} s (progressDeadlineAbort)"
    for version in world.record.versions:
        if _is_late(world, version):
            world = give_up(world, version, cause=Cause.LATE, reason=f"{version.failure}: {reason}")
    return world


def _is_late(world: World, version: Version) -> bool:
    goes_back = version.digest == world.goal and world.lane is Lane.ROLLBACK
    late = bool(version.failure) and is_coming(world, version) and not goes_back
    return late and not world.record.held(version.digest)


def give_up_expired(world: World) -> World:
    """Abort a candidate that nobody promoted in ``expireAfterSeconds``; while Git is away, nobody could."""
    candidate, strategy = world.candidate, world.spec.strategy
    if candidate is None or strategy.on_expire is not OnExpire.ABORT or not is_expired(world, candidate):
        return world
    if world.frozen or world.moving_to or world.record.override or world.observed.git.unreachable:
        return world
    reason = f"nobody promoted it within {strategy.expire_after_seconds} s (expireAfterSeconds)"
    return give_up(world, candidate, cause=Cause.EXPIRED, reason=reason)

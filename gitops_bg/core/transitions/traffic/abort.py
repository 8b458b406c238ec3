"""The step that aborts a version that does not arrive: past its progress deadline, or promoted by nobody in time.

Every abort puts a hold and writes an event, as `abort` does; live traffic is never touched here. The step looks at the
present state, not at what just happened, so a field that is set later also applies to versions that failed before.
"""

from gitops_bg.core.checks.git.unverified import away
from gitops_bg.core.checks.pods.availability import is_expired, is_in_flight
from gitops_bg.core.model.git.looks import awaited
from gitops_bg.core.model.record import Cause, Event, SwitchKind
from gitops_bg.core.model.spec import OnExpire
from gitops_bg.core.model.version import Version
from gitops_bg.core.transitions.git.decisions import override
from gitops_bg.core.transitions.traffic.holds import put_hold
from gitops_bg.core.world import World


def abort_rollout(world: World, version: Version, *, cause: Cause, reason: str, by: str = "") -> World:
    """Abort a version on its way: hold it, and make ``primary.yaml`` name the live version again where it named this
    one.
    """
    waits, active = awaited(world.desired.looks), world.active
    world = put_hold(world, version, cause=cause, reason=reason, by=by, event=Event.ABORTED, awaits=waits)
    if active is None or world.desired_digest != version.digest:
        return world
    return override(world, active, cause=cause, reason=reason, by=by)


def abort_late(world: World) -> World:
    """Abort versions that exceeded their progress deadline, if ``progressDeadlineAbort`` is set (argo-rollouts.md
    §1.3).

    Never a rollback, and never the first deployment: there is nothing to return to.
    """
    if not world.spec.progress_deadline_abort or world.active is None or world.suspended:
        return world
    reason = f"not available within {world.spec.progress_deadline_seconds} s (progressDeadlineAbort)"
    for version in world.record.versions:
        if _is_late(world, version):
            world = abort_rollout(world, version, cause=Cause.LATE, reason=f"{version.failure}: {reason}")
    return world


def _is_late(world: World, version: Version) -> bool:
    goes_back = version.digest == world.desired_digest and world.switch_kind is SwitchKind.ROLLBACK
    late = bool(version.failure) and is_in_flight(world, version) and not goes_back
    return late and not world.record.held(version.digest)


def abort_expired(world: World) -> World:
    """Abort a candidate that nobody promoted within ``expireAfterSeconds``; not while Git is away, when nobody
    could.
    """
    candidate, strategy = world.candidate, world.spec.strategy
    if candidate is None or strategy.on_expire is not OnExpire.ABORT or not is_expired(world, candidate):
        return world
    if world.frozen or world.incoming or world.record.routing.override or away(world.observed.git):
        return world
    reason = f"nobody promoted it within {strategy.expire_after_seconds} s (expireAfterSeconds)"
    return abort_rollout(world, candidate, cause=Cause.EXPIRED, reason=reason)

"""The step that watches a promoted version until it is proven: pods that fail after the switch are a failure.

From its promotion until it has served for ``progressDeadlineSeconds`` without a break, a version is on probation. Where
it has fewer available pods than at its switch, for that long, traffic goes back by itself: override, commit, hold
(DESIGN §4.5), even while another version waits to take over. After the probation it never does: an old version does not
cure an outage months later.
"""

from dataclasses import replace

from gitops_bg.core.checks.pods.availability import DEADLINE_EXCEEDED
from gitops_bg.core.checks.pods.stabilization import stabilization_ends
from gitops_bg.core.model.record import Cause, Event, SwitchKind
from gitops_bg.core.model.version import Stabilization, Version
from gitops_bg.core.transitions.git.decisions import override
from gitops_bg.core.world import World


def watch_active(world: World) -> World:
    """Note the state of the active version on probation; end its probation, or leave it for the last good version."""
    active = world.active
    if active is None or active.stabilization is None or world.suspended or _is_being_left(world):
        return world
    stabilization = _noted(world, active, active.stabilization)
    if stabilization != active.stabilization:
        return world.with_version(replace(active, stabilization=stabilization))
    if world.now < stabilization_ends(world, stabilization):
        return world
    return _fail(world, active, stabilization) if stabilization.unready else _prove(world, active)


def _is_being_left(world: World) -> bool:
    """Whether traffic is going back, or moving forward, already; a version that waits for gates helps nobody."""
    switch = world.record.routing.switch
    return world.incoming is not None and (
        world.switch_kind is SwitchKind.ROLLBACK or (switch is not None and not switch.withdrawn)
    )


def _noted(world: World, active: Version, stabilization: Stabilization) -> Stabilization:
    """The probation with the time of its last change."""
    is_unready = world.available(active.digest) < min(stabilization.pods, world.full_size)
    if is_unready is stabilization.unready:
        return stabilization
    return Stabilization(stabilization.pods, world.now, is_unready)


def _prove(world: World, active: Version) -> World:
    return world.with_version(replace(active, stabilization=None))


def _fail(world: World, active: Version, stabilization: Stabilization) -> World:
    """Roll back, if there is a version to go back to; the hold comes with the movement (``switching``)."""
    good = world.rollback_target
    if good is None:
        return world
    seconds, ready = world.spec.progress_deadline_seconds, world.available(active.digest)
    reason = f"{DEADLINE_EXCEEDED}: {ready} of {stabilization.pods} pods available for {seconds} s after the switch"
    world = world.with_version(replace(active, stabilization=None, failure=DEADLINE_EXCEEDED))
    world = world.noting(Event.FAILED, to=active, reason=reason)
    return override(world, good, cause=Cause.PODS_FAILED, reason=reason, by="")

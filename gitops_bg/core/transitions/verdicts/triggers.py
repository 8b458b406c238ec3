"""What time and pods say against a version, as one table: what happened, the cause, and what follows.

A version on its way is put on hold, and what serves stays; one that serves is left for the last good version. Both look
at the present state, not at what just happened, so a field that is set later also applies to versions that failed
before. What hooks, analyses and people say against a version leads to the same (`core.delivery`,
`core.transitions.git`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from gitops_bg.core.checks.git.unverified import away
from gitops_bg.core.checks.pods.availability import DEADLINE_EXCEEDED, is_expired, is_in_flight
from gitops_bg.core.checks.pods.stabilization import is_watched, stabilization_ends
from gitops_bg.core.model.record import Event, SwitchKind
from gitops_bg.core.model.spec import OnExpire
from gitops_bg.core.model.statements import Cause
from gitops_bg.core.model.version import Stabilization, Version
from gitops_bg.core.transitions.git.decisions import override
from gitops_bg.core.transitions.traffic.abort import abort_rollout
from gitops_bg.core.world import World


def watch_active(world: World) -> World:
    """Note since when the active version on probation has its pods, or lacks some; end the probation of a proven one.

    From its promotion until it has served for ``progressDeadlineSeconds`` without a break, a version is on probation.
    Where it has fewer available pods than at its switch, for that long, traffic goes back by itself (`TRIGGERS`):
    override, commit, hold (DESIGN §4.5), even while another version waits to take over. After the probation it never
    does: an old version does not cure an outage months later.
    """
    active = world.active
    if active is None or active.stabilization is None or not is_watched(world, active):
        return world
    stabilization = active.stabilization
    is_unready = world.available(active.digest) < min(stabilization.pods, world.full_size)
    if is_unready is not stabilization.unready:
        changed = Stabilization(stabilization.pods, world.now, is_unready)
        return world.with_version(replace(active, stabilization=changed))
    is_proven = not is_unready and world.now >= stabilization_ends(world, stabilization)
    return world.with_version(replace(active, stabilization=None)) if is_proven else world


@dataclass(frozen=True, slots=True)
class Trigger:
    """What may happen to a version, and what follows."""

    what: str
    """For people (docs/architecture/stages.md)."""
    cause: Cause
    """The cause of the hold that the version gets."""
    reason: Callable[[World, Version], str]
    """Why, in a sentence, where it has happened to a version; empty where it has not."""
    leads: Callable[[World, Version, Cause, str], World]


def follow_triggers(world: World) -> World:
    """Stop each version on its way, and leave the serving one, that something speaks against."""
    for trigger in TRIGGERS:
        for version in world.record.versions:
            if reason := trigger.reason(world, version):
                world = trigger.leads(world, version, trigger.cause, reason)
    return world


def stop(world: World, version: Version, cause: Cause, reason: str) -> World:
    """Put a version on hold that does not arrive; live traffic is never touched."""
    return abort_rollout(world, version, cause=cause, reason=reason)


def go_back(world: World, version: Version, cause: Cause, reason: str) -> World:
    """Leave the serving version for the last good one, if there is one; the hold comes with the movement
    (``switching``).
    """
    good = world.rollback_target
    if good is None:
        return world
    world = world.with_version(replace(version, stabilization=None, failure=DEADLINE_EXCEEDED))
    world = world.with_ledger_entry(Event.FAILED, to=version, reason=reason)
    return override(world, good, cause=cause, reason=reason, by="")


def _pods_failed(world: World, version: Version) -> str:
    """After its promotion fewer pods are available than at the switch, for the whole progress deadline."""
    stabilization = version.stabilization
    if stabilization is None or not stabilization.unready or not is_watched(world, version):
        return ""
    if world.now < stabilization_ends(world, stabilization):
        return ""
    seconds, ready = world.spec.progress_deadline_seconds, world.available(version.digest)
    return f"{DEADLINE_EXCEEDED}: {ready} of {stabilization.pods} pods available for {seconds} s after the switch"


def _late(world: World, version: Version) -> str:
    """Its progress deadline has passed, and ``progressDeadlineAbort`` is set (argo-rollouts.md §1.3).

    Never a rollback, and never the first deployment: there is nothing to return to.
    """
    spec = world.spec
    if not version.failure or not spec.progress_deadline_abort or world.active is None or world.suspended:
        return ""
    goes_back = version.digest == world.desired_digest and world.switch_kind is SwitchKind.ROLLBACK
    if goes_back or not is_in_flight(world, version) or world.record.held(version.digest):
        return ""
    return f"{version.failure}: not available within {spec.progress_deadline_seconds} s (progressDeadlineAbort)"


def _expired(world: World, version: Version) -> str:
    """Nobody promoted it within ``expireAfterSeconds``; not while Git is away, when nobody could."""
    strategy = world.spec.strategy
    if strategy.on_expire is not OnExpire.ABORT or version != world.candidate or not is_expired(world, version):
        return ""
    if world.frozen or world.incoming or world.record.override or away(world.observed.git):
        return ""
    return f"nobody promoted it within {strategy.expire_after_seconds} s (expireAfterSeconds)"


TRIGGERS = (
    Trigger("fewer pods than at the switch, for `progressDeadlineSeconds`", Cause.PODS_FAILED, _pods_failed, go_back),
    Trigger("not available in `progressDeadlineSeconds`, with `progressDeadlineAbort`", Cause.LATE, _late, stop),
    Trigger("promoted by nobody in `expireAfterSeconds`", Cause.EXPIRED, _expired, stop),
)

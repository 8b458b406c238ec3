"""Whether the release that serves is proven: what sets its time back to nothing, what stops its clock, and when time
alone proves it (decision 113).

Only what this cluster shows counts, and only of the version that serves: another one that fails on its way says nothing
about it.
"""

from datetime import datetime, timedelta

from gitops_bg.core.checks.phase import led_elsewhere, unavailable, unreached
from gitops_bg.core.checks.sizes import wanted_size
from gitops_bg.core.checks.versions import numbered
from gitops_bg.core.delivery.world import answered_once
from gitops_bg.core.environments.proven import KnownRelease
from gitops_bg.core.model.analysis import AnalysisStage
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

CHECKPOINTS = 10
"""Into how many parts the time is divided: what counted by the end of each is remembered, should the agent end."""
LEAST = timedelta(minutes=1)
"""The shortest such part."""


@answered_once
def release_served(world: World) -> KnownRelease | None:
    """Return the release that the serving version has; None where nobody can tell.

    What main has now is believed first: another base may make the same version in this environment.
    """
    active, target = world.active, world.target
    if active is None:
        return None
    is_wanted = bool(target) and world.target_digest == active.digest
    release = target.release if target and is_wanted else active.release
    if release is None:
        return None
    return KnownRelease(numbered(world, release, active), release.commit)


def setback(world: World) -> str:
    """Return what sets the time of the version that serves back to nothing; or empty."""
    return fault(world) or _too_small(world)


def fault(world: World) -> str:
    """Return what speaks against the version that serves; or empty. A pod that is missing for a moment does not."""
    active = world.active
    if active is None:
        return "nothing serves"
    run, restart = world.record.run(AnalysisStage.POST), world.record.operator.restart
    answers = (
        unavailable(world),
        unreached(world),
        led_elsewhere(world),
        "traffic goes back" if world.incoming and world.switch_kind is SwitchKind.ROLLBACK else "",
        "it lacks pods" if active.stabilization is not None and active.stabilization.unready else "",
        str(run) if run is not None and run.digest == active.digest and run.bad else "",
        "it is on hold" if world.record.held(active.digest) else "",
        "its pods are restarted" if restart is not None and restart.begun else "",
    )
    return next(filter(None, answers), "")


def _too_small(world: World) -> str:
    """Return that fewer pods are available than a switch to it would need: one of ten that answers proves nothing."""
    active = world.active
    if active is None or not world.full_size:
        return ""
    needed = max(1, wanted_size(world, active) if active.on_every_node else world.full_size)
    available = world.available(active.digest)
    return f"{available} of its {needed} pods are available" if available < needed else ""


def is_settled(world: World, active: Version) -> bool:
    """Return whether the switch to it is over, and nothing judges it any more."""
    run = world.record.run(AnalysisStage.POST)
    judged = run is not None and run.digest == active.digest and run.open
    return active.routed_at is not None and world.record.routing.switch is None and not judged


def is_counting(world: World) -> bool:
    """Return whether the clock runs now: not while the app is suspended, nor while nobody can look."""
    environment = world.desired.environment
    return environment is not None and environment.watched_since is not None and not world.suspended


def asked_still(world: World) -> tuple[int, ...]:
    """Return the thresholds that the serving release has not reached by what was told, the fewest seconds first: those
    of later environments by any of its versions, that of the next wave by this version.
    """
    environment, served, active = world.desired.environment, release_served(world), world.active
    if environment is None or served is None or active is None:
        return ()
    proving, key = world.record.proving, (served.id.digest, served.commit)
    asked = {each for each in environment.thresholds if each > proving.longest(*key)}
    of_wave = environment.asked_by_wave
    if of_wave is not None and of_wave > proving.longest(*key, active.digest):
        asked.add(of_wave)
    return tuple(sorted(asked))


def next_moment(world: World) -> datetime | None:
    """Return when time alone proves the release that serves for longer, or what counted is to be remembered."""
    proving, asked = world.record.proving, asked_still(world)
    if not asked or proving.since is None or proving.version != world.record.routing.traffic:
        return None
    proven_at = proving.since + timedelta(seconds=asked[0] - proving.seconds)
    return min(proven_at, proving.since + part_of(asked[0]))


def part_of(seconds: int) -> timedelta:
    """Return how much time is remembered at once, on the way to a threshold."""
    return max(LEAST, timedelta(seconds=seconds) / CHECKPOINTS)

"""What the environment of an app takes in, as the engine sees it: the release that is chosen now, and what the next one
waits for (decision 113). A suspended app takes nothing in; live traffic never depends on any of this.
"""

from datetime import timedelta

from gitops_bg.core.checks.policy_rules import length
from gitops_bg.core.checks.proving import asked_still, is_settled, release_served, setback
from gitops_bg.core.checks.release_choice import NOTHING, Choice, Here, choose, is_newer, missing_proof
from gitops_bg.core.delivery.world import answered_once
from gitops_bg.core.environments.model import Newer
from gitops_bg.core.environments.proven import EnvironmentInput, KnownRelease
from gitops_bg.core.world import World


@answered_once
def entry_choice(world: World) -> Choice:
    """Return what comes into the app's environment now, and what the next release waits for."""
    environment = world.desired.environment
    if environment is None or not environment.formers or not world.is_in_main:
        return NOTHING
    if world.suspended:
        return NOTHING
    here = Here(_held_here(world), _on_its_way(world, environment))
    offered = _offered_still(environment, here)
    choice = choose(environment, here)
    if offered is None or environment.newer is not Newer.WAIT or choice.release in (None, offered):
        return choice
    assert choice.release is not None
    waits = (
        f"{choice.release.id.name} waits until {offered.id.name} is merged, or its pull request closed (newer: wait)"
    )
    return Choice(offered, waits)


def _offered_still(environment: EnvironmentInput, here: Here) -> KnownRelease | None:
    """Return the release on the branch that asks for one, as long as it may come in."""
    held = dict((*environment.held, *here.held))
    offered = (each for each in environment.known if each.id.digest == environment.offered)
    may = (each for each in offered if each.id.digest not in held and is_newer(environment, each))
    return next((each for each in may if not missing_proof(environment, each)), None)


def _held_here(world: World) -> tuple[tuple[str, str], ...]:
    """Return the releases of which a version is on hold here: a rollback in this environment keeps its release out."""
    held = ((world.record.version(hold.digest), hold.why) for hold in world.record.holds)
    return tuple((version.release.digest, why) for version, why in held if version is not None and version.release)


def _on_its_way(world: World, environment: EnvironmentInput) -> str:
    """Return what the release that came in last is to do before another one takes its place; empty where it has
    ended: it is given up, does not serve well, or has served for as long as any later environment asks.
    """
    entered, active, target = environment.entered, world.active, world.target
    if entered is None or not target or not target.release or world.record.held(world.target_digest):
        return ""
    served = release_served(world)
    if served is None or served.id != target.release:
        return f"{target.release.name} serves here, or is given up"
    if active is None or setback(world):
        return ""
    if not is_settled(world, active):
        return f"{target.release.name} has settled here"
    asked = asked_still(world)
    return f"{target.release.name} has served here for {length(timedelta(seconds=asked[-1]))}" if asked else ""

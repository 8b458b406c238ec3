"""What the environment of an app takes in, as the engine sees it: the release that is chosen now, and what the next one
waits for (decision 113). A suspended app takes nothing in; live traffic never depends on any of this.
"""

from collections.abc import Iterator
from datetime import timedelta

from gitops_bg.core.checks.policy_rules import length
from gitops_bg.core.checks.proving import asked_still, fault, is_settled, release_served
from gitops_bg.core.checks.release_choice import NOTHING, Choice, Here, choose, is_newer, missing_proof
from gitops_bg.core.delivery.world import answered_once
from gitops_bg.core.environments.model import Newer
from gitops_bg.core.environments.proven import ClusterReport, EnvironmentInput, KnownRelease
from gitops_bg.core.model.journal import PullState
from gitops_bg.core.names import entry_branch
from gitops_bg.core.world import World


@answered_once
def entry_choice(world: World) -> Choice:
    """Return what comes into the app's environment now, and what the next release waits for."""
    environment = world.desired.environment
    if environment is None or not environment.formers or not world.is_in_main:
        return NOTHING
    if world.suspended:
        return NOTHING
    here = Here(tuple(held_here(world)), _on_its_way(world, environment))
    offered = _offered_still(environment, here)
    choice = choose(environment, here)
    if offered is None or environment.newer is not Newer.WAIT or choice.release in (None, offered):
        return choice
    assert choice.release is not None
    waits = (
        f"{choice.release.id.name} waits until {offered.id.name} is merged, or its pull request closed (newer: wait)"
    )
    return Choice(offered, waits)


def entry_awaited(world: World) -> str:
    """Return what the entry of a release waits for, in a sentence: people, and what the next one lacks; or empty."""
    environment, waits = world.desired.environment, entry_choice(world).waits
    offered = environment.offered if environment is not None else None
    if environment is None or offered is None or offered.release is None or why_withdrawn(world, environment):
        return waits
    if refusal(world, offered.release.id.digest):
        return waits
    pull, name = world.observed.git.entry_pull, offered.release.id.name
    is_open = pull is not None and pull.state is PullState.OPEN and pull.url
    where = pull.url if pull is not None and is_open else f"the branch {entry_branch(environment.name, world.spec.app)}"
    asked = f"{name} comes in once somebody merges {where}"
    return f"{asked}; {waits}" if waits and name not in waits else asked


def refusal(world: World, release: str) -> str:
    """Return who keeps a release out of this environment by closing its pull request; empty where nobody does."""
    return next((each.why for each in world.record.git.refused if each.release.digest == release), "")


def _offered_still(environment: EnvironmentInput, here: Here) -> KnownRelease | None:
    """Return the release on the branch that asks for one, as long as it may come in."""
    offered, held = environment.offered, dict((*environment.held, *here.held))
    release = offered.release if offered is not None else None
    if release is None or release.id.digest in held or not is_newer(environment, release):
        return None
    return None if missing_proof(environment, release) else release


def may_offer(world: World, environment: EnvironmentInput, chosen: KnownRelease) -> bool:
    """Return whether the branch is to ask for ``chosen`` from now on. Clusters of one environment may choose
    differently for a while, so only what is newer takes the place of what stands there; what a person asks for stays,
    until somebody refuses it.
    """
    offered = environment.offered
    if offered is None or offered.release is None:
        return True
    is_asked = offered.by_person and not refusal(world, offered.release.id.digest)
    if is_asked or offered.is_of(chosen):
        return False
    there = offered.release.landed
    return there is None or (chosen.landed is not None and chosen.landed > there)


def why_withdrawn(world: World, environment: EnvironmentInput) -> str:
    """Return why the branch that asks for a release is deleted; empty where it stays. That nobody proves it at this
    moment is no reason: a ledger that is missing once would close what people are about to merge.
    """
    offered, entered = environment.offered, environment.entered
    release = offered.release if offered is not None else None
    if offered is None or release is None or refusal(world, release.id.digest):
        return ""  # A pull request that somebody closed can be reopened only while its branch exists.
    if entered is not None and entered.id.digest == release.id.digest:
        return f"{release.id.name} came in"
    everywhere, here = dict(environment.held), dict(held_here(world))
    may_tidy_own = offered.here or offered.by_person
    if why := everywhere.get(release.id.digest) or (here.get(release.id.digest) if may_tidy_own else None):
        return f"{release.id.name} is on hold: {why}"
    places = (entered.landed if entered is not None else None, release.landed)
    if entered is not None and None not in places and not is_newer(environment, release):
        return "" if entered.id.digest in everywhere else f"{entered.id.name} came in, which is newer"
    if not offered.here or offered.by_person or any(report.trouble for report in _reports(environment)):
        return ""
    missing = missing_proof(environment, release)
    return f"{release.id.name} is proven no more: {'; '.join(missing)}" if missing else ""


def _reports(environment: EnvironmentInput) -> Iterator[ClusterReport]:
    return (report for former in environment.formers for report in former.clusters)


def held_here(world: World) -> Iterator[tuple[str, str]]:
    """Yield the releases that are kept out here: those that people refused, and those of which a version is on hold. A
    rollback in this environment keeps its release out.
    """
    yield from ((each.release.digest, each.why) for each in world.record.git.refused)
    for hold in world.record.holds:
        version = world.record.version(hold.digest)
        if version is not None and version.release:
            yield version.release.digest, hold.why


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
    if active is None or fault(world):
        return ""
    if not is_settled(world, active):
        return f"{target.release.name} has settled here"
    asked = asked_still(world)
    if asked:
        return f"{target.release.name} has served here for {length(timedelta(seconds=asked[-1]))}"
    return next(filter(None, (_awaited_in(each, environment, entered) for each in environment.siblings)), "")


def _awaited_in(report: ClusterReport, environment: EnvironmentInput, entered: KnownRelease) -> str:
    """Return what a release is to do in another cluster of this environment; empty where that is over."""
    name, asked = entered.id.name, max(environment.thresholds, default=0)
    if report.trouble:
        return f"{report.cluster} says how far {name} is ({report.trouble})"
    if report.serves is None or report.serves.digest != entered.id.digest:
        return f"{name} serves in {report.cluster}, or is given up"
    proofs = (each.seconds for each in report.proven if each.is_of(entered.id.digest, entered.commit))
    is_done = not environment.thresholds or any(seconds >= asked for seconds in proofs)
    return "" if is_done else f"{name} has served in {report.cluster} for {length(timedelta(seconds=asked))}"

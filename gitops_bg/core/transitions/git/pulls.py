"""The step that follows a pull request that was closed without a merge, or reopened (decision 31).

A closing counts once main has been looked at after it was seen: what main says by then is the later decision. It
answers one offer only, so it holds nothing that was promoted, superseded or retried since.
"""

from gitops_bg.core.checks.git.pulls import is_declined, is_held_by_closing
from gitops_bg.core.delivery.holds import lift_hold, put_hold
from gitops_bg.core.model.git.pulls import PullRequest, PullState, offer_of
from gitops_bg.core.model.statements import Cause, Says
from gitops_bg.core.world import World


def hear_pull_request(world: World) -> World:
    """Hold what a closed pull request offered. A reopened one lifts that hold, and no other."""
    pull = world.observed.git.pull
    if pull is None or pull.seen_at is None or not world.main_counts:
        return world
    match pull.state:
        case PullState.CLOSED:
            return _hold(world, pull)
        case PullState.OPEN:
            return _lift(world, pull)
        case PullState.MERGED:
            return world


def _hold(world: World, pull: PullRequest) -> World:
    candidate = world.candidate
    if candidate is None or candidate.digest == world.primary_digest or not is_declined(world, candidate):
        return world
    if pull.seen_at is None or not pull.seen_at.is_over(world.desired.looks):
        return world
    who = pull.closed_by or "somebody"
    reason = f"{who} closed pull request #{pull.number}; reopening it lifts this, too"
    return put_hold(world, candidate.digest, cause=Cause.CLOSED, reason=reason, by=pull.closed_by)


def _lift(world: World, pull: PullRequest) -> World:
    version = world.record.version(world.target_digest)
    if version is None or not is_held_by_closing(world, version.digest):
        return world
    if pull.offer != offer_of(version, world.spec):
        return world
    return lift_hold(world, version.digest, how=Says.CLEARED, reason=f"pull request #{pull.number} was reopened")

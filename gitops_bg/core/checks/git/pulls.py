"""Whether somebody rejected a promotion by closing its pull request (decision 31)."""

from gitops_bg.core.checks.git.offers import is_promoted_elsewhere
from gitops_bg.core.model.git.pulls import PullState, offer_of
from gitops_bg.core.model.statements import Cause
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World


def is_declined(world: World, version: Version) -> bool:
    """Whether the pull request of this very offer is closed: then the agent writes nothing to a branch that somebody
    may delete.
    """
    pull = world.observed.git.pull
    known = pull is not None and pull.seen_at is not None and pull.state is PullState.CLOSED
    return known and pull is not None and pull.offer == offer_of(version, world.spec)


def is_held_by_closing(world: World, digest: str) -> bool:
    """Whether the hold on a digest came from a closed pull request, and ends when that is reopened."""
    hold = world.record.held(digest)
    return hold is not None and hold.cause is Cause.CLOSED


def is_superseded_in_place(world: World, digest: str) -> bool:
    """Whether an agent's open pull request should offer the newer candidate instead, once that is ready: this
    agent's, or that of another cluster.

    Without an open pull request the agent deletes the branch, so that nobody merges a superseded version; with one, its
    status says so.
    """
    pull, candidate, branch = world.observed.git.pull, world.candidate, world.observed.git.promotion
    is_open = pull is not None and pull.state is PullState.OPEN  # Open as far as the status remembers it, too.
    if not is_open or candidate is None or world.record.override:
        return False
    elsewhere = branch is not None and branch.digest == digest and is_promoted_elsewhere(branch)
    by_agent = digest == world.record.git.offered or elsewhere
    return by_agent and candidate.digest not in (digest, world.primary_digest)

"""The promotion branch and its pull request: whose the branch is, who said no by closing it, and who merged it.

Clusters that follow one folder share a branch (DESIGN §3, decision 31). A forge is asked for a while who merged a
promotion, after traffic moved; nothing waits for the answer.
"""

from datetime import datetime, timedelta

from gitops_bg.core.model.git.pulls import PullState, offer_of
from gitops_bg.core.model.observed import PromotionBranch
from gitops_bg.core.model.record import Event, PendingMergeLookup
from gitops_bg.core.model.statements import Cause
from gitops_bg.core.model.version import Stage, Version
from gitops_bg.core.way_back import can_roll_back_without_gates
from gitops_bg.core.world import World


def is_offered_here(world: World, branch: PromotionBranch) -> bool:
    """Whether this cluster offered what the branch has: as its commit says, or, where that names no cluster, the
    record.
    """
    return branch.digest == world.record.git.offered if branch.offered_here is None else branch.offered_here


def is_promoted_elsewhere(branch: PromotionBranch | None) -> bool:
    """Whether another cluster asks for a promotion."""
    return branch is not None and branch.offered_here is False and branch.asks_for == Event.PROMOTED


def follows_traffic_elsewhere(world: World, branch: PromotionBranch | None) -> bool:
    """Whether main is to follow the traffic of another cluster, which went back, or serves its first version: it stays
    as long as main is what it was offered for.
    """
    if branch is None or branch.offered_here is not False or branch.base_digest != world.primary_digest:
        return False
    return branch.asks_for in (Event.ROLLED_BACK, Event.DEPLOYED)


def is_way_back(world: World, branch: PromotionBranch) -> bool:
    """Whether a person offers a rollback where main takes no commit (`gitops-bg rollback`): theirs to merge or delete.

    It comes before any promotion: in an emergency nobody should race the agent for the branch. A branch that says it
    asks for a promotion is no rollback, even where the record that would know its author was lost.
    """
    version = world.record.version(branch.digest)
    if branch.digest == world.record.git.offered or branch.asks_for == Event.PROMOTED:
        return False
    if version is None or version.stage not in (Stage.LEGACY, Stage.ARCHIVED):
        return False
    live = version.digest in (world.record.routing.traffic, world.primary_digest)
    may_go = can_roll_back_without_gates(world.record, version)
    return bool(may_go) and not live and branch.base_digest == world.primary_digest


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


PATIENCE = timedelta(hours=1)


def given_up_at(asked: PendingMergeLookup) -> datetime:
    """Return when the agent stops asking."""
    return asked.since + PATIENCE


def moments_of_merges(world: World) -> tuple[datetime, ...]:
    """Return when the agent stops asking, for all open questions."""
    return tuple(map(given_up_at, world.record.git.asked_merges))

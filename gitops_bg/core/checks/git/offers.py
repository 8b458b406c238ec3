"""Whose a promotion branch is: clusters that follow one folder share it (DESIGN §3, decision 31)."""

from gitops_bg.core.model.observed import PromotionBranch
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import Stage
from gitops_bg.core.way_back import may_return_without_gates
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
    may_go = may_return_without_gates(world.record, version)
    return bool(may_go) and not live and branch.base_digest == world.primary_digest

"""The steps that record what the agent itself puts on the promotion branch, and what people add to it.

Promotion: the commit comes first, traffic second. Emergency rollback: traffic first, the commit afterwards.
"""

from dataclasses import replace

from gitops_bg.core.model.actions import OfferPromotion
from gitops_bg.core.plan.git import write_to_git
from gitops_bg.core.world import World


def note_offer(world: World) -> World:
    """Record what the agent itself offers: it may withdraw that, but not what a person, or another cluster, put on the
    branch.
    """
    git = world.observed.git
    offers = [action.version.digest for action in write_to_git(world) if isinstance(action, OfferPromotion)]
    gone = (git.promotion is None or git.promotion.offered_here is False) and not git.unreachable
    offered = offers[0] if offers else ("" if gone else world.record.git.offered)
    return world if offered == world.record.git.offered else world.with_part(replace(world.record.git, offered=offered))


def note_beside(world: World) -> World:
    """Remember that the branch offers a version together with other files, until that is over (policies.md §5).

    A squash or a rebase may leave no trace of it on main. It is over when the branch holds ``primary.yaml`` alone, or,
    once main names the version, when that was taken back or serves. A branch that main has says nothing more.
    """
    git, policing = world.observed.git, world.desired.policing
    if git.unreachable or not world.main_counts or policing is None:
        return world
    known, branch = world.record.git.beside, git.promotion
    waits = known and known == world.named and known != world.record.routing.traffic
    offers = branch is not None and branch.digest != world.named and bool(policing.beside)
    beside = known if waits else (branch.digest if branch and offers else "")
    return world if beside == known else world.with_part(replace(world.record.git, beside=beside))

"""The step that remembers what the agent itself puts on the promotion branch.

Promotion: the commit comes first, traffic second. Emergency rollback: traffic first, the commit afterwards.
"""

from dataclasses import replace

from gitops_bg.core.model.actions import OfferPromotion
from gitops_bg.core.plan.git import write_to_git
from gitops_bg.core.world import World


def note_offer(world: World) -> World:
    """Remember what the agent itself offers: it may take that back, but not what a person put on the branch."""
    git = world.observed.git
    offers = [action.version.digest for action in write_to_git(world) if isinstance(action, OfferPromotion)]
    gone = git.promotion is None and not git.unreachable
    offered = offers[0] if offers else ("" if gone else world.record.git.offered)
    return world if offered == world.record.git.offered else world.with_part(replace(world.record.git, offered=offered))

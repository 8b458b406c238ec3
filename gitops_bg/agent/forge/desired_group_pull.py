"""What a finished look at a group wants of the forge: from facts to plain data. Reads and writes nothing."""

from dataclasses import replace
from datetime import datetime

from gitops_bg.agent.groups.facts import GroupFacts
from gitops_bg.agent.groups.offered import OfferedGroup
from gitops_bg.core.groups.inspect.proposal import proposal_of
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.names import promotion_branch
from gitops_bg.forge.offer import DesiredPull, GroupOffer


def desired_pull_of_group(
    facts: GroupFacts, record: GroupRecord, now: datetime, cluster: str, base: str
) -> DesiredPull:
    """Return the wish; ``record`` is the decided one, ``base`` the branch that promotions are merged into."""
    wish, offered = DesiredPull(looks=facts.looks, asks=facts.asks), facts.offered
    if not isinstance(offered, OfferedGroup):
        return replace(wish, settled=offered is None)
    asks = proposal_of(facts.group, facts.desired, offered.desired, facts.observed, record, now)
    offer = GroupOffer(
        facts.group, cluster, offered.id, promotion_branch(facts.group), base, offered.head, offered.since, asks
    )
    return replace(wish, offer=offer)

"""All that a decision on a group depends on: main, the live group, its members, what policies ask. Only reads."""

from dataclasses import dataclass, replace
from datetime import datetime

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.groups.members import observed_members
from gitops_bg.agent.groups.policing import GroupPolicing
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.cluster.groups.group_cluster import GroupCluster, SeenGroup
from gitops_bg.core.groups.decision import GroupDecision
from gitops_bg.core.groups.desired import DesiredGroup
from gitops_bg.core.groups.engine import decide_group
from gitops_bg.core.groups.model import GroupKey
from gitops_bg.core.groups.observed import ObservedGroup
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.analysis_runs import MeasurementResult
from gitops_bg.spec.groups.load import GroupConfig


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A group at one moment."""

    key: GroupKey
    config: GroupConfig
    desired: DesiredGroup
    """With what policies ask."""
    seen: SeenGroup
    observed: ObservedGroup

    def knowing(self, measurements: tuple[MeasurementResult, ...], commit_trouble: str) -> "GroupFacts":
        """Return the facts with what was measured, and why main does not take the agent's commit."""
        observed = replace(self.observed, measurements=measurements, commit_trouble=commit_trouble)
        return replace(self, observed=observed)

    def decide(self, now: datetime) -> GroupDecision:
        """Return what to do, and what to remember."""
        return decide_group(self.key, self.desired, self.observed, self.seen.record, now)

    def world(self, record: GroupRecord, now: datetime) -> GroupWorld | None:
        """The world with a record; None where main has mistakes."""
        spec = self.desired.spec
        return GroupWorld(self.key, spec, self.desired, self.observed, record, now) if spec else None


def gather_group(
    catalog: Catalog, cluster: Cluster, groups: GroupCluster, policing: GroupPolicing, group: GroupKey
) -> GroupFacts | None:
    """Read everything about a group; None where main has none, or does not count: then nothing of it is changed."""
    reading = catalog.reading
    config = None if reading.followed.blind else reading.groups.get(group)
    if config is None:
        return None
    seen = groups.seen(group)
    state = seen.record.state
    members = observed_members(cluster, reading, group, config.desired, state)
    desired = replace(config.desired, policing=policing.of(reading, group, config.desired, state))
    return GroupFacts(group, config, desired, seen, groups.observe(group, seen, config.body, members))

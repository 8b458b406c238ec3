"""Gathers all that is known of one group into the arguments of `decide_group`. Only reads; decides nothing.

Of services that two folders claim as apps, the one that has an app keeps it.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.desired.reading import Reading
from gitops_bg.agent.groups.leaving import (
    UNREAD,
    GroupFolders,
    LeftFacts,
    LeftGroups,
    OfferedGroup,
    OfferedGroups,
    SeenFacts,
)
from gitops_bg.agent.groups.members import observed_members
from gitops_bg.agent.groups.policy_inputs import GroupPolicyInputs
from gitops_bg.agent.runtime.failures import log_bug
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.cluster.group_cluster import SeenGroup
from gitops_bg.core.checks.auxiliary import with_formers
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, guarded
from gitops_bg.core.group_engine import decide_group
from gitops_bg.core.groups.inputs import DesiredGroup, DesiredVersion, FormerGroup, GroupBranch, ObservedGroup
from gitops_bg.core.groups.model import GroupState, VersionStage
from gitops_bg.core.groups.record import GroupDecision, GroupRecord
from gitops_bg.core.groups.world import GroupWorld, member_name
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.hooks import Hook
from gitops_bg.core.model.journal import NO_JOURNAL, NO_LOOKS, Entry, GroupNamed, Journal, PollCount, in_order
from gitops_bg.core.model.main import MainRead
from gitops_bg.core.model.policy_facts import Others, Peer
from gitops_bg.core.model.policy_rules import Policy
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.core.status.peers import group_peer_of, peer_on_record
from gitops_bg.core.written import Labels
from gitops_bg.forge.asking import NO_ASKS, Asks
from gitops_bg.spec.app.layout import group_folder
from gitops_bg.spec.groups.load import GroupConfig
from gitops_bg.spec.notifications import alerts_of


def without_claimed(desired: DesiredGroup, reading: Reading, group: GroupKey) -> DesiredGroup:
    """Return the group without the services whose app lies in another folder, with a problem for each: they are not its
    own, and no route of it may lead there; also where its files cannot be read. An app that two folders claim is
    nobody else's.
    """
    problems: list[Problem] = []
    versions: dict[str, DesiredVersion] = {}
    for name, version in desired.versions.items():
        own = {}
        for service, one in version.services.items():
            folder, app = f"{group_folder(group)}/{name}/{service}", AppKey(group.namespace, member_name(service, name))
            entry = reading.entries.get(app) if one.pods else None
            if entry is None or entry.config.folder in ("", folder):
                own[service] = one
                continue
            message = f"is the app {app}, which {entry.config.folder} has already"
            problems.append(Problem(folder, message, remedy="give the service, or its version, another name"))
        versions[name] = replace(version, services=own)
    return replace(desired, versions=versions, problems=(*desired.problems, *problems)) if problems else desired


@dataclass(frozen=True, slots=True)
class GroupFacts(SeenFacts):
    """All that is known of one group at one moment."""

    config: GroupConfig
    desired: DesiredGroup
    """What the folder says, with what policies ask, and who is told of what happens."""
    observed: ObservedGroup
    asks: Asks = NO_ASKS
    """What a forge is asked about people."""
    offered: OfferedGroup | GitopsBgError | None = None
    """What its branch asks people to merge, or why that cannot be read; None where there is none, or main says the
    same.
    """
    has_forge: bool = False
    """Whether a forge is asked at all."""
    looks: PollCount = NO_LOOKS
    """The look at main that it comes from."""

    labels: Callable[[AppKey], Labels] = lambda _: ()
    """The labels of a service in main."""

    @property
    def commit(self) -> str:
        """The commit of main that is decided on."""
        return self.desired.commit

    @property
    def body(self) -> Mapping[str, Any]:
        """The spec of the live ReleaseGroup, as it is to be."""
        return self.config.body

    @property
    def decided_from(self) -> str:
        """The commit of main that the facts are of."""
        return self.desired.main.at.commit

    @property
    def offered_head(self) -> str:
        """The head of the group's branch; empty where there is none."""
        return self.observed.branch.commit if self.observed.branch is not None else ""

    def decide(self, now: datetime) -> GroupDecision:
        """Return what the engine decides on these facts."""
        return decide_group(self.group, self.desired, self.observed, self.seen.record, now)

    @property
    def policies(self) -> tuple[Policy, ...]:
        """All policies of its services that are asked, also about what its branch offers."""
        asked = [*self.desired.policing.values()]
        if isinstance(self.offered, OfferedGroup):
            asked += self.offered.desired.policing.values()
        return tuple(policy for each in asked for policy in each.policing.all_policies)

    def with_others(self, others: Others) -> "GroupFacts":
        """Return the facts with what is known of those that the policies ask about."""
        if not self.policies:
            return self
        offered = self.offered
        if isinstance(offered, OfferedGroup):
            offered = replace(offered, desired=_with_others(offered.desired, others))
        return replace(self, desired=_with_others(self.desired, others), offered=offered)

    def peer_after(self, decision: GroupDecision, now: datetime) -> Peer:
        """Return the state of the group after a decision, for the policies of others."""
        if self.desired.spec is None:
            return peer_on_record(self.group, decision.record, self.labels)
        world = GroupWorld(self.group, self.desired.spec, self.desired, self.observed, decision.record, now)
        return group_peer_of(world, self.labels)


class GroupGatherer:
    """Reads one group at a time, for the agent and for commands."""

    def __init__(self, catalog: Catalog, cluster: Cluster) -> None:
        self._folders = GroupFolders(catalog.repository)
        self._branches = OfferedGroups(catalog.repository, self._folders)
        self._looks = catalog.poll_count
        self._catalog = catalog
        self._cluster = cluster
        self._groups = cluster.release_groups
        self._left = LeftGroups(catalog, cluster, self._branches)
        self._policing = GroupPolicyInputs(catalog.policing, catalog.repository, cluster)

    def gather(self, reading: Reading, group: GroupKey, now: datetime) -> GroupFacts | LeftFacts | None:
        """Read everything about a group; None for one that neither main nor the cluster has, and for one that another
        agent follows by now.

        Raises the errors of ``core.errors``.
        """
        seen = self._groups.seen(group)
        main = self._catalog.main_read(reading, group, seen.record.main, seen.record.lost)
        config = reading.groups.get(group) if main.counts else None
        if config is not None:
            return self._all_of(reading, group, config, seen, main)
        if seen.body is None or not self._groups.is_ours(seen.body):
            return None
        if not main.counts:
            return self._as_recorded(reading, group, seen, main)
        return self._left.facts_of(reading, group, seen, main, now) if reading.group_has_left(group) else None

    def _all_of(
        self, reading: Reading, group: GroupKey, config: GroupConfig, seen: SeenGroup, main: MainRead
    ) -> GroupFacts:
        config = replace(config, desired=without_claimed(replace(config.desired, main=main), reading, group))
        live = self._observed(reading, group, config, seen, reading.groups)
        live = replace(live, formers=tuple(each for each in live.formers if self._knows(reading, group, each)))
        observed = replace(live, rivals=with_formers(live.rivals, *self._left_main(reading, group, live)))
        policing = self._policing.of(reading, group, config.desired, seen.record.state)
        desired = replace(config.desired, policing=policing.members, alerts=_alerts(reading, group))
        desired = replace(desired, journal=self._journal(desired, group, seen.record))
        offered, branch = self._offered(reading, group, config.desired, seen.record.state)
        observed = replace(observed, branch=branch)
        asks = policing.asks or (offered.asks if isinstance(offered, OfferedGroup) else NO_ASKS)
        return GroupFacts(
            group,
            seen,
            config,
            desired,
            observed,
            asks,
            offered,
            reading.settings.forge is not None,
            self._looks(),
            reading.labels,
        )

    def _journal(self, desired: DesiredGroup, group: GroupKey, record: GroupRecord) -> Journal:
        """Return what main said that is new to the record."""
        spec = desired.spec
        if spec is None:
            return NO_JOURNAL
        named: tuple[Entry, ...] = ()
        if record.transition is not None or spec.active != record.state.only(VersionStage.ACTIVE):
            promotion, _ = self._policing.promotion_of(group, spec.active, desired.commit)
            named = (Entry(promotion, GroupNamed(spec.active)),) if promotion is not None else ()
        return Journal(in_order(named, *self._catalog.asked_of_group(group, spec, record, desired.main.at.commit)))

    def _knows(self, reading: Reading, group: GroupKey, former: FormerGroup) -> bool:
        """Return whether main is no older than the one that another group was decided from: else it may be newer than
        main.
        """
        key, record = GroupKey(group.namespace, former.name), former.record
        return self._catalog.main_read(reading, key, record.main, record.lost).counts

    def _as_recorded(self, reading: Reading, group: GroupKey, seen: SeenGroup, main: MainRead) -> GroupFacts:
        """Return the facts where main does not count: what the main of the record said of the group, as far as it can
        still be read, and nothing that main says or lacks of anybody else.
        """
        config = UNREAD if main.is_older else self._folders.config(group, seen.record.main.commit)
        config = replace(config, desired=replace(config.desired, main=main, alerts=_alerts(reading, group)))
        observed = self._observed(reading, group, config, seen, ())
        return GroupFacts(group, seen, config, config.desired, observed, labels=reading.labels)

    def _observed(
        self, reading: Reading, group: GroupKey, config: GroupConfig, seen: SeenGroup, in_main: Collection[GroupKey]
    ) -> ObservedGroup:
        members = observed_members(self._cluster, reading, group, config.desired, seen.record.state)
        live = self._groups.observe(group, seen, config.body, members, in_main)
        git = self._catalog.git_view_of_group(reading, group, seen.record, seen.pull)
        return replace(live, git=git, memory=self._catalog.memory_of(group, seen.record))

    def _left_main(
        self, reading: Reading, group: GroupKey, live: ObservedGroup
    ) -> tuple[tuple[AppKey, ...], tuple[str, ...]]:
        """Return the live apps, and release groups by name, of the namespace whose folder left main."""
        apps = tuple(each for each in self._cluster.apps(group.namespace) if reading.has_left(each))
        return apps, tuple(each.name for each in live.formers)

    def _offered(
        self, reading: Reading, group: GroupKey, main: DesiredGroup, state: GroupState
    ) -> tuple[OfferedGroup | GitopsBgError | None, GroupBranch | None]:
        """Return what the branch of the group asks for, with what policies ask about that, or why nobody can read it,
        since nothing else waits for that; and the branch.
        """
        try:
            with guarded(f"reading the branch of {group}"):
                found = self._branches.of(group, main)
                if not isinstance(found, OfferedGroup):
                    return None, found
                if found.desired.spec is None:
                    return found, found.branch
                policing = self._policing.of(reading, group, found.desired, state, promoted=False)
        except GitopsBgError as error:
            log_bug(error)
            return error, self._branches.unread(group)
        offered = replace(found, desired=replace(found.desired, policing=policing.members), asks=policing.asks)
        return offered, found.branch


def _with_others(desired: DesiredGroup, others: Others) -> DesiredGroup:
    policing = {
        name: replace(each, policing=replace(each.policing, others=others)) for name, each in desired.policing.items()
    }
    return replace(desired, policing=policing)


def _alerts(reading: Reading, group: GroupKey) -> tuple[Hook, ...]:
    """Return who is told of what happens to a group."""
    alerting = reading.alerting
    return alerts_of(AppKey(group.namespace, group.name), None, alerting.document, alerting).hooks

"""Looks at live groups whose folder left main, to end them or to leave them as they are. Only reads."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.desired.reading import Reading
from gitops_bg.agent.groups.heirs import why_awaited
from gitops_bg.agent.groups.members import members_in
from gitops_bg.agent.groups.offered import OfferedGroups
from gitops_bg.agent.reconcile.facts import why_accident
from gitops_bg.agent.runtime.boundaries import log_bug
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.cluster.groups.group_cluster import SeenGroup
from gitops_bg.core.errors import GitopsBgError, InvalidInput, guarded
from gitops_bg.core.group_engine import LeftGroup, decide_left
from gitops_bg.core.groups.inputs import ObservedGroup
from gitops_bg.core.groups.plan import members_of as serving_members
from gitops_bg.core.groups.record import GroupDecision, GroupRecord
from gitops_bg.core.groups.world import member_name
from gitops_bg.core.model.auxiliary import RivalRoute, claim_of
from gitops_bg.core.model.main import MainRead
from gitops_bg.core.model.policy_facts import Others
from gitops_bg.core.model.policy_rules import Policy
from gitops_bg.core.model.spec import DeletionPolicy
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.spec.groups.live import last_spec


@dataclass(frozen=True, slots=True)
class SeenFacts:
    """What every look at a live group knows: whose it is, and the group as it was seen."""

    group: GroupKey
    seen: SeenGroup

    @property
    def subject(self) -> GroupKey:
        """Whose facts these are."""
        return self.group

    @property
    def record(self) -> GroupRecord:
        """The record that is decided on."""
        return self.seen.record


@dataclass(frozen=True, slots=True)
class LeftFacts(SeenFacts):
    """All that is known of a group whose folder left main, at one moment."""

    left: LeftGroup
    policies: tuple[Policy, ...] = ()
    """None is asked: nothing is promoted any more."""
    body: Mapping[str, Any] = field(default_factory=dict)
    """Nothing of the live ReleaseGroup is written anew."""

    @property
    def commit(self) -> str:
        """The commit of main that the folder is missing in."""
        return self.left.main.at.commit

    @property
    def goes_on(self) -> bool:
        """Whether something may follow that nothing else tells of: it ends, or another group takes over."""
        return self.left.policy is DeletionPolicy.DELETE or bool(self.left.successor)

    def with_others(self, _others: Others) -> "LeftFacts":
        """The same facts: nothing is asked about others."""
        return self

    def decide(self, now: datetime) -> GroupDecision:
        """What becomes of it."""
        return decide_left(self.left, self.seen.record, now)


class LeftGroups:
    """Reads one at a time."""

    def __init__(self, catalog: Catalog, cluster: Cluster, branches: OfferedGroups) -> None:
        self._catalog = catalog
        self._cluster = cluster
        self._groups = cluster.release_groups
        self._branches = branches

    def facts_of(self, reading: Reading, group: GroupKey, seen: SeenGroup, main: MainRead, now: datetime) -> LeftFacts:
        """All that decides about a live group that ``main`` does not have."""
        return LeftFacts(group, seen, self._left(reading, group, seen, main, now))

    def _left(self, reading: Reading, group: GroupKey, seen: SeenGroup, main: MainRead, now: datetime) -> LeftGroup:
        spec = (seen.body or {}).get("spec") or {}
        policy, suspend = last_spec(spec)
        git = self._catalog.git_view_of_group(reading, group, seen.record, None)
        memory = self._catalog.memory_of(group, seen.record)
        suspended = suspend is not None and suspend.lasts(now)
        branch = "" if suspended else self._branch(group)
        left = LeftGroup(group, policy, main=main, ledger_at=git.ledger_at, memory=memory, branch=branch)
        left = self._with_successor(left, reading, seen.record)
        if policy is DeletionPolicy.KEEP:
            return left
        observed = self._groups.observe(group, seen, spec, {})
        kept = "it is suspended" if suspended else self._why_kept(reading, group, seen.record, observed)
        members = (app for app in members_of(group, seen.record) if self._cluster.bgd(app) is not None)
        return replace(
            left,
            kept=kept,
            routes=tuple(name for name, each in sorted(observed.routes.items()) if not each.foreign),
            services=tuple(name for name, each in sorted(observed.services.items()) if not each.foreign),
            members=tuple(app.name for app in members),
        )

    def _branch(self, group: GroupKey) -> str:
        """The head of its promotion branch, where that is to go; empty also where nobody can read it now."""
        if self._catalog.unreachable:
            return ""
        try:
            with guarded(f"reading the branch of {group}"):
                return self._branches.head_to_withdraw(group)
        except GitopsBgError as error:
            log_bug(error)
            return ""

    def _with_successor(self, left: LeftGroup, reading: Reading, record: GroupRecord) -> LeftGroup:
        """Add the group that takes over what this one has (`core.groups.succession`), or is to. A new one whose files
        nobody can read may be it.
        """
        serving = frozenset(serving_members(record.state).values())
        for key, config in reading.groups.items():
            if key.namespace != left.key.namespace:
                continue
            with suppress(InvalidInput):  # Of a damaged record nobody knows what it succeeds.
                heir = self._groups.seen(key).record
                if heir.succeeds == left.key.name:
                    return replace(left, successor=key.name, taken_over=True)
                own = {each.name for each in members_in(key, config.desired)}
                may_be_it = serving <= own or config.desired.spec is None
                if not heir.state.versions and serving and may_be_it:
                    return replace(left, successor=key.name)
        return left

    def _why_kept(self, reading: Reading, group: GroupKey, record: GroupRecord, observed: ObservedGroup) -> str:
        """Why a group does not end although its file said so; empty where nothing speaks against it."""
        if observed.foreign:
            return observed.foreign
        if reading.followed.lost:
            return f"main was rewritten: {reading.followed.lost[:10]} is gone"
        if not record.state.versions:
            return "nothing is remembered of it, so nobody knows which services it has"
        there = [app.name for app in members_of(group, record) if not reading.has_left(app)]
        if there:
            return f"main has a folder of {', '.join(there)} still, which may be the group under another name"
        awaited = why_awaited(self._cluster, reading, group.namespace, _routes(observed), observed.rivals)
        return awaited or why_accident(self._catalog, self._cluster, reading)


def members_of(group: GroupKey, record: GroupRecord) -> tuple[AppKey, ...]:
    """The apps of all services of a group that its record knows."""
    found = (member_name(each.service, each.initial_version) for each in record.state.endpoints)
    return tuple(AppKey(group.namespace, name) for name in sorted(set(found)))


def _routes(observed: ObservedGroup) -> Iterator[RivalRoute]:
    """The group's own routes, as those who say the same requests see them."""
    for name, each in observed.routes.items():
        if each.route is not None and not each.foreign:
            yield RivalRoute(name, "", claim_of(each.route), answered=each.answered)

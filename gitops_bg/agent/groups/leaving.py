"""Release groups elsewhere than in main as it is: their folders at other commits, what their branches ask people to
merge, and live groups whose folder left main, to end them or to leave them as they are. Only reads.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import field, replace
from datetime import UTC, datetime
from typing import Any

from cachetools import LRUCache

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.desired.document_caches import group_in
from gitops_bg.agent.desired.reading import Reading
from gitops_bg.agent.groups.members import members_in, why_awaited
from gitops_bg.agent.reconcile.facts import why_accident
from gitops_bg.agent.runtime.failures import log_bug
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.cluster.group_cluster import SeenGroup
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, InvalidInput, guarded
from gitops_bg.core.group_engine import LeftGroup, decide_left
from gitops_bg.core.groups.inputs import DesiredGroup, GroupBranch, ObservedGroup
from gitops_bg.core.groups.plan import members_of as serving_members
from gitops_bg.core.groups.record import GroupDecision, GroupRecord
from gitops_bg.core.groups.world import member_name
from gitops_bg.core.model.auxiliary import RivalRoute, claim_of
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.main import MainRead
from gitops_bg.core.model.policy_facts import CommitFacts, Others
from gitops_bg.core.model.policy_rules import Policy
from gitops_bg.core.model.spec import DeletionPolicy
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.core.names import promotion_branch
from gitops_bg.forge.asking import NO_ASKS, Asks
from gitops_bg.repo.read.promotion_branches import cluster_in
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.analysis.templates import load_templates
from gitops_bg.spec.app.layout import ANALYSIS_FOLDER, group_folder
from gitops_bg.spec.groups.content import as_merged
from gitops_bg.spec.groups.load import GroupConfig, last_spec

LOGGER = logging.getLogger(__name__)

UNREAD = GroupConfig(DesiredGroup(None))
"""A folder of which nobody can say now what it says."""
_REMEMBERED = 200

Files = Mapping[str, bytes | Problem]


class GroupFolders:
    """The groups of one repository, whose lock makes it thread-safe."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._files: LRUCache[tuple[GroupKey, str], Files] = LRUCache(_REMEMBERED)
        self._configs: LRUCache[tuple[GroupKey, str], GroupConfig] = LRUCache(_REMEMBERED)

    def files(self, group: GroupKey, commit: str) -> Files:
        """Return the files of a group's folder, by their paths in it. Raises the errors of ``core.errors``."""
        if (group, commit) not in self._files:
            folder = f"{group_folder(group)}/"
            files = {path.removeprefix(folder): each for path, each in self._below(folder[:-1], commit).items()}
            self._files[group, commit] = files
        return self._files[group, commit]

    def config(self, group: GroupKey, commit: str) -> GroupConfig:
        """Return what the folder says, with the analyses of that commit; `UNREAD` where it is no usable group, or where
        the mirror lacks the commit.
        """
        if (group, commit) in self._configs:
            return self._configs[group, commit]
        try:
            with guarded(f"reading the group {group} at {commit[:10]}"):
                found = self._load(group, commit) if self._has(commit) else UNREAD
        except GitopsBgError as error:
            log_bug(error)
            LOGGER.warning("%s: nobody knows what its folder said at %s: %s", group, commit[:10], error)
            return UNREAD
        if found.desired.spec is None:
            return UNREAD
        self._configs[group, commit] = found
        return found

    def _has(self, commit: str) -> bool:
        return bool(commit and self._repository.commits.facts([commit]))

    def _load(self, group: GroupKey, commit: str) -> GroupConfig:
        library = load_templates(self._below(ANALYSIS_FOLDER, commit))
        return group_in(group, self._below(group_folder(group), commit), commit, library)

    def _below(self, folder: str, commit: str) -> Files:
        return {path: file.content for path, file in self._repository.files_below(folder, commit).items()}


_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class OfferedGroup:
    """The branch, and what main would say of the group after its merge."""

    branch: GroupBranch
    id: str
    """Equal ids ask for the same, on whichever main they were made."""
    since: datetime
    """When its commit was made."""
    desired: DesiredGroup
    asks: Asks = NO_ASKS
    """What a forge is asked about people before anybody merges it."""


class OfferedGroups:
    """The branches of groups of one repository, whose lock makes it thread-safe."""

    def __init__(self, repository: Repository, folders: GroupFolders) -> None:
        self._repository = repository
        self._folders = folders

    def of(self, group: GroupKey, main: DesiredGroup) -> OfferedGroup | GroupBranch | None:
        """Return what the branch asks for; only the branch where main says the same, None where there is none. Raises
        the errors of ``core.errors``.
        """
        found, name = self._repository.group_branches.offered(group), promotion_branch(group)
        if found is None:
            return None
        if found.is_merged:
            return GroupBranch(name, found.commit, is_merged=True)
        before = self._folders.files(group, found.parent) if found.parent else {}
        desired = as_merged(main, group, before, self._folders.files(group, found.commit))
        facts = self._repository.commits.facts([found.commit]).get(found.commit)
        active = desired.spec.active if desired.spec is not None else ""
        own = self._is_own(facts)
        branch = GroupBranch(name, found.commit, active, is_own=own, is_outdated=found.is_outdated)
        since = (facts.at if facts is not None else None) or _LONG_AGO
        return OfferedGroup(branch, found.folder, since, desired)

    def head_to_withdraw(self, group: GroupKey) -> str:
        """Return the head of the branch of a group without a folder, where that is the agent's own, or main has it;
        empty where there is none. Raises the errors of ``core.errors``.
        """
        found = self._repository.group_branches.offered(group)
        if found is None:
            return ""
        facts = self._repository.commits.facts([found.commit]).get(found.commit)
        return found.commit if found.is_merged or self._is_own(facts) else ""

    def _is_own(self, facts: CommitFacts | None) -> bool:
        return facts is not None and cluster_in(facts.message) == self._repository.settings.cluster

    def unread(self, group: GroupKey) -> GroupBranch | None:
        """Return the branch of a group of which nobody can say now what it asks for; None where there is none."""
        head = self._repository.group_branches.head(group)
        return GroupBranch(promotion_branch(group), head) if head else None


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
        """Return the same facts: nothing is asked about others."""
        return self

    def decide(self, now: datetime) -> GroupDecision:
        """Return what becomes of it."""
        return decide_left(self.left, self.seen.record, now)


class LeftGroups:
    """Reads one at a time."""

    def __init__(self, catalog: Catalog, cluster: Cluster, branches: OfferedGroups) -> None:
        self._catalog = catalog
        self._cluster = cluster
        self._groups = cluster.release_groups
        self._branches = branches

    def facts_of(self, reading: Reading, group: GroupKey, seen: SeenGroup, main: MainRead, now: datetime) -> LeftFacts:
        """Return all that decides about a live group that ``main`` does not have."""
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
        """Return the head of its promotion branch, where that is to go; empty also where nobody can read it now."""
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
        """Return why a group does not end although its file said so; empty where nothing speaks against it."""
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
    """Return the apps of all services of a group that its record knows."""
    found = (member_name(each.service, each.initial_version) for each in record.state.endpoints)
    return tuple(AppKey(group.namespace, name) for name in sorted(set(found)))


def _routes(observed: ObservedGroup) -> Iterator[RivalRoute]:
    """Yield the group's own routes, as those who say the same requests see them."""
    for name, each in observed.routes.items():
        if each.route is not None and not each.foreign:
            yield RivalRoute(name, "", claim_of(each.route), answered=each.answered)

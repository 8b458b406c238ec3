"""What the branch of a release group asks people to merge: main's folder as it would be then. Only reads."""

from dataclasses import dataclass
from datetime import UTC, datetime

from gitops_bg.agent.groups.folders import GroupFolders
from gitops_bg.core.groups.inputs import DesiredGroup, GroupBranch
from gitops_bg.core.model.policy_facts import CommitFacts
from gitops_bg.core.model.version import GroupKey
from gitops_bg.core.names import promotion_branch
from gitops_bg.forge.asking import NO_ASKS, Asks
from gitops_bg.repo.read.promotion_branches import cluster_in
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.groups.content import as_merged

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
        """The head of the branch of a group without a folder, where that is the agent's own, or main has it; empty
        where there is none. Raises the errors of ``core.errors``.
        """
        found = self._repository.group_branches.offered(group)
        if found is None:
            return ""
        facts = self._repository.commits.facts([found.commit]).get(found.commit)
        return found.commit if found.is_merged or self._is_own(facts) else ""

    def _is_own(self, facts: CommitFacts | None) -> bool:
        return facts is not None and cluster_in(facts.message) == self._repository.settings.cluster

    def unread(self, group: GroupKey) -> GroupBranch | None:
        """The branch of a group of which nobody can say now what it asks for; None where there is none."""
        head = self._repository.group_branches.head(group)
        return GroupBranch(promotion_branch(group), head) if head else None

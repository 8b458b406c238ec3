"""What the branch of a release group asks people to merge: main's folder as it would be then. Only reads."""

from dataclasses import dataclass
from datetime import UTC, datetime

from gitops_bg.agent.groups.folders import GroupFolders
from gitops_bg.core.groups.desired import DesiredGroup
from gitops_bg.core.model.version import GroupKey
from gitops_bg.forge.heard import NO_ASKS, Asks
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.groups.content import as_merged

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class OfferedGroup:
    """The branch, and what main would say of the group after its merge."""

    head: str
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

    def of(self, group: GroupKey, main: DesiredGroup) -> OfferedGroup | None:
        """Return what the branch asks for; None where there is none, or main says the same. Raises the errors of
        ``core.errors``.
        """
        found = self._repository.offered_folder(group)
        if found is None:
            return None
        before = self._folders.files(group, found.parent) if found.parent else {}
        desired = as_merged(main, group, before, self._folders.files(group, found.commit))
        facts = self._repository.commit_facts([found.commit]).get(found.commit)
        since = (facts.at if facts is not None else None) or _LONG_AGO
        return OfferedGroup(found.commit, found.folder, since, desired)

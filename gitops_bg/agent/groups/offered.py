"""What the branch of a release group asks people to merge: main's folder as it would be then. Only reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from cachetools import LRUCache

from gitops_bg.core.groups.desired import DesiredGroup
from gitops_bg.core.groups.model import GroupKey
from gitops_bg.core.model.desired import Problem
from gitops_bg.forge.heard import NO_ASKS, Asks
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.groups.content import as_merged
from gitops_bg.spec.groups.layout import group_folder

_REMEMBERED = 200
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

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._files: LRUCache[tuple[GroupKey, str], Mapping[str, bytes | Problem]] = LRUCache(_REMEMBERED)

    def of(self, group: GroupKey, main: DesiredGroup) -> OfferedGroup | None:
        """Return what the branch asks for; None where there is none, or main says the same. Raises the errors of
        ``core.errors``.
        """
        found = self._repository.offered_folder(group)
        if found is None:
            return None
        before = self._below(group, found.parent) if found.parent else {}
        desired = as_merged(main, group, before, self._below(group, found.commit))
        facts = self._repository.commit_facts([found.commit]).get(found.commit)
        since = (facts.at if facts is not None else None) or _LONG_AGO
        return OfferedGroup(found.commit, found.folder, since, desired)

    def _below(self, group: GroupKey, commit: str) -> Mapping[str, bytes | Problem]:
        """Return the files of a group's folder at a commit, by their paths in it."""
        if (group, commit) not in self._files:
            folder, below = group_folder(group), self._repository.files_below(group_folder(group), commit)
            files = {path.removeprefix(f"{folder}/"): file.content for path, file in below.items()}
            self._files[group, commit] = files
        return self._files[group, commit]

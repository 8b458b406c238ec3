"""The folders of release groups at any commit that the mirror has: of a branch, or of a main of before. Only reads."""

import logging
from collections.abc import Mapping

from cachetools import LRUCache

from gitops_bg.agent.desired.group_shelf import group_in
from gitops_bg.agent.runtime.boundaries import log_bug
from gitops_bg.core.errors import GitopsBgError, guarded
from gitops_bg.core.groups.inputs import DesiredGroup
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import GroupKey
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.analysis.templates import load_templates
from gitops_bg.spec.app.layout import ANALYSIS_FOLDER
from gitops_bg.spec.groups.layout import group_folder
from gitops_bg.spec.groups.load import GroupConfig

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
        """The files of a group's folder, by their paths in it. Raises the errors of ``core.errors``."""
        if (group, commit) not in self._files:
            folder = f"{group_folder(group)}/"
            files = {path.removeprefix(folder): each for path, each in self._below(folder[:-1], commit).items()}
            self._files[group, commit] = files
        return self._files[group, commit]

    def config(self, group: GroupKey, commit: str) -> GroupConfig:
        """What the folder says, with the analyses of that commit; `UNREAD` where it is no usable group, or where the
        mirror lacks the commit.
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

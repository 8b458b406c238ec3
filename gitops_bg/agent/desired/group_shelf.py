"""The release groups of main as their folders describe them; only folders that changed are read again.

One thread takes them over; the view is a value that is replaced, never changed. Of a group that hits a bug, or part of
which cannot be seen, nothing is applied: unknown is not absent.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gitops_bg.agent.runtime.boundaries import log_bug
from gitops_bg.core.errors import InternalError, guarded
from gitops_bg.core.groups.desired import DesiredGroup
from gitops_bg.core.groups.model import GroupKey
from gitops_bg.core.model.desired import Problem
from gitops_bg.repo.read.index.hidden import Hidden
from gitops_bg.spec.analysis.template_index import Library
from gitops_bg.spec.groups.layout import GROUP_FILE, group_folder
from gitops_bg.spec.groups.load import File, GroupConfig, load_group

Read = Callable[[str], Mapping[str, File]]
"""All files below a folder of main, by path."""


@dataclass(frozen=True, slots=True)
class _Shelved:
    """A group, the object id of its folder at that time, and what hid a part of it."""

    tree: str
    hidden: Problem | None
    config: GroupConfig


class GroupShelf:
    """``read`` reads main."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._known: dict[GroupKey, _Shelved] = {}
        self._library = Library()
        self.view: Mapping[GroupKey, GroupConfig] = {}

    def take(self, folders: Mapping[GroupKey, str], hidden: Hidden, commit: str, library: Library) -> None:
        """Take over the groups of a commit, with the object ids of their folders, and the AnalysisTemplates there."""
        changed, self._library = self._library.changed(library), library
        self._known = {group: each for group, each in self._known.items() if not each.config.templates & changed}
        self._known = {group: self._shelved(group, tree, hidden, commit) for group, tree in folders.items()}
        self.view = {group: each.config for group, each in self._known.items()}

    def _shelved(self, group: GroupKey, tree: str, hidden: Hidden, commit: str) -> _Shelved:
        known, hides = self._known.get(group), hidden.above(f"{group_folder(group)}/{GROUP_FILE}")
        if known is not None and (known.tree, known.hidden) == (tree, hides):
            return known
        if hides is not None:
            return _Shelved(tree, hides, _unusable(hides, commit))
        try:
            with guarded(f"reading the group {group}"):
                return _Shelved(tree, None, self._load(group, commit))
        except InternalError as error:
            log_bug(error)
            remedy = "report it, with the traceback in the agent's log"
            unusable = _unusable(Problem(group_folder(group), str(error), remedy=remedy), commit)
            return _Shelved("", None, unusable)  # Without an id, it is read again with the next change.

    def _load(self, group: GroupKey, commit: str) -> GroupConfig:
        folder = group_folder(group)
        files = self._read(folder)
        return load_group(
            group, {path.removeprefix(f"{folder}/"): content for path, content in files.items()}, commit, self._library
        )


def _unusable(problem: Problem, commit: str) -> GroupConfig:
    return GroupConfig(DesiredGroup(None, problems=(problem,), commit=commit))

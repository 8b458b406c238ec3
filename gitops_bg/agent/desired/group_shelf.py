"""The release groups of main as their folders describe them; only folders that changed are read again.

One thread takes them over; the view is a value that is replaced, never changed. Of a folder with a mistake, or that
hits a bug, or part of which cannot be seen, what it said last holds: unknown is not absent, and the way back from a bad
version needs it.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile

from gitops_bg.agent.desired.reading import struck
from gitops_bg.agent.runtime.boundaries import log_bug
from gitops_bg.agent.runtime.cpu_limit import cpu_limited
from gitops_bg.core.errors import GitopsBgError, InternalError, TookTooLong, guarded
from gitops_bg.core.groups.inputs import DesiredGroup
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import GroupKey
from gitops_bg.repo.read.index.hidden import Hidden
from gitops_bg.spec.analysis.templates import Library
from gitops_bg.spec.groups.layout import GROUP_FILE, group_folder
from gitops_bg.spec.groups.load import File, GroupConfig, load_group

Read = Callable[[str], Mapping[str, File]]
"""All files below a folder of main, by path."""
Earlier = Callable[[str], Iterable[Mapping[str, File]]]
"""What a folder of main said before, newest first, nothing where it was not there. May raise the errors of
``core.errors``.
"""


LOGGER = logging.getLogger(__name__)

_READ_AGAIN = ""
"""Instead of the object id of a folder that is to be read again with the next change of any group."""


@dataclass(frozen=True, slots=True)
class _Shelved:
    """A group, the object id of its folder at that time, and what hid a part of it."""

    tree: str
    hidden: Problem | None
    config: GroupConfig


class GroupCache:
    """``read`` reads main, ``earlier`` its history: this process may not have seen the last valid state."""

    def __init__(self, read: Read, earlier: Earlier) -> None:
        self._read = read
        self._earlier = earlier
        self._known: dict[GroupKey, _Shelved] = {}
        self._valid: dict[GroupKey, GroupConfig] = {}
        """The last valid state of each group."""
        self._searched: set[GroupKey] = set()
        """The groups whose history was read to its end: what came later, this process has seen itself."""
        self._library = Library()
        self.view: Mapping[GroupKey, GroupConfig] = {}

    def update(self, folders: Mapping[GroupKey, str], hidden: Hidden, commit: str, library: Library) -> None:
        """Take over the groups of a commit, with the object ids of their folders, and the AnalysisTemplates there."""
        changed, self._library = self._library.changed(library), library
        self._known = {group: each for group, each in self._known.items() if not each.config.templates & changed}
        self._known = {group: self._shelved(group, tree, hidden, commit) for group, tree in folders.items()}
        self._valid = {group: each for group, each in self._valid.items() if group in folders}
        self._searched &= folders.keys()
        self.view = {group: replace(each.config, tree=folders[group]) for group, each in self._known.items()}

    def _shelved(self, group: GroupKey, tree: str, hidden: Hidden, commit: str) -> _Shelved:
        known, hides = self._known.get(group), hidden.above(f"{group_folder(group)}/{GROUP_FILE}")
        if known is not None and (known.tree, known.hidden) == (tree, hides):
            return known
        if hides is not None:
            return self._kept(group, tree, hides, self._or_last_valid(group, _unusable(hides, commit)))
        try:
            with guarded(f"reading the group {group}"):
                return self._kept(group, tree, None, self._loaded(group, commit))
        except InternalError as error:
            log_bug(error)
            unusable = _unusable(struck(group_folder(group), error), commit)
            read = tree if isinstance(error, TookTooLong) else _READ_AGAIN
            return _Shelved(read, None, self._or_last_valid(group, unusable))

    def _kept(self, group: GroupKey, tree: str, hidden: Problem | None, config: GroupConfig) -> _Shelved:
        """Keep a group; one of which nobody knows yet what it was is read again."""
        is_known = config.desired.spec is not None or group in self._searched
        return _Shelved(tree if is_known else _READ_AGAIN, hidden, config)

    def _loaded(self, group: GroupKey, commit: str) -> GroupConfig:
        found = group_in(group, self._read(group_folder(group)), commit, self._library)
        if found.desired.spec is None:
            return self._or_last_valid(group, found)
        self._valid[group] = found
        return found

    def _or_last_valid(self, group: GroupKey, broken: GroupConfig) -> GroupConfig:
        """The last valid state, with what is wrong now; as it is where there was none."""
        valid = self._valid.get(group) or self._valid_before(group, broken.desired.commit)
        if valid is None:
            return broken
        self._valid[group] = valid
        problems = (*broken.desired.problems, *valid.desired.problems)
        desired = replace(valid.desired, problems=problems, commit=broken.desired.commit, is_last_valid=True)
        return replace(valid, desired=desired)

    def _valid_before(self, group: GroupKey, commit: str) -> GroupConfig | None:
        """The last valid state in main's history, since the folder is there; None where there is none, or where nobody
        can read it now.
        """
        if group in self._searched:
            return None
        try:
            with guarded(f"reading what the group {group} was"):
                former = takewhile(bool, self._earlier(group_folder(group)))
                found = (group_in(group, files, commit, self._library) for files in former)
                valid = next((each for each in found if each.desired.spec is not None), None)
        except GitopsBgError as error:
            log_bug(error)
            LOGGER.warning("%s: nobody knows what its folder said before: %s", group, error)
            return None
        self._searched.add(group)
        return valid


def group_in(group: GroupKey, files: Mapping[str, File], commit: str, library: Library) -> GroupConfig:
    """What the files of a group's folder say, by path. Raises `TookTooLong`."""
    folder = group_folder(group)
    below = {path.removeprefix(f"{folder}/"): content for path, content in files.items()}
    return cpu_limited(f"reading {folder}", lambda: load_group(group, below, commit, library))


def _unusable(problem: Problem, commit: str) -> GroupConfig:
    return GroupConfig(DesiredGroup(None, problems=(problem,), commit=commit))

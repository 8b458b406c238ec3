"""The apps of a commit, and where they lie: by their folders' ids, without reading a file."""

from collections.abc import Callable, Iterable, Mapping

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.read.changes import MOST_PLACES, Moved, leads_on, moved_between
from gitops_bg.repo.read.index.hidden import Hidden
from gitops_bg.repo.read.index.misplaced import misplaced, not_followed
from gitops_bg.repo.read.trees import FOLDER, LINK, SUBMODULE, Trees
from gitops_bg.spec.app.layout import APPS_FOLDER, Places
from gitops_bg.spec.groups.layout import GROUPS_FOLDER

UNKNOWN = "unknown"
"""The id of an app's folder where it is unknown whether the folder still exists, or which of two is meant."""
FOLDERS = (FOLDER, LINK, SUBMODULE)
"""The kinds of entries that count as an app: a link or submodule in place of its folder must not pass for a removal."""


class AppIndex:
    """The folder id of every app at one commit, updated from commit to commit by their difference."""

    def __init__(self, mirror: Mirror, trees: Trees, oldest: Callable[[Iterable[str], str], str]) -> None:
        """``oldest`` says which of several folders of a commit has been there longest (`repo.read.index.births`)."""
        self._oldest = oldest
        self._mirror = mirror
        self._trees = trees
        self._commit = ""
        self._crowded = False
        self._folders: dict[AppKey, dict[str, str]] = {}
        """The ids of each app's folders by path; one that has several is in conflict."""
        self._found: Mapping[AppKey, str] = {}
        self._hidden = Hidden()
        self._contested: frozenset[AppKey] = frozenset()
        """The apps with several folders of which nobody can tell which one has the app."""
        self._places = Places()

    @property
    def places(self) -> Places:
        """The folders of all apps at the commit last asked for; a member that left keeps its last one."""
        return self._places

    def at(self, commit: str) -> Mapping[AppKey, str]:
        """All apps at a commit with the ids of their folders; costs only the difference from the last commit asked for.

        Apps that are hidden by an entry in place of a folder above them, or that are in two places, have the id
        `UNKNOWN`. Without a difference, the same mapping is returned: nobody may change it.
        """
        self._follow(commit)
        return self._found

    def hidden(self, commit: str) -> Hidden:
        """The apps that are unknown, and why."""
        self._follow(commit)
        return self._hidden

    def _follow(self, commit: str) -> None:
        if commit == self._commit:
            return
        known = bool(self._commit) and self._mirror.has(self._commit) and not self._crowded
        moved = self._moved(self._trees.root(self._commit) if known else "", commit)
        if known and moved.crowded:
            known, moved = False, self._moved("", commit)
        before: Mapping[AppKey, Mapping[str, str]] = {}
        if not known:
            before, self._folders, self._found, self._hidden = self._folders, {}, {}, Hidden()
        self._apply(moved, before, commit)
        self._commit, self._crowded = commit, moved.crowded

    def _moved(self, before: str, commit: str) -> Moved:
        pair = (before, self._trees.root(commit))
        return moved_between(self._trees, [pair])[pair]

    def _apply(self, moved: Moved, before: Mapping[AppKey, Mapping[str, str]], commit: str) -> None:
        """Take over differences; ``before`` has the folders known until now, where they are those from nothing."""
        hidden = self._hidden = Hidden(_odd_after(self._hidden.places, moved), self._hidden.apps)
        touched: dict[AppKey, None] = {}
        for app, paths in before.items():
            self._folders[app] = {path: UNKNOWN for path in paths if hidden.above(path)}
            touched[app] = None
        for path, app, change in moved.folders():
            folders, there = self._folders.setdefault(app, {}), change.after.mode in FOLDERS
            if there or (path in folders and hidden.above(path)):
                folders[path] = change.after.id if there else UNKNOWN
            else:
                folders.pop(path, None)
            touched[app] = None
        for app in hidden.apps:  # what hid them may be gone, without a change below it
            folders = self._folders.get(app, {})
            for path in [path for path, tree in folders.items() if tree == UNKNOWN and not hidden.above(path)]:
                del folders[path]
                touched[app] = None
        if touched:
            self._count(touched, commit)

    def _count(self, touched: Mapping[AppKey, None], commit: str) -> None:
        """Take over the folders of the apps that differ."""
        found, members, unknown = dict(self._found), dict(self._places.members), dict(self._hidden.apps)
        contested = set(self._contested - touched.keys())
        for app in touched:
            folders = self._folders[app]
            unknown.pop(app, None)
            if not folders:
                del self._folders[app]
                found.pop(app, None)
                continue
            path = self._holder(app, folders, commit)
            problem = self._hidden.above(path) if path else _conflict(app, folders)
            if not path:
                contested.add(app)
                path = min(folders)
            tree = folders[path]
            if problem:
                unknown[app] = problem
            found[app] = UNKNOWN if problem else tree
            if path.startswith(f"{APPS_FOLDER}/"):
                members.pop(app, None)
            else:
                members[app] = path
        self._found, self._contested = found, frozenset(contested)
        self._hidden = Hidden(self._hidden.places, unknown)
        if members != self._places.members:
            self._places = Places(members)

    def _holder(self, app: AppKey, folders: Mapping[str, str], commit: str) -> str:
        """The folder that has the app: the one that had it before, also while a link hides it, else the one that came
        first; empty where nobody can tell. A later one takes nothing from what serves.
        """
        if len(folders) == 1:
            return min(folders)
        if any(each.startswith(f"{APPS_FOLDER}/") for each in folders):
            return ""  # An app of its own has nothing live that could say so; the later of two groups has.
        had = self._places.folder(app) if app in self._found and app not in self._contested else ""
        return had if had in folders else self._oldest(sorted(folders), commit)

    def misplaced(self, commit: str) -> tuple[Problem, ...]:
        """The entries under ``apps/`` and ``groups/`` in place of folders of apps, and above them, that cannot be one.

        What else is wrong in the folder of a release group, its own reader says.
        """
        moved = self._moved("", commit)
        problems = (misplaced(change.after, path) for path, change in sorted(moved.places, key=lambda one: one[0]))
        return (*(problem for problem in problems if problem is not None), *([_crowd()] if moved.crowded else ()))


def _odd_after(before: Mapping[str, Problem], moved: Moved) -> Mapping[str, Problem]:
    """The places above apps that hold a link or a submodule."""
    places = {path: change.after for path, change in moved.places if leads_on(path)}
    odd = {path: not_followed(node, path) for path, node in places.items()}
    kept = {path: problem for path, problem in before.items() if path not in places}
    crowd = {GROUPS_FOLDER: _crowd()} if moved.crowded else {}
    return kept | {path: problem for path, problem in odd.items() if problem} | crowd


def _crowd() -> Problem:
    message = f"has more than {MOST_PLACES} folders on one level; none of them is read"
    return Problem(GROUPS_FOLDER, message, remedy="move what is no release group elsewhere")


def _conflict(app: AppKey, folders: Mapping[str, str]) -> Problem:
    first, *others = sorted(folders)
    message = f"is the app {app}, and so is {' and '.join(others)}"
    return Problem(first, message, remedy="rename one of the folders; until then nothing of the app moves")

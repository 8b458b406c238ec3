"""The apps and release groups of a commit, and where they lie: by their folders' ids, without reading a file.

A folder that is in a wrong place, or in two, makes its app unknown and not absent: nothing is concluded from its
absence.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.core.names import LONGEST_NAME
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.read.changes import (
    FOLDER,
    LINK,
    MOST_PLACES,
    NOTHING,
    SUBMODULE,
    Moved,
    TreeNode,
    Trees,
    leads_on,
    moved_between,
)
from gitops_bg.repo.read.environment import NO_ENVIRONMENT, EnvironmentAt
from gitops_bg.repo.settings import app_at, is_app
from gitops_bg.spec.app.layout import (
    APPS_FOLDER,
    GROUPS_FOLDER,
    Places,
    is_dns_label,
    is_manifest,
    is_version,
    member_of,
)


def groups_at(trees: Trees, commit: str) -> dict[GroupKey, str]:
    """Return the groups, sorted, with the object ids of their folders; impossible names are left to `misplaced`."""
    top = trees.at(commit, [GROUPS_FOLDER]).get(GROUPS_FOLDER, NOTHING).folder
    if not top:
        return {}
    spaces: defaultdict[str, list[str]] = defaultdict(list)
    for _, name, node in trees.listed([top]):
        if node.folder:
            spaces[node.folder].append(name)
    found = {
        GroupKey(namespace, name): node.folder
        for folder, name, node in trees.listed(spaces)
        for namespace in spaces[folder]
        if node.folder and is_app(namespace, name)
    }
    return dict(sorted(found.items()))


_MEMBER = re.compile(r".-(v[1-9][0-9]*)\Z")


@dataclass(frozen=True, slots=True)
class Hidden:
    """Why apps are unknown."""

    places: Mapping[str, Problem] = field(default_factory=dict)
    """The folders above apps in whose place is something that is not followed."""
    apps: Mapping[AppKey, Problem] = field(default_factory=dict)
    """The apps that were there before, or that are in two places."""

    def __bool__(self) -> bool:
        return bool(self.places or self.apps)

    def above(self, folder: str) -> Problem | None:
        """Return what hides a folder; None where nothing does."""
        if not self.places:
            return None
        names = folder.split("/")
        return next(filter(None, (self.places.get("/".join(names[:count])) for count in range(1, len(names)))), None)

    def may_hide(self, app: AppKey) -> Problem | None:
        """Return why an app that was not found may be there all the same; None where it is known to be absent.

        >>> link = Problem("groups/shop/store/v1", "is a symbolic link")
        >>> hidden = Hidden({link.file: link})
        >>> [bool(hidden.may_hide(AppKey("shop", name))) for name in ("cart-v1", "cart-v2", "cart")]
        [True, False, False]
        """
        return self.apps.get(app) or next(
            (problem for place, problem in self.places.items() if _may_hold(place, app)), None
        )


def _may_hold(place: str, app: AppKey) -> bool:
    """Return whether an app may have its folder below a place."""
    top, *names = place.split("/")
    if names[:1] not in ([], [app.namespace]):
        return False
    if top == APPS_FOLDER:
        return True
    version = _MEMBER.search(app.name)
    return top == GROUPS_FOLDER and version is not None and names[2:] in ([], [version[1]])


_GROUP, _VERSION = 3, 4
"""How many names the path of a release group's folder has, and of its version's."""


def not_followed(node: TreeNode, path: str) -> Problem | None:
    """Return the problem of a link or submodule; None for anything else."""
    if node.mode == LINK:
        return Problem(path, "is a symbolic link; links are not followed", remedy="commit the folder itself")
    if node.mode == SUBMODULE:
        return Problem(path, "is a submodule; submodules are not read", remedy="commit the folder itself")
    return None


def misplaced(node: TreeNode, path: str) -> Problem | None:
    """Return why an entry of ``apps/`` or ``groups/`` cannot be what its place says; None where it can."""
    names = path.split("/")
    if node.mode == FOLDER:
        return _misnamed(path, names)
    return not_followed(node, path) or (_stray(path, names) if node.id and is_manifest(path) else None)


def _misnamed(path: str, names: list[str]) -> Problem | None:
    top, name = names[0], names[-1]
    if len(names) == 1 or (top == GROUPS_FOLDER and len(names) == _VERSION and not is_version(name)):
        return None  # of the second, the group's own reader says what is wrong
    if not is_dns_label(name):
        what = "a namespace or an app" if top == APPS_FOLDER else "a namespace, a release group or a service"
        remedy = "use lower case letters, digits and dashes, as Kubernetes does"
        return Problem(path, f"cannot be the name of {what}", remedy=remedy)
    member = member_of(path)
    if member and app_at(path) is None and len(member.app.name) > LONGEST_NAME:
        message = f"{member.app.name} is longer than the {LONGEST_NAME} characters that Kubernetes allows"
        return Problem(path, message, remedy="use a shorter name")
    return None


def _stray(path: str, names: list[str]) -> Problem | None:
    """Return the problem of a manifest above the folders that are read."""
    if names[0] == APPS_FOLDER:
        return Problem(path, "belongs to no app", remedy=f"move it into {APPS_FOLDER}/<namespace>/<app>/")
    if len(names) <= _GROUP:
        remedy = f"move it into {GROUPS_FOLDER}/<namespace>/<group>/"
        return Problem(path, "belongs to no release group", remedy=remedy)
    return None


UNKNOWN = "unknown"
"""The id of an app's folder where it is unknown whether the folder still exists, or which of two is meant."""
FOLDERS = (FOLDER, LINK, SUBMODULE)
"""The kinds of entries that count as an app: a link or submodule in place of its folder must not pass for a removal."""


class AppIndex:
    """The folder id of every app at one commit, updated from commit to commit by their difference."""

    def __init__(
        self,
        mirror: Mirror,
        trees: Trees,
        oldest: Callable[[Iterable[str], str], str],
        environment_at: Callable[[str], EnvironmentAt] = lambda _commit: NO_ENVIRONMENT,
    ) -> None:
        """``oldest`` says which of several folders of a commit has been there longest (`repo.read.history`)."""
        self._environment_at = environment_at
        self._at = NO_ENVIRONMENT
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
    def environment(self) -> EnvironmentAt:
        """The environment that counts at the commit last asked for."""
        return self._at

    @property
    def places(self) -> Places:
        """The folders of all apps at the commit last asked for; a member that left keeps its last one."""
        return self._places

    def at(self, commit: str) -> Mapping[AppKey, str]:
        """Return all apps at a commit with the ids of their folders; costs only the difference from the last commit
        asked for.

        Apps that are hidden by an entry in place of a folder above them, or that are in two places, have the id
        `UNKNOWN`. Without a difference, the same mapping is returned: nobody may change it.
        """
        self._follow(commit)
        return self._found

    def hidden(self, commit: str) -> Hidden:
        """Return the apps that are unknown, and why."""
        self._follow(commit)
        return self._hidden

    def _follow(self, commit: str) -> None:
        if commit == self._commit:
            return
        environment = self._environment_at(commit)
        known = bool(self._commit) and self._mirror.has(self._commit) and not self._crowded and environment == self._at
        self._at = environment
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
        places = dict(_odd_after(self._hidden.places, moved))
        if self._at.hides is not None:
            places.setdefault(APPS_FOLDER, self._at.hides)
        hidden = self._hidden = Hidden(places, self._hidden.apps)
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
        own = self._own_trees(touched)
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
            tree = own.get(folders[path], "") if self._is_divided(path) else folders[path]
            if not (tree or problem) or self._is_elsewhere(path):
                found.pop(app, None)
                members.pop(app, None)
                continue
            if problem:
                unknown[app] = problem
            found[app] = UNKNOWN if problem else tree
            if path.startswith(f"{APPS_FOLDER}/"):
                members.pop(app, None)
            else:
                members[app] = path
        self._found, self._contested = found, frozenset(contested)
        self._hidden = Hidden(self._hidden.places, unknown)
        if (members, self._at.name) != (self._places.members, self._places.environment):
            self._places = Places(members, self._at.name)

    def _is_elsewhere(self, path: str) -> bool:
        """Return whether no app of a folder is looked for here: nobody can tell whether it is in the environment of
        this cluster. One that is live all the same is unknown, by what hides its folder.
        """
        return self._at.hides is not None and not self._at.unsaid and path.startswith(f"{APPS_FOLDER}/")

    def _is_divided(self, path: str) -> bool:
        """Return whether a folder has one for each environment that the app is in."""
        return bool(self._at.name) and path.startswith(f"{APPS_FOLDER}/")

    def _own_trees(self, apps: Iterable[AppKey]) -> dict[str, str]:
        """Return what identifies the files that count in the environment, by the ids of the folders of apps: without
        those that are not in it.
        """
        folders = [tree for app in apps for path, tree in self._folders[app].items() if self._is_divided(path)]
        environments = repr(self._at.environments)
        inside: defaultdict[str, dict[str, TreeNode]] = defaultdict(dict)
        for folder, name, node in self._trees.listed(each for each in folders if each != UNKNOWN):
            inside[folder][name] = node
        found = {each: _own_tree(self._at.name, environments, inside[each]) for each in folders if each != UNKNOWN}
        return {each: tree for each, tree in found.items() if tree}

    def _holder(self, app: AppKey, folders: Mapping[str, str], commit: str) -> str:
        """Return the folder that has the app: the one that had it before, also while a link hides it, else the one that
        came first; empty where nobody can tell. A later one takes nothing from what serves.
        """
        if len(folders) == 1:
            return min(folders)
        if any(each.startswith(f"{APPS_FOLDER}/") for each in folders):
            return ""  # An app of its own has nothing live that could say so; the later of two groups has.
        had = self._places.folder(app) if app in self._found and app not in self._contested else ""
        return had if had in folders else self._oldest(sorted(folders), commit)

    def misplaced(self, commit: str) -> tuple[Problem, ...]:
        """Return the entries under ``apps/`` and ``groups/`` in place of folders of apps, and above them, that cannot
        be one.

        What else is wrong in the folder of a release group, its own reader says.
        """
        moved = self._moved("", commit)
        problems = (misplaced(change.after, path) for path, change in sorted(moved.places, key=lambda one: one[0]))
        return (*(problem for problem in problems if problem is not None), *([_crowd()] if moved.crowded else ()))


def _own_tree(environment: str, environments: str, inside: Mapping[str, TreeNode]) -> str:
    """Return an id of what counts of a folder in an environment, and of the ``environments``: what others have in
    theirs does not. Empty where it has nothing in this one.
    """
    if inside.get(environment, NOTHING).mode not in FOLDERS:
        return ""
    told = (
        f"{name} {node.mode} {'' if node.folder and name != environment else node.id}"
        for name, node in sorted(inside.items())
    )
    return hashlib.sha256("\n".join((environments, *told)).encode(errors="surrogateescape")).hexdigest()[:40]


def _odd_after(before: Mapping[str, Problem], moved: Moved) -> Mapping[str, Problem]:
    """Return the places above apps that hold a link or a submodule."""
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

"""The apps of a commit, and those that differ from another commit: by their folders' ids, without reading a file."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.layout import is_app
from gitops_bg.repo.read.trees import FOLDER, LINK, SUBMODULE, Change, Node, Pair, Trees
from gitops_bg.spec.app.layout import APPS_FOLDER, is_dns_label, is_manifest

UNKNOWN = "unknown"
"""The id of an app's folder where it is unknown whether the folder still exists."""
FOLDERS = (FOLDER, LINK, SUBMODULE)
"""The kinds of entries that count as an app: a link or submodule in place of its folder must not pass for a removal."""


@dataclass(frozen=True, slots=True)
class Moved:
    """The differences below ``apps/`` between two commits, as deep as apps are."""

    apps: Change | None
    """The folder ``apps/`` itself."""
    namespaces: tuple[Change, ...] = ()
    inside: tuple[tuple[str, Change], ...] = ()
    """Each with its namespace."""

    def folders(self) -> Iterator[tuple[AppKey, Change]]:
        """The apps that differ."""
        for namespace, change in self.inside:
            if is_app(namespace, change.name):
                yield AppKey(namespace, change.name), change


def moved_between(trees: Trees, roots: Iterable[Pair]) -> dict[Pair, Moved]:
    """The differences between each two roots: three commands, however many pairs there are."""
    pairs = list(dict.fromkeys(roots))
    tops = {pair: _apps_of(changes) for pair, changes in trees.differences(pairs).items()}
    spaces = trees.differences(top.folders for top in tops.values() if top)
    within = trees.differences(each.folders for changes in spaces.values() for each in changes)
    found = {}
    for pair in pairs:
        top = tops.get(pair)
        namespaces = tuple(spaces.get(top.folders, ())) if top else ()
        inside = ((each.name, one) for each in namespaces for one in within.get(each.folders, ()))
        found[pair] = Moved(top, namespaces, tuple(inside))
    return found


def _apps_of(changes: Iterable[Change]) -> Change | None:
    return next((each for each in changes if each.name == APPS_FOLDER), None)


class AppIndex:
    """The folder id of every app at one commit, updated from commit to commit by their difference."""

    def __init__(self, mirror: Mirror, trees: Trees) -> None:
        self._mirror = mirror
        self._trees = trees
        self._commit = ""
        self._found: Mapping[AppKey, str] = {}
        self._hidden: Mapping[str, Problem] = {}

    def at(self, commit: str) -> Mapping[AppKey, str]:
        """All apps at a commit with the ids of their folders; costs only the difference from the last commit asked for.

        Apps hidden by an entry in place of their namespace's folder keep the id `UNKNOWN`. Without a difference, the
        same mapping is returned: nobody may change it.
        """
        self._follow(commit)
        return self._found

    def hidden(self, commit: str) -> Mapping[str, Problem]:
        """The namespaces whose place holds something that is not followed, so that their apps are unknown.

        The empty name stands for all namespaces.
        """
        self._follow(commit)
        return self._hidden

    def _follow(self, commit: str) -> None:
        if commit == self._commit:
            return
        known = bool(self._commit) and self._mirror.has(self._commit)
        before = self._trees.root(self._commit) if known else ""
        pair = (before, self._trees.root(commit))
        moved = moved_between(self._trees, [pair])[pair]
        if not known:
            self._found, self._hidden = {}, {}
        self._take(moved)
        self._commit = commit

    def _take(self, moved: Moved) -> None:
        self._hidden = self._hidden_after(moved)
        changes = dict(moved.folders())
        there = {app: change.after.id for app, change in changes.items() if change.after.mode in FOLDERS}
        there |= {app: UNKNOWN for app in changes.keys() - there.keys() if app in self._found and self._hides(app)}
        shown = {app for app, tree in self._found.items() if tree == UNKNOWN and not self._hides(app)}
        if changes or shown:
            left = {app: tree for app, tree in self._found.items() if app not in changes and app not in shown}
            self._found = left | there

    def _hidden_after(self, moved: Moved) -> Mapping[str, Problem]:
        spaces = {"": moved.apps} if moved.apps else {}
        spaces |= {each.name: each for each in moved.namespaces if is_dns_label(each.name)}
        odd = {name: _misplaced(each.after, _path(name)) for name, each in spaces.items() if _is_odd(each.after)}
        kept = {name: problem for name, problem in self._hidden.items() if name not in spaces}
        return kept | {name: problem for name, problem in odd.items() if problem}

    def _hides(self, app: AppKey) -> bool:
        return "" in self._hidden or app.namespace in self._hidden

    def misplaced(self, commit: str) -> tuple[Problem, ...]:
        """The entries under ``apps/`` in place of a namespace or an app that cannot be one."""
        pair = ("", self._trees.root(commit))
        moved = moved_between(self._trees, [pair])[pair]
        found = [(_path(each.name), each.after) for each in moved.namespaces]
        found += [(_path(namespace, each.name), each.after) for namespace, each in moved.inside]
        problems = (_misplaced(node, path) for path, node in sorted(found, key=lambda one: one[0]))
        return tuple(problem for problem in problems if problem is not None)


def _path(*names: str) -> str:
    return "/".join((APPS_FOLDER, *filter(None, names)))


def _is_odd(node: Node) -> bool:
    return node.mode in (LINK, SUBMODULE)


def _misplaced(node: Node, path: str) -> Problem | None:
    name = path.rpartition("/")[2]
    if node.mode == FOLDER:
        remedy = "use lower case letters, digits and dashes, as Kubernetes does"
        return (
            None if is_dns_label(name) else Problem(path, "cannot be the name of a namespace or an app", remedy=remedy)
        )
    if node.mode == LINK:
        return Problem(path, "is a symbolic link; links are not followed", remedy="commit the folder itself")
    if node.mode == SUBMODULE:
        return Problem(path, "is a submodule; submodules are not read", remedy="commit the folder itself")
    if is_manifest(name):
        return Problem(path, "belongs to no app", remedy=f"move it into {APPS_FOLDER}/<namespace>/<app>/")
    return None

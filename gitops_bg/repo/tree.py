"""Which apps a commit has, and which of them differ from another commit: by subtree ids, without reading a file."""

from collections.abc import Iterable, Iterator, Mapping

from gitops_bg.core.desired import Problem
from gitops_bg.core.model import AppKey
from gitops_bg.repo.layout import app_of_folder
from gitops_bg.repo.mirror import Mirror
from gitops_bg.repo.output import text
from gitops_bg.spec.layout import APPS_FOLDER, is_dns_label, is_manifest

_TREE, LINK, SUBMODULE = "040000", "120000", "160000"
FOLDERS = (_TREE, LINK, SUBMODULE)
"""What stands for an app: also what somebody put into the place of its folder, so that it is not taken for removed."""


class AppIndex:
    """The subtree id of every app at one commit, moved from commit to commit by their difference."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._commit = ""
        self._trees: Mapping[AppKey, str] = {}

    def at(self, commit: str) -> Mapping[AppKey, str]:
        """All apps at a commit with their tree ids; costs what differs from the last one asked for.

        The same mapping, not only an equal one, where nothing differs: nobody may change it.
        """
        if commit == self._commit:
            return self._trees
        known = bool(self._commit) and self._mirror.has(self._commit)
        trees = self._moved(commit) if known else self._listed(commit)
        self._commit, self._trees = commit, trees
        return self._trees

    def _listed(self, commit: str) -> dict[AppKey, str]:
        told = self._mirror.told("ls-tree", "-r", "-t", "-z", commit, f"{APPS_FOLDER}/")
        return {
            app: found
            for mode, found, path in listing(told)
            if mode in FOLDERS and (app := app_of_folder(path)) is not None
        }

    def _moved(self, commit: str) -> dict[AppKey, str]:
        gone: set[AppKey] = set()
        found: dict[AppKey, str] = {}
        walk = ("diff-tree", "-r", "-t", "-z", "--no-renames")
        for mode, tree, path in differences(self._mirror.told(*walk, self._commit, commit, "--", APPS_FOLDER)):
            app = app_of_folder(path)
            if app is not None and mode in FOLDERS:
                found[app] = tree
            elif app is not None:
                gone.add(app)  # also where a link takes the place of a folder, which is told apart from it
        return {app: tree for app, tree in self._trees.items() if app not in gone} | found

    def misplaced(self, commit: str) -> tuple[Problem, ...]:
        """What stands under ``apps/`` where a namespace or an app should be, and cannot be one."""
        told = self._mirror.told("ls-tree", "-r", "-t", "-z", commit, f"{APPS_FOLDER}/")
        found = (_misplaced(mode, path) for mode, _, path in listing(told) if path.count("/") in (1, 2))
        return tuple(problem for problem in found if problem is not None)


def listing(told: Iterable[bytes]) -> Iterator[tuple[str, str, str]]:
    """Mode, object id and path of each part of ``ls-tree -z``."""
    for part in told:
        facts, _, path = part.partition(b"\t")
        mode, _, blob = text(facts).split(" ")
        yield mode, blob, text(path)


def differences(told: Iterable[bytes]) -> Iterator[tuple[str, str, str]]:
    """New mode, new id and path of each two parts of ``diff-tree -z --raw``."""
    following = iter(told)
    for facts, path in zip(following, following, strict=True):
        _, mode, _, blob, _ = text(facts).split(" ")
        yield mode, blob, text(path)


def _misplaced(mode: str, path: str) -> Problem | None:
    name = path.rpartition("/")[2]
    if mode == _TREE:
        remedy = "use lower case letters, digits and dashes, as Kubernetes does"
        return (
            None if is_dns_label(name) else Problem(path, "cannot be the name of a namespace or an app", remedy=remedy)
        )
    if mode == LINK:
        return Problem(path, "is a symbolic link; links are not followed", remedy="commit the folder itself")
    if mode == SUBMODULE:
        return Problem(path, "is a submodule; submodules are not read", remedy="commit the folder itself")
    if is_manifest(name):
        return Problem(path, "belongs to no app", remedy=f"move it into {APPS_FOLDER}/<namespace>/<app>/")
    return None

"""Whose files the commits between two heads of main touched: a change that was undone was a decision all the same.

Folders are compared by id, only as deep as apps are (`repo.read.trees`).
"""

from collections.abc import Iterator, Mapping, Sequence

from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.layout import app_at
from gitops_bg.repo.read.index.moved import Moved, moved_between
from gitops_bg.repo.read.index.walked_main import Step
from gitops_bg.repo.read.trees import Change, Pair, Trees
from gitops_bg.spec.app.layout import APP_FILE, PRIMARY_FILE

WATCHED = (APP_FILE, PRIMARY_FILE)
"""The files of an app's folder that speak to the agent."""


def is_watched(path: str) -> bool:
    """Whether `walked` tells of changes of a file."""
    folder, _, name = path.rpartition("/")
    return name in WATCHED and app_at(folder) is not None


def walked(trees: Trees, before: str, head: str, steps: Sequence[tuple[str, str]]) -> Step:
    """The way between two heads of main by ``steps`` of its own line: each commit, and what main was before it."""
    roots = trees.roots({each for step in steps for each in step})
    pairs = {commit: (roots[earlier], roots[commit]) for commit, earlier in steps}
    moved = moved_between(trees, pairs.values())
    folders = {commit: list(moved[pair].folders()) for commit, pair in pairs.items()}
    files = trees.differences(change.folders for several in folders.values() for _, _, change in several)
    changed: dict[str, tuple[str, ...]] = {}
    for commit, several in folders.items():
        for folder, _, change in several:
            for name in {file.name for file in files.get(change.folders, ())}.intersection(WATCHED):
                path = f"{folder}/{name}"
                changed[path] = (*changed.get(path, ()), commit)
    return Step(before, head, changed, any(each.crowded for each in moved.values()))


def promoted(step: Step) -> frozenset[AppKey]:
    """The apps whose ``primary.yaml`` a step changed, also where it changed back."""
    folders = (path.removesuffix(f"/{PRIMARY_FILE}") for path in step.changed if path.endswith(f"/{PRIMARY_FILE}"))
    return frozenset(app for app in map(app_at, folders) if app is not None)


def touched_between(mirror: Mirror, trees: Trees, before: str, head: str) -> frozenset[AppKey] | None:
    """The apps with any file changed by a commit; None where ``head`` does not contain ``before``.

    A merge that takes one side whole is no change of its own, and may drop what the other side brought: so a difference
    between the two heads counts as well.
    """
    if not mirror.is_ancestor(before, head):
        return None
    pair = (trees.root(before), trees.root(head))
    differing = moved_between(trees, [pair])[pair].folders()
    touched = (app for _, app, _ in _touched(mirror, trees, before, head))
    return frozenset((*touched, *(app for _, app, _ in differing)))


def _touched(mirror: Mirror, trees: Trees, before: str, head: str) -> Iterator[tuple[str, AppKey, Sequence[Change]]]:
    """Each commit in between with each app that it changed, even if it changed back, and the difference from each
    parent.

    A merge changes an app only where the result differs from all of its parents.
    """
    family = mirror.between(before, head)
    roots = trees.roots((*family, *(parent for parents in family.values() for parent in parents)))
    pairs = {
        commit: [(roots[parent], roots[commit]) for parent in parents] or [("", roots[commit])]
        for commit, parents in family.items()
    }
    moved = moved_between(trees, (pair for several in pairs.values() for pair in several))
    for commit, several in pairs.items():
        yield from ((commit, app, changes) for app, changes in _by_all(moved, several))


def _by_all(moved: Mapping[Pair, Moved], pairs: Sequence[Pair]) -> Iterator[tuple[AppKey, Sequence[Change]]]:
    each = [{path: (app, change) for path, app, change in moved[pair].folders()} for pair in pairs]
    for path, (app, _) in each[0].items():
        if all(path in changes for changes in each):
            yield app, [changes[path][1] for changes in each]

"""Whose files the commits between two heads of main touched: a change that was undone was a decision all the same.

Folders are compared by id, only as deep as apps are (`repo.read.trees`).
"""

from collections.abc import Iterator, Mapping, Sequence

from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.read.index.moved import Moved, moved_between
from gitops_bg.repo.read.trees import Change, Pair, Trees
from gitops_bg.spec.app.layout import PRIMARY_FILE


def promoted_between(mirror: Mirror, trees: Trees, before: str, head: str) -> dict[AppKey, tuple[str, ...]]:
    """The apps whose ``primary.yaml`` a commit changed, with these commits, newest first; none where ``head`` does not
    contain ``before``.
    """
    if before in ("", head) or not mirror.is_ancestor(before, head):
        return {}
    touched = list(_touched(mirror, trees, before, head))
    files = trees.differences(change.folders for _, _, changes in touched for change in changes)
    found: dict[AppKey, tuple[str, ...]] = {}
    for commit, app, changes in touched:
        if all(_is_promoted(files, change) for change in changes):
            found[app] = (*found.get(app, ()), commit)
    return found


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


def _is_promoted(files: Mapping[Pair, Sequence[Change]], change: Change) -> bool:
    return any(file.name == PRIMARY_FILE for file in files.get(change.folders, ()))

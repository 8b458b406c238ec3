"""Whose files the commits between two heads of main touched: what is again as it was, was decided on all the same."""

from collections.abc import Iterator

from gitops_bg.core.model import AppKey
from gitops_bg.repo.mirror import Mirror
from gitops_bg.repo.output import text
from gitops_bg.repo.sources import WALK, changes
from gitops_bg.spec.layout import APPS_FOLDER, PRIMARY_FILE, app_of

_FOLDER_PARTS = 4
"""Of a path: ``apps``, namespace, name, and what lies in the app's folder."""


def promoted_between(mirror: Mirror, before: str, head: str) -> frozenset[AppKey]:
    """The apps whose ``primary.yaml`` a commit changed; none where ``head`` does not contain ``before``."""
    if before in ("", head) or not mirror.is_ancestor(before, head):
        return frozenset()
    found = map(app_of, _changed(mirror, before, head))
    return frozenset(place[0] for place in found if place and place[1] == PRIMARY_FILE)


def touched_between(mirror: Mirror, before: str, head: str) -> frozenset[AppKey] | None:
    """The apps of which a commit changed any file; None where ``head`` does not contain ``before``.

    A merge that takes one side whole is no change of its own, and may leave out what the other side brought: so what
    is different between the two heads counts, too.
    """
    if not mirror.is_ancestor(before, head):
        return None
    differing = mirror.told("diff-tree", "-r", "-z", "--no-renames", "--name-only", before, head, "--", APPS_FOLDER)
    paths = (*_changed(mirror, before, head), *map(text, differing))
    owners = (app_of("/".join(path.split("/")[:_FOLDER_PARTS])) for path in paths)
    return frozenset(place[0] for place in owners if place)


def _changed(mirror: Mirror, before: str, head: str) -> Iterator[str]:
    """The path of every change on the way, whatever became of it later."""
    walked = mirror.told(*WALK, "--full-history", f"{before}..{head}", "--", APPS_FOLDER)
    return (path for _, path, _ in changes(walked))

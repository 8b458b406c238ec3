"""The differences between two commits in the folders of apps, and in those above them. Reads no file."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.layout import app_at
from gitops_bg.repo.read.trees import Change, Pair, Trees
from gitops_bg.spec.app.layout import APPS_FOLDER
from gitops_bg.spec.groups.layout import GROUPS_FOLDER, is_version

DEPTH = {APPS_FOLDER: 3, GROUPS_FOLDER: 5}
"""How many names the path of an app's folder has, by the first of them."""
_VERSION = 4
"""The same of the folder of a release group's version; folders beside it hold no apps."""
MOST_PLACES = 20_000
"""How many places of one level below ``groups/`` are followed: folders that hold one another many times over can be as
many as somebody likes.
"""


@dataclass(frozen=True, slots=True)
class Moved:
    """The differences between two commits, as deep as apps are: each with its path, those above an app before it."""

    places: tuple[tuple[str, Change], ...] = ()
    crowded: bool = False
    """Whether ``groups/`` has more places than are followed; then nothing below it is told."""

    def folders(self) -> Iterator[tuple[str, AppKey, Change]]:
        """The folders of apps that differ, each with its path and its app."""
        for path, change in self.places:
            app = app_at(path)
            if app is not None:
                yield path, app, change


def moved_between(trees: Trees, roots: Iterable[Pair]) -> dict[Pair, Moved]:
    """The differences between each two roots: one command for each level of folders, however many pairs there are."""
    pairs = list(dict.fromkeys(roots))
    found: dict[Pair, list[tuple[str, Change]]] = {pair: [] for pair in pairs}
    crowded: set[Pair] = set()
    level = {pair: {"": pair} for pair in pairs}
    while any(level.values()):
        differences = trees.differences(folders for places in level.values() for folders in places.values())
        for pair, places in level.items():
            changes = _level(places, differences)
            if sum(map(_is_below_groups, changes)) > MOST_PLACES:
                crowded.add(pair)
                changes = {path: change for path, change in changes.items() if not _is_below_groups(path)}
            found[pair] += changes.items()
            level[pair] = {path: each.folders for path, each in changes.items() if leads_on(path) and any(each.folders)}
    return {pair: _moved(changes, crowded=pair in crowded) for pair, changes in found.items()}


def _level(places: Mapping[str, Pair], differences: Mapping[Pair, Sequence[Change]]) -> dict[str, Change]:
    """The differences right below these places, by path; of those below ``groups/`` hardly more than are followed."""
    changes: dict[str, Change] = {}
    below_groups = 0
    for place, folders in places.items():
        if below_groups <= MOST_PLACES:
            found = {
                _path(place, each.name): each for each in differences.get(folders, ()) if place or each.name in DEPTH
            }
            below_groups += len(found) if place.startswith(GROUPS_FOLDER) else 0
            changes |= found
    return changes


def _moved(changes: Iterable[tuple[str, Change]], *, crowded: bool) -> Moved:
    return Moved(tuple(each for each in changes if not (crowded and _is_below_groups(each[0]))), crowded)


def _is_below_groups(path: str) -> bool:
    return path.startswith(f"{GROUPS_FOLDER}/")


def leads_on(path: str) -> bool:
    """Whether folders of apps may lie below a path.

    >>> leads_on("apps/shop"), leads_on("groups/shop/store/v1"), leads_on("groups/shop/store/docs")
    (True, True, False)
    >>> leads_on("apps/shop/web"), leads_on("groups/shop/store/v1/cart")
    (False, False)
    """
    names = path.split("/")
    within = len(names) < DEPTH[names[0]]
    return within and (len(names) != _VERSION or is_version(names[-1]))


def _path(place: str, name: str) -> str:
    return f"{place}/{name}" if place else name

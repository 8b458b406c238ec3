"""What changed between two commits, by the folders of apps and the few files by which main speaks to them. Reads no
file.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.layout import app_at
from gitops_bg.repo.read.trees import Pair, TreeChange, Trees
from gitops_bg.spec.app.layout import APP_FILE, APPS_FOLDER, PRIMARY_FILE
from gitops_bg.spec.groups.layout import GROUPS_FOLDER, is_version

# --- the differences between two commits, as deep as apps are (`repo.read.trees`): folders are compared by id ---

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

    places: tuple[tuple[str, TreeChange], ...] = ()
    crowded: bool = False
    """Whether ``groups/`` has more places than are followed; then nothing below it is told."""

    def folders(self) -> Iterator[tuple[str, AppKey, TreeChange]]:
        """The folders of apps that differ, each with its path and its app."""
        for path, change in self.places:
            app = app_at(path)
            if app is not None:
                yield path, app, change


def moved_between(trees: Trees, roots: Iterable[Pair]) -> dict[Pair, Moved]:
    """The differences between each two roots: one command for each level of folders, however many pairs there are."""
    pairs = list(dict.fromkeys(roots))
    found: dict[Pair, list[tuple[str, TreeChange]]] = {pair: [] for pair in pairs}
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


def _level(places: Mapping[str, Pair], differences: Mapping[Pair, Sequence[TreeChange]]) -> dict[str, TreeChange]:
    """The differences right below these places, by path; of those below ``groups/`` hardly more than are followed."""
    changes: dict[str, TreeChange] = {}
    below_groups = 0
    for place, folders in places.items():
        if below_groups <= MOST_PLACES:
            found = {
                _path(place, each.name): each for each in differences.get(folders, ()) if place or each.name in DEPTH
            }
            below_groups += len(found) if place.startswith(GROUPS_FOLDER) else 0
            changes |= found
    return changes


def _moved(changes: Iterable[tuple[str, TreeChange]], *, crowded: bool) -> Moved:
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


# --- where main was between two looks of this process, and which files changed on the way ---
# Each look compares all that came since the one before. What is known from that need not be asked of git again, which
# would walk the whole way since a file changed last. It only remembers.

WATCHED = (APP_FILE, PRIMARY_FILE)
"""The files of an app's folder that speak to the agent."""


def is_watched(path: str) -> bool:
    """Whether `walked` tells of changes of a file."""
    folder, _, name = path.rpartition("/")
    return name in WATCHED and app_at(folder) is not None


@dataclass(frozen=True, slots=True)
class Step:
    """The way between two heads of main, of which the later contains the earlier."""

    before: str
    head: str
    changed: Mapping[str, tuple[str, ...]]
    """The files that changed, by path, and the commits of main's own line that changed them, newest first."""
    crowded: bool = False
    """Whether nothing is known of what changed below ``groups/`` (`repo.read.changes`)."""


class WalkedMain:
    """The last steps, each beginning where the one before it ends."""

    def __init__(self) -> None:
        self._steps: deque[Step] = deque()
        self._changes = 0

    def add(self, step: Step) -> None:
        """Add the newest step. A step that begins earlier replaces those since then: its reader could not use them."""
        while self._steps and self._steps[-1].head != step.before:
            self._changes -= len(self._steps.pop().changed)
        self._steps.append(step)
        self._changes += len(step.changed)
        while len(self._steps) > _MOST_STEPS or (self._changes > _MOST_CHANGES and len(self._steps) > 1):
            self._changes -= len(self._steps.popleft().changed)

    def forget(self) -> None:
        """Forget all: main went another way."""
        self._steps.clear()
        self._changes = 0

    def changes(self, path: str, head: str) -> tuple[list[str], str]:
        """The commits up to a head that changed a file, newest first, and the head before all of them: what came until
        then is not known here.
        """
        found, at = list[str](), head
        for step in self._before(head):
            if step.crowded and path.startswith(f"{GROUPS_FOLDER}/"):
                break
            found += step.changed.get(path, ())
            at = step.before
        return found, at

    def _before(self, head: str) -> Iterator[Step]:
        """The steps up to a head, newest first."""
        reached = False
        for step in reversed(self._steps):
            reached = reached or step.head == head
            if reached:
                yield step


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


# --- what commits touched: a change that was undone was a decision all the same ---


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


def _touched(
    mirror: Mirror, trees: Trees, before: str, head: str
) -> Iterator[tuple[str, AppKey, Sequence[TreeChange]]]:
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


def _by_all(moved: Mapping[Pair, Moved], pairs: Sequence[Pair]) -> Iterator[tuple[AppKey, Sequence[TreeChange]]]:
    each = [{path: (app, change) for path, app, change in moved[pair].folders()} for pair in pairs]
    for path, (app, _) in each[0].items():
        if all(path in changes for changes in each):
            yield app, [changes[path][1] for changes in each]


_MOST_STEPS, _MOST_CHANGES = 1000, 20_000
"""How many steps are remembered, and changes of a file in all of them; what is older is asked of git."""

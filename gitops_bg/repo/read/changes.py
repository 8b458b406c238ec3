"""Lists and compares folders one level at a time, only as deep as asked for; and by that, what changed between two
commits: the folders of apps, and the few files by which main speaks to them. Reads no file.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from sys import intern

from cachetools import LRUCache

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.git.errors import MirrorBroken
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import entries_of, lines, root_of, text
from gitops_bg.repo.settings import app_at
from gitops_bg.spec.app.layout import (
    APP_FILE,
    APPS_FOLDER,
    ENVIRONMENTS_FILE,
    GROUPS_FOLDER,
    PRIMARY_FILE,
    is_version,
)

FOLDER, LINK, SUBMODULE = "040000", "120000", "160000"
_EMPTY = {40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904"}
_EMPTY[64] = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
"""The empty folder, by length of ids; git knows it without storing it."""
_REMEMBERED = 1000
"""How many commits' root folders are cached."""
_ENTRIES = 20_000
"""How many entries of folders are cached: an id means the same for ever."""
_SMALL_BYTES = 128 * 1024
"""How many bytes of commits or folders are read here for one question; git processes more than that without
keeping it.
"""

Pair = tuple[str, str]
"""The ids of a folder before and after; empty where it does not exist."""


@dataclass(frozen=True, slots=True)
class TreeNode:
    """The entry of a folder under one name."""

    mode: str
    id: str

    @property
    def folder(self) -> str:
        """Its id if it is a folder, otherwise empty; a link to a folder is no folder."""
        return self.id if self.mode == FOLDER else ""

    @property
    def is_file(self) -> bool:
        """Whether it has content of its own: no folder and no submodule."""
        return self.mode not in (FOLDER, SUBMODULE)


NOTHING = TreeNode("", "")


@dataclass(frozen=True, slots=True)
class TreeChange:
    """The entries of two folders under one name; `NOTHING` where one folder has none."""

    name: str
    before: TreeNode
    after: TreeNode

    @property
    def folders(self) -> Pair:
        """The change as a pair of folders, one level deeper."""
        return self.before.folder, self.after.folder


class Trees:
    """Folders by object id."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._roots: LRUCache[str, str] = LRUCache(_REMEMBERED)
        self._known: LRUCache[str, Mapping[str, TreeNode]] = LRUCache(_ENTRIES, lambda nodes: 1 + len(nodes))

    def root(self, commit: str) -> str:
        """Return the id of a commit's root folder."""
        return self.roots([commit])[commit]

    def roots(self, commits: Iterable[str]) -> Mapping[str, str]:
        """Return the ids of the root folders of many commits. Each commit is read once, however long its message."""
        wanted = list(dict.fromkeys(commits))
        unknown = [commit for commit in wanted if commit not in self._roots]
        found = {commit: self._roots[commit] for commit in wanted if commit in self._roots}
        if unknown:
            little = sum(self._sizes(unknown, "commit")) <= _SMALL_BYTES
            found |= self._read_roots(unknown) if little else self._asked_roots(unknown)
        self._roots.update(found)
        return found

    def _read_roots(self, commits: list[str]) -> dict[str, str]:
        read = self._mirror.contents(commits)
        return {commit: root_of(content) for commit, (_, content) in zip(commits, read, strict=True)}

    def _asked_roots(self, commits: list[str]) -> dict[str, str]:
        """Ask a separate git, which keeps nothing else of the commits."""
        names = "".join(f"{commit}^{{tree}}\n" for commit in commits).encode()
        told = lines(self._mirror.local("cat-file", "--batch-check=%(objectname)", stdin=names))
        return {commit: text(name) for commit, name in zip(commits, told, strict=True)}

    def listed(self, folders: Iterable[str]) -> Iterator[tuple[str, str, TreeNode]]:
        """Return the entries of folders: the folder, the name, and the node."""
        return ((folder, each.name, each.after) for (_, folder), each in self._changes_of(("", one) for one in folders))

    def at(self, commit: str, paths: Iterable[str]) -> dict[str, TreeNode]:
        """Return the nodes at these paths of a commit; no path may contain another."""
        root = self.root(commit)
        found = {path: self._below(root, path) for path in paths}
        large = [path for path, node in found.items() if node is None]
        if large:
            nodes = (part.partition(b"\t") for part in self._mirror.stream("ls-tree", "-z", root, *large))
            there = {text(path): TreeNode(text(facts[:6]), text(facts.split(b" ")[2])) for facts, _, path in nodes}
            found |= {path: there.get(path, NOTHING) for path in large}
        return {path: node for path, node in found.items() if node is not None and node != NOTHING}

    def at_hand(self, commit: str, paths: Iterable[str]) -> dict[str, TreeNode] | None:
        """Do as `at`, from what is read without a process; None where a folder on the way is large."""
        root = self.root(commit)
        found = {path: self._below(root, path) for path in paths}
        if None in found.values():
            return None
        return {path: node for path, node in found.items() if node is not None and node != NOTHING}

    def _below(self, folder: str, path: str) -> TreeNode | None:
        """Return the node at a path below a folder; None where a folder on the way is large."""
        node = TreeNode(FOLDER, folder)
        for name in path.split("/"):
            nodes = self._small([node.folder])[node.folder] if node.folder else {}
            if nodes is None:
                return None
            node = nodes.get(name, NOTHING)
        return node

    def differences(self, pairs: Iterable[Pair]) -> dict[Pair, list[TreeChange]]:
        """Return the differences between each two folders, on this level only."""
        wanted = list(pairs)
        found: dict[Pair, dict[str, TreeChange]] = {pair: {} for pair in wanted}
        for pair, change in self._changes_of(wanted):
            # Git reports a folder that something else replaces twice: removed, and added.
            other = found[pair].get(change.name, change)
            before = change.before if other.before == NOTHING else other.before
            after = change.after if other.after == NOTHING else other.after
            found[pair][change.name] = TreeChange(change.name, before, after)
        return {pair: list(changes.values()) for pair, changes in found.items()}

    def _changes_of(self, pairs: Iterable[Pair]) -> Iterator[tuple[Pair, TreeChange]]:
        wanted = list(dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]))
        small = self._small(folder for pair in wanted for folder in pair)
        large = []
        for pair in wanted:
            before, after = small[pair[0]], small[pair[1]]
            if before is None or after is None:
                large.append(pair)
            else:
                yield from ((pair, change) for change in _compared(before, after))
        if large:
            yield from self._asked(large)

    def _small(self, folders: Iterable[str]) -> dict[str, Mapping[str, TreeNode] | None]:
        """Return the entries of folders, by name; none for the empty id, and None for folders that are too large
        together.
        """
        wanted = dict.fromkeys(folders)
        found: dict[str, Mapping[str, TreeNode] | None] = {one: self._known.get(one) for one in wanted if one}
        unknown = [one for one, nodes in found.items() if nodes is None]
        if sum(self._sizes(unknown, "tree")) <= _SMALL_BYTES:
            for one, (_, tree) in zip(unknown, self._mirror.contents(unknown), strict=True):
                found[one] = self._known[one] = _nodes(one, tree)
        return {**found, "": {}}

    def _sizes(self, names: list[str], kind: str) -> Iterator[int]:
        for name, header in zip(names, self._mirror.headers(names), strict=True):
            if header is None or header.kind != kind:
                raise MirrorBroken(f"git cat-file: the {kind} {name} is missing")
            yield header.size

    def _asked(self, pairs: list[Pair]) -> Iterator[tuple[Pair, TreeChange]]:
        """Yield the differences of many or large folders, one by one as git prints them."""
        called = {_called(pair): pair for pair in pairs}
        asked = "".join(f"{name}\n" for name in called).encode()
        for name, change in _changes(self._mirror.stream("diff-tree", "--stdin", "-z", "--no-renames", stdin=asked)):
            yield called[name], change


def _nodes(folder: str, tree: bytes) -> Mapping[str, TreeNode]:
    """Return the entries of a folder, by name. Of a duplicate name, which git itself never writes, the first."""
    nodes: dict[str, TreeNode] = {}
    try:
        for mode, name, named in entries_of(tree, len(folder) // 2):
            nodes.setdefault(name, TreeNode(intern(mode), named))
    except ValueError as error:
        raise MirrorBroken(f"git cat-file: {folder} is no folder: {error}") from error
    return nodes


def _compared(before: Mapping[str, TreeNode], after: Mapping[str, TreeNode]) -> Iterator[TreeChange]:
    """Yield the differences, in the order of names."""
    for name in sorted(before.keys() | after.keys()):
        change = TreeChange(name, before.get(name, NOTHING), after.get(name, NOTHING))
        if change.before != change.after:
            yield change


def _called(pair: Pair) -> str:
    """Return both ids in the form for git's input."""
    empty = _EMPTY[max(map(len, pair))]
    return f"{pair[0] or empty} {pair[1] or empty}"


def _changes(told: Iterable[bytes]) -> Iterator[tuple[str, TreeChange]]:
    """Yield each change after the pair that it belongs to: git prints a pair on a line of its own, even without a
    change.
    """
    name, parts = "", iter(told)
    for part in parts:
        *heads, facts = lines(part)
        name = text(heads[-1]) if heads else name
        if not facts.startswith(b":"):
            continue
        before, after, old, new, _ = text(facts[1:]).split(" ")
        yield name, TreeChange(text(next(parts, b"")), _node(before, old), _node(after, new))


def _node(mode: str, name: str) -> TreeNode:
    return TreeNode(intern(mode), name) if name.strip("0") else NOTHING


# --- the differences between two commits, as deep as apps are (`repo.read.changes`): folders are compared by id ---

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
        """Yield the folders of apps that differ, each with its path and its app."""
        for path, change in self.places:
            app = app_at(path)
            if app is not None:
                yield path, app, change


def moved_between(trees: Trees, roots: Iterable[Pair]) -> dict[Pair, Moved]:
    """Return the differences between each two roots: one command for each level of folders, however many pairs there
    are.
    """
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
    """Return the differences right below these places, by path; of those below ``groups/`` hardly more than are
    followed.
    """
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
    """Return whether folders of apps may lie below a path.

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
    """Return whether `walked` tells of changes of a file."""
    if path == ENVIRONMENTS_FILE:
        return True
    folder, _, name = path.rpartition("/")
    return name in WATCHED and app_around(folder) is not None


def app_around(folder: str) -> AppKey | None:
    """Return the app whose folder this is, or a folder in that of an app: perhaps an environment's; None for others."""
    outer, _, _ = folder.rpartition("/")
    return app_at(folder) or (app_at(outer) if outer.startswith(f"{APPS_FOLDER}/") else None)


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
        """Return the commits up to a head that changed a file, newest first, and the head before all of them: what came
        until then is not known here.
        """
        found, at = list[str](), head
        for step in self._before(head):
            if step.crowded and path.startswith(f"{GROUPS_FOLDER}/"):
                break
            found += step.changed.get(path, ())
            at = step.before
        return found, at

    def _before(self, head: str) -> Iterator[Step]:
        """Yield the steps up to a head, newest first."""
        reached = False
        for step in reversed(self._steps):
            reached = reached or step.head == head
            if reached:
                yield step


def walked(trees: Trees, before: str, head: str, steps: Sequence[tuple[str, str]]) -> Step:
    """Return the way between two heads of main by ``steps`` of its own line: each commit, and what main was
    before it.
    """
    roots = trees.roots({each for step in steps for each in step})
    pairs = {commit: (roots[earlier], roots[commit]) for commit, earlier in steps}
    moved = moved_between(trees, pairs.values())
    folders = {commit: list(moved[pair].folders()) for commit, pair in pairs.items()}
    files = trees.differences(change.folders for several in folders.values() for _, _, change in several)
    inner = [
        (folder, each) for folder, pair in _pairs(folders) for each in files.get(pair, ()) if _leads_in(folder, each)
    ]
    deeper = trees.differences(each.folders for _, each in inner)
    top = trees.differences(pairs.values())
    said = tuple(commit for commit, pair in pairs.items() if ENVIRONMENTS_FILE in (each.name for each in top[pair]))
    changed: dict[str, tuple[str, ...]] = {ENVIRONMENTS_FILE: said} if said else {}
    for commit, several in folders.items():
        for folder, _, change in several:
            for each in files.get(change.folders, ()):
                below = deeper.get(each.folders, ()) if _leads_in(folder, each) else ()
                paths = [f"{folder}/{each.name}"] if each.name in WATCHED else []
                paths += [f"{folder}/{each.name}/{file.name}" for file in below if file.name in WATCHED]
                for path in paths:
                    changed[path] = (*changed.get(path, ()), commit)
    return Step(before, head, changed, any(each.crowded for each in moved.values()))


def promoted(step: Step) -> frozenset[AppKey]:
    """Return the apps whose ``primary.yaml`` a step changed, also where it changed back."""
    folders = (path.removesuffix(f"/{PRIMARY_FILE}") for path in step.changed if path.endswith(f"/{PRIMARY_FILE}"))
    return frozenset(app for app in map(app_around, folders) if app is not None)


def _pairs(folders: Mapping[str, Iterable[tuple[str, AppKey, TreeChange]]]) -> Iterator[tuple[str, Pair]]:
    for several in folders.values():
        yield from ((folder, change.folders) for folder, _, change in several)


def _leads_in(folder: str, change: TreeChange) -> bool:
    """Return whether a change in the folder of an app is one in a folder of an environment."""
    return any(change.folders) and folder.startswith(f"{APPS_FOLDER}/")


# --- what commits touched: a change that was undone was a decision all the same ---


def touched_between(mirror: Mirror, trees: Trees, before: str, head: str) -> frozenset[AppKey] | None:
    """Return the apps with any file changed by a commit; None where ``head`` does not contain ``before``.

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
    """Yield each commit in between with each app that it changed, even if it changed back, and the difference from each
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

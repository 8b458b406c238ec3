"""Lists and compares folders one level at a time, only as deep as asked for.

Folders may contain each other many times over: ten levels of ten identical entries each are ten thousand million files
in a few kilobytes. Git runs out of memory when it compares those to the bottom.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from sys import intern

from cachetools import LRUCache

from gitops_bg.repo.git.errors import MirrorBroken
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import entries_of, lines, root_of, text

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
class Node:
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


NOTHING = Node("", "")


@dataclass(frozen=True, slots=True)
class TreeChange:
    """The entries of two folders under one name; `NOTHING` where one folder has none."""

    name: str
    before: Node
    after: Node

    @property
    def folders(self) -> Pair:
        """The change as a pair of folders, one level deeper."""
        return self.before.folder, self.after.folder


class Trees:
    """Folders by object id."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._roots: LRUCache[str, str] = LRUCache(_REMEMBERED)
        self._known: LRUCache[str, Mapping[str, Node]] = LRUCache(_ENTRIES, lambda nodes: 1 + len(nodes))

    def root(self, commit: str) -> str:
        """The id of a commit's root folder."""
        return self.roots([commit])[commit]

    def roots(self, commits: Iterable[str]) -> Mapping[str, str]:
        """The ids of the root folders of many commits. Each commit is read once, however long its message."""
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

    def listed(self, folders: Iterable[str]) -> Iterator[tuple[str, str, Node]]:
        """The entries of folders: the folder, the name, and the node."""
        return ((folder, each.name, each.after) for (_, folder), each in self._changes_of(("", one) for one in folders))

    def at(self, commit: str, paths: Iterable[str]) -> dict[str, Node]:
        """The nodes at these paths of a commit; no path may contain another."""
        root = self.root(commit)
        found = {path: self._below(root, path) for path in paths}
        large = [path for path, node in found.items() if node is None]
        if large:
            nodes = (part.partition(b"\t") for part in self._mirror.stream("ls-tree", "-z", root, *large))
            there = {text(path): Node(text(facts[:6]), text(facts.split(b" ")[2])) for facts, _, path in nodes}
            found |= {path: there.get(path, NOTHING) for path in large}
        return {path: node for path, node in found.items() if node is not None and node != NOTHING}

    def at_hand(self, commit: str, paths: Iterable[str]) -> dict[str, Node] | None:
        """As `at`, from what is read without a process; None where a folder on the way is large."""
        root = self.root(commit)
        found = {path: self._below(root, path) for path in paths}
        if None in found.values():
            return None
        return {path: node for path, node in found.items() if node is not None and node != NOTHING}

    def _below(self, folder: str, path: str) -> Node | None:
        """The node at a path below a folder; None where a folder on the way is large."""
        node = Node(FOLDER, folder)
        for name in path.split("/"):
            nodes = self._small([node.folder])[node.folder] if node.folder else {}
            if nodes is None:
                return None
            node = nodes.get(name, NOTHING)
        return node

    def differences(self, pairs: Iterable[Pair]) -> dict[Pair, list[TreeChange]]:
        """The differences between each two folders, on this level only."""
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

    def _small(self, folders: Iterable[str]) -> dict[str, Mapping[str, Node] | None]:
        """The entries of folders, by name; none for the empty id, and None for folders that are too large together."""
        wanted = dict.fromkeys(folders)
        found: dict[str, Mapping[str, Node] | None] = {one: self._known.get(one) for one in wanted if one}
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
        """The differences of many or large folders, one by one as git prints them."""
        called = {_called(pair): pair for pair in pairs}
        asked = "".join(f"{name}\n" for name in called).encode()
        for name, change in _changes(self._mirror.stream("diff-tree", "--stdin", "-z", "--no-renames", stdin=asked)):
            yield called[name], change


def _nodes(folder: str, tree: bytes) -> Mapping[str, Node]:
    """The entries of a folder, by name. Of a duplicate name, which git itself never writes, the first."""
    nodes: dict[str, Node] = {}
    try:
        for mode, name, named in entries_of(tree, len(folder) // 2):
            nodes.setdefault(name, Node(intern(mode), named))
    except ValueError as error:
        raise MirrorBroken(f"git cat-file: {folder} is no folder: {error}") from error
    return nodes


def _compared(before: Mapping[str, Node], after: Mapping[str, Node]) -> Iterator[TreeChange]:
    """The differences, in the order of names."""
    for name in sorted(before.keys() | after.keys()):
        change = TreeChange(name, before.get(name, NOTHING), after.get(name, NOTHING))
        if change.before != change.after:
            yield change


def _called(pair: Pair) -> str:
    """Both ids in the form for git's input."""
    empty = _EMPTY[max(map(len, pair))]
    return f"{pair[0] or empty} {pair[1] or empty}"


def _changes(told: Iterable[bytes]) -> Iterator[tuple[str, TreeChange]]:
    """Each change after the pair that it belongs to: git prints a pair on a line of its own, even without a change."""
    name, parts = "", iter(told)
    for part in parts:
        *heads, facts = lines(part)
        name = text(heads[-1]) if heads else name
        if not facts.startswith(b":"):
            continue
        before, after, old, new, _ = text(facts[1:]).split(" ")
        yield name, TreeChange(text(next(parts, b"")), _node(before, old), _node(after, new))


def _node(mode: str, name: str) -> Node:
    return Node(intern(mode), name) if name.strip("0") else NOTHING

"""Lists and compares folders one level at a time: never deeper than is asked for.

Folders may hold one another many times over: ten in one another with ten entries each, all of them the same, are ten
thousand million files in a few kilobytes. Git runs out of memory where it is asked to compare that to the bottom.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from sys import intern

from cachetools import LRUCache

from gitops_bg.repo.git.errors import MirrorBroken
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import lines, text

FOLDER, LINK, SUBMODULE = "040000", "120000", "160000"
_EMPTY = {40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904"}
_EMPTY[64] = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
"""The folder that holds nothing, by the length of ids; git knows it without having it."""
_REMEMBERED = 1000
"""So many commits' folders, and entries of them, are known without asking."""
_CHANGES, _FEW = 5000, 50
"""So many changes in all, and of one pair, are known without asking: an id names the same folder for ever."""

Pair = tuple[str, str]
"""The ids of a folder before and after; empty for one that is not there."""


@dataclass(frozen=True, slots=True)
class Node:
    """What a folder holds under one name."""

    mode: str
    id: str

    @property
    def folder(self) -> str:
        """Its id where it is a folder, else empty; a link to a folder is none."""
        return self.id if self.mode == FOLDER else ""


NOTHING = Node("", "")


@dataclass(frozen=True, slots=True)
class Change:
    """What two folders hold under one name; `NOTHING` where one of them holds nothing."""

    name: str
    before: Node
    after: Node

    @property
    def folders(self) -> Pair:
        """The same as two folders, one level deeper."""
        return self.before.folder, self.after.folder


class Trees:
    """Folders by object id."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._roots: LRUCache[str, str] = LRUCache(_REMEMBERED)
        self._nodes: LRUCache[tuple[str, str], Node] = LRUCache(_REMEMBERED)
        self._changes: LRUCache[Pair, tuple[Change, ...]] = LRUCache(_CHANGES, lambda changes: 1 + len(changes))

    def root(self, commit: str) -> str:
        """The id of the folder that a commit is of."""
        return self.roots([commit])[commit]

    def roots(self, commits: Iterable[str]) -> Mapping[str, str]:
        """The same of many. Git reads a commit once for that, be its message as long as it will."""
        wanted = list(dict.fromkeys(commits))
        unknown = [commit for commit in wanted if commit not in self._roots]
        found = {commit: self._roots[commit] for commit in wanted if commit in self._roots}
        if unknown:
            names = "".join(f"{commit}^{{tree}}\n" for commit in unknown).encode()
            told = lines(self._mirror.local("cat-file", "--batch-check=%(objectname)", stdin=names))
            found |= {commit: text(name) for commit, name in zip(unknown, told, strict=True)}
        lacking = next((commit for commit, name in found.items() if " " in name), "")
        if lacking:
            raise MirrorBroken(f"git cat-file: {found[lacking]}")
        self._roots.update(found)
        return found

    def listed(self, folders: Iterable[str]) -> Iterator[tuple[str, str, Node]]:
        """What folders hold: the folder, the name, and what it is; in one command for all, one by one."""
        return ((folder, each.name, each.after) for (_, folder), each in self._told(("", one) for one in folders))

    def at(self, commit: str, paths: Iterable[str]) -> dict[str, Node]:
        """What stands at these paths of a commit; one must not lie in another."""
        root, wanted = self.root(commit), list(paths)
        found = {path: self._nodes[root, path] for path in wanted if (root, path) in self._nodes}
        unknown = [path for path in wanted if path not in found]
        if unknown:
            nodes = (part.partition(b"\t") for part in self._mirror.told("ls-tree", "-z", root, *unknown))
            there = {text(path): Node(text(facts[:6]), text(facts.split(b" ")[2])) for facts, _, path in nodes}
            found |= {path: there.get(path, NOTHING) for path in unknown}
        self._nodes.update({(root, path): node for path, node in found.items()})
        return {path: node for path, node in found.items() if node != NOTHING}

    def differences(self, pairs: Iterable[Pair]) -> dict[Pair, list[Change]]:
        """What is different between each two folders, not what lies deeper; in one command for all."""
        wanted = list(pairs)
        found: dict[Pair, dict[str, Change]] = {pair: {} for pair in wanted}
        for pair, change in self._told(wanted):
            # A folder that something else takes the place of is told twice: gone, and there.
            other = found[pair].get(change.name, change)
            before = change.before if other.before == NOTHING else other.before
            after = change.after if other.after == NOTHING else other.after
            found[pair][change.name] = Change(change.name, before, after)
        return {pair: list(changes.values()) for pair, changes in found.items()}

    def _told(self, pairs: Iterable[Pair]) -> Iterator[tuple[Pair, Change]]:
        unknown = []
        for pair in dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]):
            known = self._changes.get(pair)
            if known is None:
                unknown.append(pair)
            else:
                yield from ((pair, change) for change in known)
        if unknown:
            yield from self._asked(unknown)

    def _asked(self, pairs: list[Pair]) -> Iterator[tuple[Pair, Change]]:
        called = {_called(pair): pair for pair in pairs}
        asked = "".join(f"{name}\n" for name in called).encode()
        few: dict[Pair, list[Change]] = {pair: [] for pair in pairs}
        for name, change in _changes(self._mirror.told("diff-tree", "--stdin", "-z", "--no-renames", stdin=asked)):
            pair = called[name]
            if pair in few:
                few[pair].append(change)
            if len(few.get(pair, ())) > _FEW:
                del few[pair]
            yield pair, change
        self._changes.update({pair: tuple(changes) for pair, changes in few.items()})


def _called(pair: Pair) -> str:
    """Both as git is told them."""
    empty = _EMPTY[max(map(len, pair))]
    return f"{pair[0] or empty} {pair[1] or empty}"


def _changes(told: Iterable[bytes]) -> Iterator[tuple[str, Change]]:
    """Each change behind the pair that it belongs to: a pair is a line of its own, whatever was different."""
    name, parts = "", iter(told)
    for part in parts:
        *heads, facts = lines(part)
        name = text(heads[-1]) if heads else name
        if not facts.startswith(b":"):
            continue
        before, after, old, new, _ = text(facts[1:]).split(" ")
        yield name, Change(text(next(parts, b"")), _node(before, old), _node(after, new))


def _node(mode: str, name: str) -> Node:
    return Node(intern(mode), name) if name.strip("0") else NOTHING

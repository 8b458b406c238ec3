"""The contents of many blobs: missing ones are fetched in one exchange, huge ones are not read at all; and with them
the files of apps at a commit, as bytes. What must not be read (links, submodules, too large files) is a Problem.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import field, replace

from cachetools import LRUCache

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.git.errors import MirrorBroken, RemoteUnreachable
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import entries_of
from gitops_bg.repo.git.remote import Apart
from gitops_bg.repo.read.app_index import AppIndex
from gitops_bg.repo.read.changes import FOLDER, LINK, NOTHING, SUBMODULE, TreeNode, Trees, moved_between
from gitops_bg.spec.app.layout import (
    APP_FILE,
    DEFAULT_TARGET_FILE,
    OVERLAY_FILE,
    PRIMARY_FILE,
    RELEASE_FILE,
    is_manifest,
    is_read,
    seen_in,
)

LARGEST_BYTES = 1024 * 1024
_REMEMBERED_BYTES, _SMALL_BYTES = 4 * 1024 * 1024, 64 * 1024
"""The size of the cache, and of the largest file in it: an id names the same content for ever."""
_REMEMBERED_FOLDERS = 1000
_LARGEST_TREE = 4 * 1024 * 1024
"""Bytes of the tree of a folder that is read here: some ten thousand files."""


TOO_LARGE = 1 << 62
"""The size of a blob that is not fetched."""


@dataclass(slots=True)
class Sought:
    """What became of a search for the blobs of folders."""

    sizes: dict[str, int]
    heavy: set[str] = field(default_factory=set)
    """The folders whose missing blobs are too large together to be fetched, or unpacked."""
    lacking: dict[str, str] = field(default_factory=dict)
    """The blobs that the remote does not hand out, and why."""


class Blobs:
    """Contents by object id."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._known: LRUCache[str, bytes] = LRUCache(_REMEMBERED_BYTES, len)
        self._too_much: LRUCache[tuple[str, ...], bool] = LRUCache(_REMEMBERED_FOLDERS)

    def forget(self) -> None:
        """Forget all contents: the mirror was replaced."""
        self._known.clear()

    def sizes(self, blobs: Iterable[str]) -> dict[str, int]:
        """Return the size in bytes of every blob; afterwards all of them are in the mirror, but for those that are too
        large.

        Raises ``RemoteUnreachable`` where the remote does not provide them.
        """
        sought = self.sought({blob: (blob,) for blob in blobs})
        if sought.lacking:
            count, why = len(sought.lacking), next(iter(sought.lacking.values()))
            raise RemoteUnreachable(f"the remote did not hand out {count} of {len(sought.sizes) + count} files: {why}")
        return sought.sizes

    def sought(self, folders: Mapping[str, Iterable[str]]) -> Sought:
        """Return the sizes of the blobs of these folders; missing ones are fetched in one exchange, within limits."""
        wanted = sorted({blob for blobs in folders.values() for blob in blobs})
        sizes = {blob: len(self._known[blob]) for blob in wanted if blob in self._known}
        sizes |= self._here([blob for blob in wanted if blob not in sizes])
        found = Sought(sizes)
        missing = {name: lacked for name, blobs in folders.items() if (lacked := _without(blobs, sizes))}
        if missing:
            self._fetch(missing, found)
        return found

    def _fetch(self, missing: Mapping[str, tuple[str, ...]], found: Sought) -> None:
        """Fetch the missing blobs of folders: a folder with too much in it is left, and single blobs that lack."""
        apart = self._mirror.fetch_blobs({name: each for name, each in missing.items() if each not in self._too_much})
        for name, finished in apart.failed.items():
            if finished.exceeded:
                self._too_much[missing[name]] = True
        doubtful = {one: (one,) for name, how in apart.failed.items() if not how.exceeded for one in missing[name]}
        alone = self._mirror.fetch_blobs(doubtful) if doubtful else Apart()
        found.sizes |= self._here({blob for blobs in missing.values() for blob in blobs})
        for name, blobs in missing.items():
            if blobs in self._too_much:
                found.heavy |= {name} if len(blobs) > 1 else set()
                found.sizes |= dict.fromkeys(_without(blobs, found.sizes), TOO_LARGE)
            why = "too much else was in the way; it is tried again" if name in apart.left else "it has no such object"
            for blob in _without(blobs, found.sizes):
                single = alone.failed.get(blob)
                if single and single.exceeded:
                    found.sizes[blob] = TOO_LARGE
                else:
                    found.lacking[blob] = single.why if single else why

    def read(self, blobs: Iterable[str]) -> dict[str, bytes | None]:
        """Return the contents of every blob; None for one larger than ``LARGEST_BYTES``."""
        return self.contents(self.sizes(blobs))

    def contents(self, sizes: Mapping[str, int]) -> dict[str, bytes | None]:
        """Do as `read`, for blobs of known sizes."""
        contents = {blob: self._known.get(blob) for blob in sizes}
        unknown = [blob for blob, size in sizes.items() if contents[blob] is None and size <= LARGEST_BYTES]
        for blob, (header, content) in zip(unknown, self._mirror.contents(unknown), strict=True):
            if header is None:
                raise MirrorBroken(f"git cat-file: {blob} is missing, which was there a moment ago")
            contents[blob] = content
            if len(content) <= _SMALL_BYTES:
                self._known[blob] = content
        return contents

    def trees(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return the raw tree objects behind names such as ``<commit>:<folder>``; names without a tree, or with one of
        too many files, are left out.
        """
        asked = list(dict.fromkeys(names))
        headers = zip(asked, self._mirror.headers(asked), strict=True)
        trees = [name for name, one in headers if one and one.kind == "tree" and one.size <= _LARGEST_TREE]
        return {name: tree for name, (_, tree) in zip(trees, self._mirror.contents(trees), strict=True)}

    def _here(self, blobs: Iterable[str]) -> dict[str, int]:
        return {header.id: header.size for header in self._mirror.headers(blobs) if header is not None}


def _without(blobs: Iterable[str], known: Container[str]) -> tuple[str, ...]:
    return tuple(sorted({blob for blob in blobs if blob not in known}))


def blobs_in_tree(tree: bytes, id_bytes: int) -> dict[str, str]:
    """Return names and object ids of the files in a raw tree object, and of nothing else; ids of ``id_bytes`` bytes."""
    return {name: blob for mode, name, blob in entries_of(tree, id_bytes) if mode.startswith("100")}


MOST_FILES = 1000
MOST_FOLDERS, DEEPEST = 1000, 20
"""How many folders of shared files are read, and how deep."""
LARGEST_FOLDER_BYTES = 16 * 1024 * 1024
_BY_NAME = (APP_FILE, DEFAULT_TARGET_FILE, PRIMARY_FILE, OVERLAY_FILE, RELEASE_FILE)
_FEW = 50
_NOT_UTF_8 = re.compile(r"\\x[89a-f][0-9a-f]")  # as `output.text` escapes such a byte


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file as the tree lists it, unread. ``blob`` identifies the content for ever: parses can be cached by it."""

    path: str
    mode: str
    blob: str
    crowd: Problem | None = None
    """What is wrong with its folder, of which nothing is read then: bad input is never partly applied."""

    @property
    def problem(self) -> Problem | None:
        """Why the file is not read, or None."""
        if self.crowd is not None:
            return self.crowd
        if self.mode == LINK:
            what = "folder" if "." not in self.path.rpartition("/")[2] else "file"
            return Problem(self.path, "is a symbolic link; links are not followed", remedy=f"commit the {what} itself")
        if self.mode == SUBMODULE:
            return Problem(self.path, "is a submodule; submodules are not read", remedy="commit the files themselves")
        if _NOT_UTF_8.search(self.path):
            return Problem(self.path, "has a name that is not UTF-8", remedy="rename it")
        return None


@dataclass(frozen=True, slots=True)
class File:
    """A file that was read, or why it was not."""

    blob: str
    content: bytes | Problem
    lacking: bool = False
    """Whether the remote did not hand it out: it may do so later."""


class Files:
    """Reads files by app. Only manifests directly in the folder count; keys are file names."""

    def __init__(self, trees: Trees, blobs: Blobs, index: AppIndex) -> None:
        self._trees = trees
        self._blobs = blobs
        self._index = index
        self._inner: tuple[str, dict[AppKey, frozenset[str]]] = ("", {})
        """A commit, and the names of the folders in those of its apps."""
        self.ways: frozenset[frozenset[str]] = frozenset()
        """Of each app that was read so far, the environments that it is in: each combination once."""

    def entries(self, apps: Iterable[AppKey], commit: str) -> dict[AppKey, dict[str, TreeEntry]]:
        """Return the entries of these apps' folders at a commit, unread; an app that does not exist has none."""
        places = self._index.places
        found = {app: _Folder(places.folder(app), places.environment_of(app)) for app in apps}
        by_tree: defaultdict[str, list[_Folder]] = defaultdict(list)
        for app, node in self._nodes({folder.path: app for app, folder in found.items()}, commit).items():
            if node.folder:
                by_tree[node.folder].append(found[app])
            elif node.mode in (LINK, SUBMODULE):
                found[app].replaced(TreeEntry(found[app].path, node.mode, node.id))
        self._list(by_tree)
        if places.environment:
            self._note_inner(found, commit)
        return {app: folder.entries() for app, folder in found.items()}

    def _list(self, by_tree: Mapping[str, Sequence["_Folder"]]) -> None:
        """Add to folders what is read of them, and of the folder of their environment in each."""
        own: defaultdict[str, list[_Folder]] = defaultdict(list)
        for tree, name, node in self._trees.listed(by_tree):
            for folder in by_tree[tree]:
                if node.folder:
                    folder.inner.add(name)
                    if name == folder.environment:
                        own[node.folder].append(folder)
                elif is_read(name) or node.mode == SUBMODULE or name == folder.environment:
                    folder.add(name, node)
        for tree, name, node in self._trees.listed(own):
            if not node.folder and (is_read(name) or node.mode == SUBMODULE):
                for folder in own[tree]:
                    folder.add(f"{folder.environment}/{name}", node)

    def inner(self, apps: Iterable[AppKey], commit: str) -> dict[AppKey, frozenset[str]]:
        """Return the names of the folders in those of apps."""
        wanted = list(apps)
        known = self._inner[1] if self._inner[0] == commit else {}
        if unknown := [app for app in wanted if app not in known]:
            self.entries(unknown, commit)
        return {app: self._inner[1].get(app, frozenset()) for app in wanted}

    def _note_inner(self, found: Mapping[AppKey, "_Folder"], commit: str) -> None:
        """Remember the names of folders in those of apps, of the commit last asked about: its files are read next."""
        before = self._inner[1] if self._inner[0] == commit else {}
        self._inner = (commit, before | {app: frozenset(folder.inner) for app, folder in found.items()})
        names = frozenset(self._index.environment.environments.names)
        self.ways |= {names & folder.inner for folder in found.values()}

    def _nodes(self, folders: Mapping[str, AppKey], commit: str) -> dict[AppKey, TreeNode]:
        """Return the entries in place of these folders of apps."""
        if len(folders) <= _FEW:
            there = self._trees.at(commit, folders) if folders else {}
            return {folders[path]: node for path, node in there.items()}
        pair = ("", self._trees.root(commit))
        there_all = moved_between(self._trees, [pair])[pair].folders()
        return {app: change.after for path, app, change in there_all if path in folders}

    def read(self, entries: Iterable[TreeEntry], *, lenient: bool = False) -> dict[str, File]:
        """Return the contents of entries, by path.

        Raises ``RemoteUnreachable`` where the remote does not hand out one of them; ``lenient``, that is a Problem of
        the file, and all others are read.
        """
        wanted = list(entries)
        folders: defaultdict[str, list[str]] = defaultdict(list)
        for entry in wanted:
            if entry.problem is None:
                folders[_folder(entry)].append(entry.blob)
        sought = self._blobs.sought(folders)
        if sought.lacking and not lenient:
            raise RemoteUnreachable(_not_handed_out(next(iter(sought.lacking.values()))))
        heavy = _too_large(wanted, sought)
        wanted = [replace(entry, crowd=heavy.get(_folder(entry), entry.crowd)) for entry in wanted] if heavy else wanted
        light = {entry.blob for entry in wanted if entry.problem is None}
        contents = self._blobs.contents({blob: size for blob, size in sought.sizes.items() if blob in light})
        return {entry.path: _file(entry, contents, sought.lacking) for entry in wanted}

    def contents(self, blobs: Iterable[str]) -> Mapping[str, bytes | None]:
        """Return the contents behind object ids; None for those too large to read."""
        return self._blobs.read(blobs)

    def of(self, apps: Iterable[AppKey], commit: str) -> dict[AppKey, dict[str, File]]:
        """Return all files of these apps at a commit; one that the remote does not hand out is a Problem."""
        entries = self.entries(apps, commit)
        files = self.read((entry for names in entries.values() for entry in names.values()), lenient=True)
        return {app: {name: files[entry.path] for name, entry in names.items()} for app, names in entries.items()}

    def at(self, path: str, commit: str, *, lenient: bool = False) -> File | None:
        """Return one file anywhere in the repository, or None. Raises as ``read``."""
        node = self._trees.at(commit, [path]).get(path, NOTHING)
        if node.folder or not node.id:
            return None
        return self.read([TreeEntry(path, node.mode, node.id)], lenient=lenient)[path]

    def below(self, path: str, commit: str, *, lenient: bool = False) -> dict[str, File]:
        """Return all YAML files below a folder (``analysis``, ``policies``, ``groups``), by path; and what is in place
        of the folder, or of one in it, and is not followed: what it holds is unknown, which is not absent. Raises as
        ``read``.
        """
        found, node = _Folder(path), self._trees.at(commit, [path]).get(path, NOTHING)
        if node.mode in (LINK, SUBMODULE):
            found.add_entry(path, TreeEntry(path, node.mode, node.id))
        level = {path: node.folder} if node.folder else {}
        deep = many = 0
        while level:
            deep, many = deep + 1, many + len(level)
            if deep > DEEPEST or many > MOST_FOLDERS:
                found.nested()
                break
            level = self._below(level, found)
        return self.read(found.entries().values(), lenient=lenient)

    def _below(self, level: Mapping[str, str], found: "_Folder") -> dict[str, str]:
        """Add the files of these folders, by path, to ``found``; return their subfolders by path."""
        places: defaultdict[str, list[str]] = defaultdict(list)
        for place, folder in level.items():
            places[folder].append(place)
        deeper: dict[str, str] = {}
        for tree, name, node in self._trees.listed(places):
            for path in (f"{place}/{name}" for place in places[tree]):
                if node.folder and len(deeper) <= MOST_FOLDERS:
                    deeper[path] = node.folder
                elif not node.folder and (is_manifest(name) or _may_lead_to_folder(name, node)):
                    found.add_entry(path, TreeEntry(path, node.mode, node.id))
        return deeper


def _file(entry: TreeEntry, contents: Mapping[str, bytes | None], lacking: Mapping[str, str]) -> File:
    if entry.problem is not None:
        return File(entry.blob, entry.problem)
    if entry.blob in lacking:
        remedy = "commit the file again with another content, or repair the repository: git fsck"
        return File(entry.blob, Problem(entry.path, _not_handed_out(lacking[entry.blob]), remedy=remedy), lacking=True)
    content = contents[entry.blob]
    if content is None:
        limit = f"is larger than {LARGEST_BYTES // 1024} KiB"
        return File(entry.blob, Problem(entry.path, limit, remedy="keep manifests small; put data elsewhere"))
    return File(entry.blob, content)


def _not_handed_out(why: str) -> str:
    return f"the remote does not hand it out: {why}"


def _may_lead_to_folder(name: str, node: TreeNode) -> bool:
    """Return whether files may be there; a link with a suffix, as ``README.md``, is none to a folder."""
    return node.mode == SUBMODULE or (node.mode == LINK and "." not in name)


def _folder(entry: TreeEntry) -> str:
    return entry.path.rpartition("/")[0]


class _Folder:
    """Collects the entries of a folder, and counts them beyond the limit."""

    def __init__(self, path: str, environment: str = "") -> None:
        self.path = path
        self.environment = environment
        self.inner: set[str] = set()
        """The names of the folders in it."""
        self._nested = False
        self._entries: dict[str, TreeEntry] = {}
        self._count = 0

    def add(self, name: str, node: TreeNode) -> None:
        """Add a file by its path in the folder."""
        self.add_entry(self._key(name), TreeEntry(f"{self.path}/{name}", node.mode, node.id))

    def add_entry(self, name: str, entry: TreeEntry) -> None:
        self._count += 1
        if self._count <= MOST_FILES or name in _BY_NAME:
            self._entries[name] = entry

    def _key(self, name: str) -> str:
        """Return the name under which a file is read; of what is in place of the environment's folder, that of one in
        it.
        """
        if not self.environment:
            return name
        return RELEASE_FILE if name == self.environment else next(iter(seen_in(self.environment, [name])))

    def replaced(self, entry: TreeEntry) -> None:
        """Note that something else is in place of the folder, so that none of its files can be read."""
        self._entries = dict.fromkeys((APP_FILE, DEFAULT_TARGET_FILE, PRIMARY_FILE), entry)

    def nested(self) -> None:
        """Note that the folder has too many levels, which are not read."""
        self._nested = True

    def entries(self) -> dict[str, TreeEntry]:
        """Return all entries by name; where there are too many, only the known names, none of which is read."""
        if self._count <= MOST_FILES and not self._nested:
            return self._entries
        message = f"has {self._count} YAML files; at most {MOST_FILES} are read"
        if self._nested:
            message = (
                f"has more than {MOST_FOLDERS} folders in it, or more than {DEEPEST} in one another; no more are read"
            )
        crowd = Problem(self.path, message, remedy="move what is not of it elsewhere")
        some = self._entries or {self.path: TreeEntry(self.path, FOLDER, "")}
        return {name: replace(entry, crowd=crowd) for name, entry in some.items()}


def _too_large(entries: Iterable[TreeEntry], sought: Sought) -> dict[str, Problem]:
    """Return the folders whose files are too large together; a file that is too large by itself does not count."""
    weights = Counter[str]()
    for entry in entries:
        size = sought.sizes.get(entry.blob, 0) if entry.problem is None else 0
        weights[_folder(entry)] += size if size <= LARGEST_BYTES else 0
    limit = f"its YAML files are larger than {LARGEST_FOLDER_BYTES // 1024} KiB together"
    remedy = "keep manifests small; put data elsewhere"
    heavy = {folder for folder, weight in weights.items() if weight > LARGEST_FOLDER_BYTES} | sought.heavy
    return {folder: Problem(folder, limit, remedy=remedy) for folder in heavy}

"""The files of apps at a commit, as bytes; what must not be read (links, submodules, what is too much) is a Problem."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gitops_bg.core.desired import Problem
from gitops_bg.core.model import AppKey
from gitops_bg.repo.blobs import LARGEST_BYTES, Blobs
from gitops_bg.repo.layout import app_of_folder
from gitops_bg.repo.mirror import Mirror
from gitops_bg.repo.tree import LINK, SUBMODULE, listing
from gitops_bg.spec.layout import (
    APP_FILE,
    APPS_FOLDER,
    DEFAULT_TARGET_FILE,
    PRIMARY_FILE,
    app_of,
    folder_of,
    is_manifest,
)

MOST_FILES = 1000
LARGEST_FOLDER_BYTES = 16 * 1024 * 1024
_BY_NAME = (APP_FILE, DEFAULT_TARGET_FILE, PRIMARY_FILE)
_FEW = 50
_NOT_UTF_8 = re.compile(r"\\x[89a-f][0-9a-f]")  # as `output.text` writes such a byte
_TREE = "040000"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file as the tree lists it, unread. ``blob`` names the content for ever: parses can be cached by it."""

    path: str
    mode: str
    blob: str
    crowd: Problem | None = None
    """What is wrong with its folder, of which nothing is read then: bad input is never partly applied."""

    @property
    def problem(self) -> Problem | None:
        """Why it is not read, or None."""
        if self.crowd is not None:
            return self.crowd
        if self.mode == LINK:
            return Problem(self.path, "is a symbolic link; links are not followed", remedy="commit the file itself")
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


class Files:
    """Reads files by app. Only manifests of the folder itself are looked at; keys are file names."""

    def __init__(self, mirror: Mirror, blobs: Blobs) -> None:
        self._mirror = mirror
        self._blobs = blobs

    def entries(self, apps: Iterable[AppKey], commit: str) -> dict[AppKey, dict[str, Entry]]:
        """What the folders of these apps hold at a commit, unread; an app that is not there has no files."""
        found = {app: _Folder(folder_of(app)) for app in apps}
        paths = [folder_of(app) for app in found] if len(found) <= _FEW else [f"{APPS_FOLDER}/"]
        if not found:
            return {}
        for mode, blob, path in listing(self._mirror.told("ls-tree", "-r", "-z", commit, *paths)):
            place, instead = app_of(path), app_of_folder(path)
            if instead in found and mode in (LINK, SUBMODULE):
                found[instead].replaced(Entry(path, mode, blob))
            elif place is not None and place[0] in found and (is_manifest(path) or mode == SUBMODULE):
                found[place[0]].add(place[1], Entry(path, mode, blob))
        return {app: folder.entries() for app, folder in found.items()}

    def read(self, entries: Iterable[Entry]) -> dict[str, File]:
        """The contents of entries, by path."""
        wanted = list(entries)
        sizes = self._blobs.sizes(entry.blob for entry in wanted if entry.problem is None)
        heavy = _too_large(wanted, sizes)
        wanted = [replace(entry, crowd=heavy.get(_folder(entry), entry.crowd)) for entry in wanted] if heavy else wanted
        light = {entry.blob for entry in wanted if entry.problem is None}
        contents = self._blobs.contents({blob: size for blob, size in sizes.items() if blob in light})
        return {entry.path: File(entry.blob, self._content(entry, contents)) for entry in wanted}

    def contents(self, blobs: Iterable[str]) -> Mapping[str, bytes | None]:
        """The contents behind object ids; None for what is too large to be read."""
        return self._blobs.read(blobs)

    def of(self, apps: Iterable[AppKey], commit: str) -> dict[AppKey, dict[str, File]]:
        """All files of these apps at a commit."""
        entries = self.entries(apps, commit)
        files = self.read(entry for names in entries.values() for entry in names.values())
        return {app: {name: files[entry.path] for name, entry in names.items()} for app, names in entries.items()}

    def at(self, path: str, commit: str) -> File | None:
        """One file anywhere in the repository, or None."""
        for mode, blob, found in listing(self._mirror.told("ls-tree", "-z", commit, path)):
            if found == path and mode != _TREE:
                return self.read([Entry(path, mode, blob)])[path]
        return None

    def below(self, path: str, commit: str) -> dict[str, File]:
        """All YAML files below a folder (``analysis``, ``policies``, ``groups``), by path."""
        told = self._mirror.told("ls-tree", "-r", "-z", commit, f"{path}/")
        found = _Folder(path)
        for mode, blob, name in listing(told):
            if is_manifest(name):
                found.add(name, Entry(name, mode, blob))
        return self.read(found.entries().values())

    @staticmethod
    def _content(entry: Entry, contents: Mapping[str, bytes | None]) -> bytes | Problem:
        if entry.problem is not None:
            return entry.problem
        content = contents[entry.blob]
        if content is None:
            limit = f"is larger than {LARGEST_BYTES // 1024} KiB"
            return Problem(entry.path, limit, remedy="keep manifests small; put data elsewhere")
        return content


def _folder(entry: Entry) -> str:
    return entry.path.rpartition("/")[0]


class _Folder:
    """Collects the entries of a folder, and counts those that are too many."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._entries: dict[str, Entry] = {}
        self._count = 0

    def add(self, name: str, entry: Entry) -> None:
        self._count += 1
        if self._count <= MOST_FILES or name in _BY_NAME:
            self._entries[name] = entry

    def replaced(self, entry: Entry) -> None:
        """Something else stands in its place, so that none of its files can be read."""
        self._entries = dict.fromkeys(_BY_NAME, entry)

    def entries(self) -> dict[str, Entry]:
        """All by name; where they are too many, some, none of which is read: those that are looked for are there."""
        if self._count <= MOST_FILES:
            return self._entries
        message = f"has {self._count} YAML files; at most {MOST_FILES} are read"
        crowd = Problem(self._path, message, remedy="move what is not of it elsewhere")
        return {name: replace(entry, crowd=crowd) for name, entry in self._entries.items()}


def _too_large(entries: Iterable[Entry], sizes: Mapping[str, int]) -> dict[str, Problem]:
    """The folders whose files would be too much together; a file that is too large by itself counts nothing."""
    weights = Counter[str]()
    for entry in entries:
        size = sizes.get(entry.blob, 0) if entry.problem is None else 0
        weights[_folder(entry)] += size if size <= LARGEST_BYTES else 0
    limit = f"its YAML files are larger than {LARGEST_FOLDER_BYTES // 1024} KiB together"
    remedy = "keep manifests small; put data elsewhere"
    return {
        folder: Problem(folder, limit, remedy=remedy)
        for folder, weight in weights.items()
        if weight > LARGEST_FOLDER_BYTES
    }

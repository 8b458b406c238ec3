"""The files of apps at a commit, as bytes; what must not be read (links, submodules, huge files) is a Problem."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gitops_bg.core.desired import Problem
from gitops_bg.core.model import AppKey
from gitops_bg.repo.blobs import LARGEST_BYTES, Blobs
from gitops_bg.repo.mirror import Mirror
from gitops_bg.repo.tree import listing
from gitops_bg.spec.layout import APPS_FOLDER, app_of, folder_of, is_manifest

_FEW = 50
_NOT_UTF_8 = re.compile(r"\\x[89a-f][0-9a-f]")  # as `output.text` writes such a byte
_LINK, _SUBMODULE, _TREE = "120000", "160000", "040000"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file as the tree lists it, unread. ``blob`` names the content for ever: parses can be cached by it."""

    path: str
    mode: str
    blob: str

    @property
    def problem(self) -> Problem | None:
        """Why it is not read, or None."""
        if self.mode == _LINK:
            return Problem(self.path, "is a symbolic link; links are not followed", remedy="commit the file itself")
        if self.mode == _SUBMODULE:
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
        found: dict[AppKey, dict[str, Entry]] = {app: {} for app in apps}
        paths = [f"{folder_of(app)}/" for app in found] if len(found) <= _FEW else [f"{APPS_FOLDER}/"]
        if not found:
            return found
        for mode, blob, path in listing(self._mirror.local("ls-tree", "-r", "-z", commit, *paths)):
            place = app_of(path)
            if place is not None and place[0] in found and (is_manifest(path) or mode == _SUBMODULE):
                found[place[0]][place[1]] = Entry(path, mode, blob)
        return found

    def trees(self, apps: Iterable[AppKey], commit: str) -> dict[AppKey, str]:
        """The ids of the folders of these apps at a commit: equal ids, equal files; none for one that is not there."""
        wanted = {folder_of(app): app for app in apps}
        few = list(wanted) if len(wanted) <= _FEW else [f"{APPS_FOLDER}/"]
        if not wanted:
            return {}
        listed = listing(self._mirror.local("ls-tree", "-r", "-d", "-z", commit, *few))
        return {wanted[path]: tree for mode, tree, path in listed if mode == _TREE and path in wanted}

    def read(self, entries: Iterable[Entry]) -> dict[str, File]:
        """The contents of entries, by path."""
        wanted = list(entries)
        contents = self._blobs.read(entry.blob for entry in wanted if entry.problem is None)
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
        for mode, blob, found in listing(self._mirror.local("ls-tree", "-z", commit, path)):
            if found == path and mode != _TREE:
                return self.read([Entry(path, mode, blob)])[path]
        return None

    def below(self, path: str, commit: str) -> dict[str, File]:
        """All YAML files below a folder (``analysis``, ``policies``, ``groups``), by path."""
        output = self._mirror.local("ls-tree", "-r", "-z", commit, f"{path}/")
        return self.read(Entry(name, mode, blob) for mode, blob, name in listing(output) if is_manifest(name))

    @staticmethod
    def _content(entry: Entry, contents: Mapping[str, bytes | None]) -> bytes | Problem:
        if entry.problem is not None:
            return entry.problem
        content = contents[entry.blob]
        if content is None:
            limit = f"is larger than {LARGEST_BYTES // 1024} KiB"
            return Problem(entry.path, limit, remedy="keep manifests small; put data elsewhere")
        return content

"""Reads the contents of many blobs: missing ones are fetched in one exchange, huge ones are not read at all."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import field

from cachetools import LRUCache

from gitops_bg.core.dataclass import dataclass
from gitops_bg.repo.git.errors import MirrorBroken, RemoteUnreachable
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import entries_of
from gitops_bg.repo.git.remote import Apart

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
        """The size in bytes of every blob; afterwards all of them are in the mirror, but for those that are too large.

        Raises ``RemoteUnreachable`` where the remote does not provide them.
        """
        sought = self.sought({blob: (blob,) for blob in blobs})
        if sought.lacking:
            count, why = len(sought.lacking), next(iter(sought.lacking.values()))
            raise RemoteUnreachable(f"the remote did not hand out {count} of {len(sought.sizes) + count} files: {why}")
        return sought.sizes

    def sought(self, folders: Mapping[str, Iterable[str]]) -> Sought:
        """The sizes of the blobs of these folders; missing ones are fetched in one exchange, within limits."""
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
        """The contents of every blob; None for one larger than ``LARGEST_BYTES``."""
        return self.contents(self.sizes(blobs))

    def contents(self, sizes: Mapping[str, int]) -> dict[str, bytes | None]:
        """As `read`, for blobs of known sizes."""
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
        """The raw tree objects behind names such as ``<commit>:<folder>``; names without a tree, or with
        one of too many files, are left out.
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
    """Names and object ids of the files in a raw tree object, and of nothing else; ids of ``id_bytes`` bytes."""
    return {name: blob for mode, name, blob in entries_of(tree, id_bytes) if mode.startswith("100")}

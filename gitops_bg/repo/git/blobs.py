"""Reads the contents of many blobs: missing ones are fetched in one exchange, huge ones are not read at all."""

from collections.abc import Iterable, Mapping

from cachetools import LRUCache

from gitops_bg.repo.git.errors import MirrorBroken, RemoteUnreachable
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import entries_of

LARGEST_BYTES = 1024 * 1024
_REMEMBERED_BYTES, _SMALL_BYTES = 4 * 1024 * 1024, 64 * 1024
"""The size of the cache, and of the largest file in it: an id names the same content for ever."""


class Blobs:
    """Contents by object id."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._known: LRUCache[str, bytes] = LRUCache(_REMEMBERED_BYTES, len)

    def forget(self) -> None:
        """Forget all contents: the mirror was replaced."""
        self._known.clear()

    def sizes(self, blobs: Iterable[str]) -> dict[str, int]:
        """The size in bytes of every blob; afterwards all of them are in the mirror.

        Raises ``RemoteUnreachable`` where the remote does not provide them.
        """
        wanted = sorted(set(blobs))
        sizes = {blob: len(self._known[blob]) for blob in wanted if blob in self._known}
        sizes |= self._here([blob for blob in wanted if blob not in sizes])
        missing = [blob for blob in wanted if blob not in sizes]
        if missing:
            self._mirror.fetch_blobs(missing)
            sizes |= self._here(missing)
        lacking = len(wanted) - len(sizes)
        if lacking:
            raise RemoteUnreachable(f"the remote did not hand out {lacking} of {len(wanted)} files")
        return sizes

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
        """The raw tree objects behind names such as ``<commit>:<folder>``; names without a tree are left out."""
        asked = list(dict.fromkeys(names))
        found = zip(asked, self._mirror.contents(asked), strict=True)
        return {name: tree for name, (header, tree) in found if header is not None and header.kind == "tree"}

    def _here(self, blobs: list[str]) -> dict[str, int]:
        return {header.id: header.size for header in self._mirror.headers(blobs) if header is not None}


def blobs_in_tree(tree: bytes, id_bytes: int) -> dict[str, str]:
    """Names and object ids of the files in a raw tree object, and of nothing else; ids of ``id_bytes`` bytes."""
    return {name: blob for mode, name, blob in entries_of(tree, id_bytes) if mode.startswith("100")}

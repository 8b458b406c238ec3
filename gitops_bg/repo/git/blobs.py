"""Reads the contents of many blobs: what is missing is fetched in one exchange, what is huge is not read at all."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from cachetools import LRUCache

from gitops_bg.repo.git.errors import MirrorBroken, RemoteUnreachable
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import lines, text

LARGEST_BYTES = 1024 * 1024
_AT_ONCE = 2000
_REMEMBERED_BYTES, _SMALL_BYTES = 4 * 1024 * 1024, 64 * 1024
"""So much in all, and of one file, is known without asking: an id names the same content for ever."""
_HEADER = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}) (blob|tree|commit|tag) (\d{1,18})")


@dataclass(frozen=True, slots=True)
class _Header:
    """What ``cat-file --batch`` says before the bytes of an object."""

    name: str
    kind: str
    size: int

    @classmethod
    def of(cls, line: bytes) -> "_Header | None":
        """None for every other answer, after which no bytes come: missing, ambiguous, submodule."""
        found = _HEADER.fullmatch(line)
        return cls(text(found[1]), text(found[2]), int(found[3])) if found else None


class Blobs:
    """Contents by object id."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._known: LRUCache[str, bytes] = LRUCache(_REMEMBERED_BYTES, len)

    def forget(self) -> None:
        """Ask for everything again: the mirror is another one."""
        self._known.clear()

    def sizes(self, blobs: Iterable[str]) -> dict[str, int]:
        """The size in bytes of every blob; afterwards all of them are in the mirror.

        Raises ``RemoteUnreachable`` where the remote does not hand them out.
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
        """`read` for blobs of which the sizes are known."""
        contents = {blob: self._known.get(blob) for blob in sizes}
        unknown = iter([blob for blob, size in sizes.items() if contents[blob] is None and size <= LARGEST_BYTES])
        while chunk := list(islice(unknown, _AT_ONCE)):
            answers = dict(_contents(self._mirror.local("cat-file", "--batch", stdin=_lines(chunk))))
            if len(answers) < len(chunk):
                raise MirrorBroken(f"git cat-file: told {len(answers)} of {len(chunk)} objects")
            contents.update(answers)
            self._known.update({blob: content for blob, content in answers.items() if len(content) <= _SMALL_BYTES})
        return contents

    def trees(self, names: Iterable[str]) -> dict[str, bytes]:
        """The raw tree objects behind names such as ``<commit>:<folder>``; names without one are left out."""
        asked = list(dict.fromkeys(names))
        if not asked:
            return {}
        output = self._mirror.local("cat-file", "--batch", stdin=_lines(asked))
        return dict(_trees(asked, output))

    def _here(self, blobs: list[str]) -> dict[str, int]:
        if not blobs:
            return {}
        output = self._mirror.local("cat-file", "--batch-check", stdin=_lines(blobs))
        found = (_Header.of(line) for line in lines(output))
        return {header.name: header.size for header in found if header is not None}


def blobs_in_tree(tree: bytes, id_bytes: int) -> dict[str, str]:
    """Names and object ids of the files in a raw tree object, and of nothing else; ids of ``id_bytes`` bytes."""
    entries, at = {}, 0
    while at < len(tree):
        end = tree.index(b"\0", at)
        mode, _, name = tree[at:end].partition(b" ")
        if mode.startswith(b"100"):
            entries[text(name)] = tree[end + 1 : end + 1 + id_bytes].hex()
        at = end + 1 + id_bytes
    return entries


def _lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


def _contents(output: bytes) -> Iterator[tuple[str, bytes]]:
    at = 0
    while at < len(output):
        end = output.index(b"\n", at)
        header = _Header.of(output[at:end])
        if header is None:
            raise MirrorBroken(f"git cat-file: {text(output[at:end])}, which was there a moment ago")
        at = end + 1 + header.size + 1
        yield header.name, output[end + 1 : at - 1]


def _trees(names: list[str], output: bytes) -> Iterator[tuple[str, bytes]]:
    at = 0
    for name in names:
        end = output.index(b"\n", at)
        header = _Header.of(output[at:end])
        at = end + 1
        if header is None:
            continue
        if header.kind == "tree":
            yield name, output[at : at + header.size]
        at += header.size + 1

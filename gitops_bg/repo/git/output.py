"""What git prints, taken apart: on NUL or LF bytes or by length, before anything is decoded. No I/O.

Never by what people can type: ``str.splitlines`` takes U+2028, U+0085 and five more for the end of a line, and a branch
name may hold them; a commit message may hold anything but NUL.
"""

import stat
from collections.abc import Iterable, Iterator


def lines(output: bytes) -> list[bytes]:
    """The lines of what git prints where no line can hold a line feed: object ids and refs.

    >>> lines(b"a\\x0bb\\r\\nc\\n")
    [b'a\\x0bb\\r', b'c']
    """
    return output.removesuffix(b"\n").split(b"\n") if output else []


def parts(output: bytes) -> list[bytes]:
    """What ``-z`` prints: everything that ends with NUL.

    >>> parts(b"a\\nb\\x00c\\x00")
    [b'a\\nb', b'c']
    """
    return output.removesuffix(b"\0").split(b"\0") if output else []


def parts_of(chunks: Iterable[bytes], longest: int) -> Iterator[bytes]:
    """`parts` of output that arrives piece by piece, each cut off after ``longest`` bytes: a message may have millions.

    >>> list(parts_of([b"a", b"b\\x00cde", b"f\\x00"], 3))
    [b'ab', b'cde']
    """
    pending = b""
    for chunk in chunks:
        *complete, rest = chunk.split(b"\0")
        for part in complete:
            yield (pending + part)[:longest]
            pending = b""
        if len(pending) < longest:
            pending = (pending + rest)[:longest]
    if pending:
        yield pending


def text(data: bytes) -> str:
    """A name or a message as text: bytes that are no UTF-8 are written out, so that two names stay two names.

    >>> text(b"caf\\xe9 \\xc3\\xa9")
    'caf\\\\xe9 é'
    """
    return data.decode(errors="backslashreplace")


def lines_of(message: str) -> list[str]:
    """The lines of a commit message, at least one; a carriage return at the end of one is part of it.

    >>> lines_of("a\\x85b\\r\\n\\nc")
    ['a\\x85b\\r', '', 'c']
    """
    return message.split("\n")


def root_of(commit: bytes) -> str:
    """The id of the folder that a raw commit is of: it begins with that.

    >>> root_of(b"tree 4b82\\nauthor Ada")
    '4b82'
    """
    return text(commit.partition(b"\n")[0].removeprefix(b"tree "))


def entries_of(tree: bytes, id_bytes: int) -> Iterator[tuple[str, str, str]]:
    """What a raw tree object holds: mode, name and id of each; ids of ``id_bytes`` bytes.

    A mode is one of the five that git knows, whatever bits somebody wrote. Raises ``ValueError`` for what is no tree.
    """
    at = 0
    while at < len(tree):
        end = tree.index(b"\0", at)
        mode, _, name = tree[at:end].partition(b" ")
        at = end + 1 + id_bytes
        yield _mode(int(mode, 8)), text(name), tree[end + 1 : at].hex()


def _mode(bits: int) -> str:
    """As git's own ``canon_mode``."""
    if stat.S_ISREG(bits):
        return "100755" if bits & stat.S_IXUSR else "100644"
    if stat.S_ISLNK(bits):
        return "120000"
    return "040000" if stat.S_ISDIR(bits) else "160000"

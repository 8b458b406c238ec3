"""Parses what git prints, and raw objects: on NUL or LF bytes or by length, before anything is decoded. No I/O.

Never by characters that people can type: ``str.splitlines`` takes U+2028, U+0085 and five more for the end of a line,
and a branch name may contain them; a commit message may contain anything but NUL.
"""

import re
import stat
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_text import YEARS, lines_of

# --- the signature of a raw commit, if that has the form that git itself writes ---
# A signature covers a commit without the header that holds it, wherever that stands; but git reads the parents up to
# the first line that is none. So whoever moves the header of a good signature up makes another commit, with fewer
# parents or with none, whose signature still holds. Other commits make git die, with all that was asked in the same
# breath.

HEADERS = {40: b"gpgsig ", 64: b"gpgsig-sha256 "}
"""The header of a commit with its signature, by length of ids."""
_ID = {length: rb"[0-9a-f]{%d}" % length for length in HEADERS}
_PERSON = rb"(?:[^<>\n]* )?<[^<>\n]*> (0|[1-9][0-9]{0,14}) [+-][0-9]{4}"
_BEGINNING = {
    length: re.compile(rb"tree %b\n(?:parent %b\n)*author %b\ncommitter %b\n(?! )" % (one_id, one_id, _PERSON, _PERSON))
    for length, one_id in _ID.items()
}
"""The headers that every commit has, in git's order, each once."""
_NAME = re.compile(rb"[!-~]+")
_ONCE = frozenset((b"tree", b"parent", b"author", b"committer"))
_END_OF_TIME = int(datetime(YEARS[1] + 1, 1, 1, tzinfo=UTC).timestamp())
"""Git holds later times than this, but not all that fit into a line: it dies where it is to show one."""


def signature_in(commit: bytes, id_length: int) -> bytes | None:
    r"""Return the signature of a raw commit; empty without one; None where git would not have written the commit so.

    >>> ids = b"tree " + b"4b" * 20 + b"\nparent " + b"1f" * 20 + b"\n"
    >>> people = b"author Ada <ada@example.com> 12 +0000\ncommitter Ada <ada@example.com> 12 +0000\n"
    >>> signature_in(ids + people + b"gpgsig -----BEGIN\n more\n\nWhy\n", 40)
    b'-----BEGIN\nmore\n'
    >>> signature_in(ids + people + b"\nWhy\n", 40)
    b''
    >>> signature_in(b"gpgsig -----BEGIN\n" + ids + people + b"\nWhy\n", 40)
    """
    head, blank, _ = commit.partition(b"\n\n")
    head += b"\n"
    beginning = _BEGINNING[id_length].match(head)
    if not blank or b"\0" in commit or beginning is None:
        return None
    if any(int(seconds) >= _END_OF_TIME for seconds in beginning.groups()):
        return None
    return _in_further(lines(head[beginning.end() :]), HEADERS[id_length])


def _in_further(written: list[bytes], header: bytes) -> bytes | None:
    """Return the signature in the headers after the first four; None where they are not in git's form, or have two.

    Git leaves out of what is signed every header whose name begins as that of a signature does.
    """
    found: list[bytes] = []
    inside = False
    for line in written:
        if line.startswith(b" "):
            if inside:
                found.append(line[1:])
            continue
        inside = line.startswith(header)
        name = line.partition(b" ")[0]
        if _NAME.fullmatch(name) is None or name in _ONCE or (name.startswith(b"gpgsig") and (not inside or found)):
            return None
        if inside:
            found.append(line.removeprefix(header))
    return b"".join(line + b"\n" for line in found)


# --- lines, parts, commits, trees ---

_COMMIT = re.compile(
    rb"tree [0-9a-f]+\n((?:parent [0-9a-f]+\n)*)"
    rb"author (?:([^ <>\n\0](?:[^<>\n\0]*[^ <>\n\0])?) )?<([^\s<>\0]*)> (\d{1,15}) [+-]\d{4}\n"
    rb"committer [^\n\0]*\n"
    rb"(?:gpgsig(?:-sha256)? [^\n\0]*\n(?: [^\n\0]*\n)*)?"
    rb"\n([^\0]*)"
)


@dataclass(frozen=True, slots=True)
class Commit:
    """The content of a raw commit, word for word. ``seconds`` is the author's time, since 1970."""

    parents: tuple[str, ...]
    author: str
    mail: str
    seconds: str
    message: str


def lines(output: bytes) -> list[bytes]:
    """Return the lines of output in which no line can contain a line feed: object ids and refs.

    >>> lines(b"a\\x0bb\\r\\nc\\n")
    [b'a\\x0bb\\r', b'c']
    """
    return output.removesuffix(b"\n").split(b"\n") if output else []


def parts(output: bytes) -> list[bytes]:
    """Return the parts of ``-z`` output: everything that ends with NUL.

    >>> parts(b"a\\nb\\x00c\\x00")
    [b'a\\nb', b'c']
    """
    return output.removesuffix(b"\0").split(b"\0") if output else []


def parts_of(chunks: Iterable[bytes], longest: int) -> Iterator[bytes]:
    """Do as `parts`, for output that arrives in chunks, each part cut after ``longest`` bytes: a message may have
    millions.

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
    """Decode a name or a message: bytes that are not UTF-8 are escaped, so that different names stay different.

    >>> text(b"caf\\xe9 \\xc3\\xa9")
    'caf\\\\xe9 é'
    """
    return data.decode(errors="backslashreplace")


def root_of(commit: bytes) -> str:
    """Return the id of the root folder of a raw commit, which begins with it.

    >>> root_of(b"tree 4b82\\nauthor Ada")
    '4b82'
    """
    return text(commit.partition(b"\n")[0].removeprefix(b"tree "))


def commit_in(raw: bytes) -> Commit | None:
    """Parse a raw commit in git's present form; None for every other form, which git itself can read.

    >>> commit_in(b"tree 4b\\nparent 1f\\nauthor Ada L <a@example.com> 12 +0000\\ncommitter C <c> 13 +0000\\n\\nWhy\\n")
    Commit(parents=('1f',), author='Ada L', mail='a@example.com', seconds='12', message='Why\\n')
    >>> commit_in(b"tree 4b\\nauthor Ada <a> 12 +0000\\ncommitter C <c> 13 +0000\\nencoding latin1\\n\\ncaf\\xe9")
    """
    found = _COMMIT.fullmatch(raw)
    if found is None:
        return None
    try:
        author, mail, message = ((found[group] or b"").decode() for group in (2, 3, 5))
    except UnicodeDecodeError:
        return None
    parents = tuple(text(line.removeprefix(b"parent ")) for line in lines(found[1]))
    return Commit(parents, author, mail, text(found[4]), message)


def subject_of(message: str) -> str:
    """Return the first paragraph of a commit message on one line, as git's ``%s`` has it.

    >>> subject_of("\\n  \\nOne \\ntwo\\n\\nthree")
    'One two'
    """
    paragraph: list[str] = []
    for line in lines_of(message):
        stripped = line.rstrip(_BLANK)
        if stripped:
            paragraph.append(stripped)
        elif paragraph:
            break
    return " ".join(paragraph)


_BLANK = " \t\n\r"
"""The characters that git's ``isspace`` takes for blank: far fewer than Python's."""


_MODE_DIGITS = 10
"""How many of its last digits git keeps: more have no room in its number."""


def entries_of(tree: bytes, id_bytes: int) -> Iterator[tuple[str, str, str]]:
    """Yield the entries of a raw tree object: mode, name and id of each; ids of ``id_bytes`` bytes.

    A mode is one of the five that git knows, whatever bits were written, and after however many zeros. Raises
    ``ValueError`` for anything but a tree.
    """
    at = 0
    while at < len(tree):
        end = tree.index(b"\0", at)
        mode, _, name = tree[at:end].partition(b" ")
        at = end + 1 + id_bytes
        yield _mode(int(mode[-_MODE_DIGITS:], 8)), text(name), tree[end + 1 : at].hex()


def _mode(bits: int) -> str:
    """Return the mode as git's own ``canon_mode`` has it."""
    if stat.S_ISREG(bits):
        return "100755" if bits & stat.S_IXUSR else "100644"
    if stat.S_ISLNK(bits):
        return "120000"
    return "040000" if stat.S_ISDIR(bits) else "160000"

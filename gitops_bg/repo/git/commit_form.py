"""Whether a raw commit has the form that git itself writes: nothing else is asked about its signature. Pure.

A signature covers a commit without the header that holds it, wherever that stands; but git reads the parents up to the
first line that is none. So whoever moves the header of a good signature up makes another commit, with fewer parents or
with none, whose signature still holds. Other commits make git die, with all that was asked in the same breath.
"""

import re
from datetime import UTC, datetime

from gitops_bg.core.text.moments import YEARS
from gitops_bg.repo.git.output import lines

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
    """The signature in the headers after the first four; None where they are not in git's form, or have two.

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

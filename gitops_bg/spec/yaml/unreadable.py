"""What stands in place of a manifest where Git, or a tool around it, left something else. Knows no YAML."""

import re
from dataclasses import dataclass

_LFS = b"version https://git-lfs.github.com/spec/"
_GIT_CRYPT = b"\0GITCRYPT\0"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_CONFLICT = re.compile(rb"^(?:<{7}|\|{7}|>{7})(?= )|^={7}(?=\r?$)", re.MULTILINE)
"""A line that `git merge` writes around what it could not join; no line of a YAML mapping begins so."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What a file is instead of a manifest, and what its author does about that."""

    message: str
    remedy: str
    line: int = 1


def unreadable(data: bytes) -> Unreadable | None:
    """What is in place of the manifest; None where it may be one.

    >>> unreadable(b"a: 1\\n<<<<<<< HEAD\\nb: 2\\n").line
    2
    """
    if data.startswith(_LFS):
        remedy = "take it out of LFS: `git lfs untrack FILE`, then commit the file itself"
        return Unreadable("the file is a pointer of Git LFS, not the manifest: its content is not in Git", remedy)
    if data.startswith(_GIT_CRYPT):
        remedy = "leave it as it is, and have .gitattributes not encrypt it; the agent has no key of git-crypt"
        return Unreadable("the file is encrypted by git-crypt", remedy)
    if found := _CONFLICT.search(data):
        marker = found.group().decode()
        remedy = "choose between the two sides, remove the lines of <<<<<<<, ======= and >>>>>>>, and commit"
        return Unreadable(f"a merge left its conflict marker {marker}", remedy, data.count(b"\n", 0, found.start()) + 1)
    if b"\0" in data and not data.startswith(_UTF_16):
        return Unreadable("the file is no text: it is binary, or encrypted", "commit the manifest itself, as text")
    return None

"""Since when a file says what it says: the commit that let just that into main, whatever else of it changed later.

It follows main's own line (decision 18) and compares each commit with the one that was main before it.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.read.files import Files
from gitops_bg.repo.read.mainline import Mainline
from gitops_bg.repo.read.provenance import changes

_COMPARE = ("diff-tree", "--stdin", "-r", "-z", "--root", "--no-renames", "--no-abbrev")
_PAGE = 1000
_FAR = 20
"""So many pages of main's line are looked through."""

Says = Callable[[bytes], bool | None]
"""Whether a content says what it says now; None where nobody can tell: then it says what it said before."""


def landing_of(mirror: Mirror, mainline: Mainline, files: Files, path: str, says: Says, head: str) -> str:
    """The oldest commit of main since which a file has said so; empty where it does not, or nobody looked that far."""
    found = ""
    for commit, content in contents(mirror, mainline, files, path, head):
        said = content is not None and says(content)
        if said is False:
            return found
        found = commit if said else found
    return found


def contents(
    mirror: Mirror, mainline: Mainline, files: Files, path: str, head: str
) -> Iterator[tuple[str, bytes | None]]:
    """Each commit of main's line that changed a file, newest first, and what it held; None where it was no file."""
    for commit in _changes(mirror, mainline.line(head), path):
        file = files.at(path, commit)
        yield commit, file.content if file is not None and isinstance(file.content, bytes) else None


def _changes(mirror: Mirror, line: tuple[str, ...], path: str) -> Iterator[str]:
    """The commits of main's line that changed a file, newest first."""
    for start in range(0, min(len(line), _PAGE * _FAR), _PAGE):
        page = line[start : start + _PAGE + 1]
        asked = [f"{commit} {before}\n" for commit, before in pairwise(page)]
        if start + _PAGE >= len(line):
            asked.append(f"{line[-1]}\n")
        walked = mirror.stream(*_COMPARE, "--", path, stdin="".join(asked).encode())
        yield from (commit for commit, _, _ in changes(walked))

"""Since when a file says something: the commit that brought just that into main, whatever else in it changed later.

It follows main's own line (decision 18) and compares each commit with the one before it on main.
"""

from collections.abc import Callable, Iterator
from itertools import groupby, pairwise

from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.read.files import Files
from gitops_bg.repo.read.mainline import Mainline
from gitops_bg.repo.read.provenance import changes

_COMPARE = ("diff-tree", "--stdin", "-r", "-z", "--root", "--no-renames", "--no-abbrev")
_PAGE = 1000
_FAR = 20
"""How many pages of main's line are searched."""

Says = Callable[[bytes], bool | None]
"""Whether a content says the same as the present one; None where unknown: then it counts like the newer content."""


def landing_of(mirror: Mirror, mainline: Mainline, files: Files, path: str, says: Says, head: str) -> str:
    """The oldest commit of main since which a file has said so; empty where it does not, or the search ended."""
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
    """Each commit of main's line that changed a file, newest first, with its content; None where it was no file."""
    for commit in changes_of(mirror, mainline.line(head), path):
        file = files.at(path, commit)
        yield commit, file.content if file is not None and isinstance(file.content, bytes) else None


def changes_of(mirror: Mirror, line: tuple[str, ...], *paths: str, top: bool = False) -> Iterator[str]:
    """The commits of main's line that changed something at these paths, newest first.

    ``top``: the paths stand in the root folder, so that git needs to look no deeper.
    """
    compare = tuple(each for each in _COMPARE if not (top and each == "-r"))
    for start in range(0, min(len(line), _PAGE * _FAR), _PAGE):
        page = line[start : start + _PAGE + 1]
        asked = [f"{commit} {before}\n" for commit, before in pairwise(page)]
        if start + _PAGE >= len(line):
            asked.append(f"{line[-1]}\n")
        walked = mirror.stream(*compare, "--", *paths, stdin="".join(asked).encode())
        yield from (commit for commit, _ in groupby(commit for commit, _, _ in changes(walked)))

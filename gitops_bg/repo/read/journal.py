"""What main said in a file, and when: one walk of main's own line, newest first, for every question about that.

It compares each commit with the one before it on the line (decision 18): what a branch said and took back before it was
merged, main never said. What this process saw at its looks, and the last few commits, cost no process of git.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from gitops_bg.core.model.version import Source
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.read.changes import WalkedMain, is_watched
from gitops_bg.repo.read.files import Files
from gitops_bg.repo.read.mainline import Mainline, Step
from gitops_bg.repo.read.provenance import Details, changes
from gitops_bg.repo.read.trees import Trees

_COMPARE = ("diff-tree", "--stdin", "-r", "-z", "--root", "--no-renames", "--no-abbrev")
_PAGE = 1000
_FAR = 20
"""How many pages of main's line are searched."""
_NEAR = 4
"""How many commits are compared before git is asked, which compares thousands faster than this does."""

Enough = Callable[[bytes | None], bool]
"""Whether a content of a file, None where it was none, is the last that is asked for."""
Says = Callable[[bytes], bool | None]
"""Whether a content says the same as the present one; None where unknown: then it counts like the newer content."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a file became by one commit of main's own line; None where it was no readable file any more."""

    landing: Source
    """That commit, with its place: who let it in."""
    content: bytes | None


class MainJournal:
    """Walks main's line for one file at a time."""

    def __init__(
        self, mirror: Mirror, trees: Trees, files: Files, details: Details, mainline: Mainline, walked: WalkedMain
    ) -> None:
        self._mirror = mirror
        self._trees = trees
        self._files = files
        self._details = details
        self._mainline = mainline
        self._walked = walked

    def changes_of(self, path: str, at: str, head: str, *, since: str = "") -> Iterator[FileChange]:
        """What a file said up to a commit of main, newest first; ``since``: after another one, nothing where main does
        not contain that. Places are those of main with ``head``.
        """
        head = head if self._mainline.place(at, head) is not None else at  # of another history
        for commit in self.changes(path, at, head, since=since):
            file = self._files.at(path, commit)
            content = file.content if file is not None and isinstance(file.content, bytes) else None
            landing, place = self._details.of([commit])[commit], self._mainline.place(commit, head)
            yield FileChange(replace(landing, landed=place), content)

    def changes(self, path: str, at: str, head: str, *, since: str = "") -> Iterator[str]:
        """The commits of main's line that changed a file, newest first."""
        oldest = self._place_before(since, head) if since else 0
        if oldest is None:
            return
        known, before = self._walked.changes(path, at) if is_watched(path) else ([], at)
        if None in (self._mainline.place(each, head) for each in (*known, before)):
            known, before = [], at
        for commit in known:
            if (self._mainline.place(commit, head) or 0) <= oldest:
                return
            yield commit
        yield from self._compared(path, self._mainline.steps(head, before, after=oldest))

    def _place_before(self, since: str, head: str) -> int | None:
        """The place up to which all is contained in a commit; None where main does not contain it."""
        place = self._mainline.place(since, head)
        if place is None:
            landing = self._mainline.place(self._mainline.landing(since, head), head)
            place = landing - 1 if landing is not None else None
        return place

    def _compared(self, path: str, steps: Sequence[Step]) -> Iterator[str]:
        """The commits of some steps of main's line that changed a file."""
        for at, (commit, before) in enumerate(steps):
            now, then = (self._trees.at_hand(each, (path,)) if each else {} for each in (commit, before))
            if at >= _NEAR or now is None or then is None:
                yield from changes_of(self._mirror, steps[at:], path)
                return
            if now != then:
                yield commit


def differs(says: Says) -> Enough:
    """Until the file said something else, or was not there."""
    return lambda content: content is None or says(content) is False


def unchanged_since(said: Iterable[FileChange], says: Says) -> FileChange | None:
    """The oldest since which a file has said so without a gap; None where it does not say so."""
    found = None
    for each in said:
        answer = each.content is not None and says(each.content)
        if answer is False:
            break
        found = each if answer else found
    return found


def changes_of(mirror: Mirror, steps: Sequence[Step], *paths: str, top: bool = False) -> Iterator[str]:
    """The commits of steps of main's line that changed something at these paths, newest first.

    ``top``: the paths stand in the root folder, so that git needs to look no deeper.
    """
    compare = tuple(each for each in _COMPARE if not (top and each == "-r"))
    for start in range(0, min(len(steps), _PAGE * _FAR), _PAGE):
        asked = "".join(f"{' '.join(filter(None, step))}\n" for step in steps[start : start + _PAGE])
        walked = mirror.stream(*compare, "--", *paths, stdin=asked.encode())
        yield from (commit for commit, _ in groupby(commit for commit, _, _ in changes(walked)))

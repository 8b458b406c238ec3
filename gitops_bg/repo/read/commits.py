"""What single commits say: by whom they are, their whole messages, what a folder was before them. Decides nothing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from cachetools import LRUCache

from gitops_bg.core.model.policies.facts import CommitFacts, Person
from gitops_bg.core.text.lines import lines_of
from gitops_bg.core.text.moments import is_in_range
from gitops_bg.core.text.printable import one_line
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import text
from gitops_bg.repo.layout import is_commit_id

_FORMAT = "--format=%H%x00%an%x00%ae%x00%cn%x00%ce%x00%ct%x00%B%x00%(trailers:only,unfold)%x00"
_PARTS = 9  # of one commit: what the format names, and an empty one, for -z ends a commit, too
_LONGEST = 16 * 1024
"""Bytes of a message that are read."""
_REMEMBERED = 1000


@dataclass(frozen=True, slots=True)
class Around:
    """What main was before a commit, and what that changed of some paths: their ids before and after.

    Empty: nothing there. Of a commit that is not of main's own line, the parent is its first one.
    """

    parent: str
    before: tuple[str, ...]
    after: tuple[str, ...]


class CommitReader:
    """Answers from memory for a commit that was asked about before: it says the same for ever."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._known: LRUCache[str, CommitFacts] = LRUCache(_REMEMBERED)
        self._around: LRUCache[tuple[str, tuple[str, ...], str], Around] = LRUCache(_REMEMBERED)

    def facts(self, commits: Iterable[str]) -> dict[str, CommitFacts]:
        """Return the facts of the commits that the mirror has, by their ids."""
        wanted = {commit for commit in commits if is_commit_id(commit)}
        found = {commit: self._known[commit] for commit in wanted & self._known.keys()}
        unknown = sorted(commit for commit in wanted - found.keys() if self._mirror.has(commit))
        read = {each.commit: each for each in self._read(unknown)} if unknown else {}
        self._known.update(read)
        return found | read

    def around(self, commit: str, paths: tuple[str, ...], before: str) -> Around:
        """What was at these paths ``before`` a commit, and at the commit itself; empty: at its first parent."""
        key = (commit, paths, before)
        if key not in self._around:
            earlier = before or f"{commit}^1"
            names = [earlier, *(f"{at}:{path}" for at in (earlier, commit) for path in paths)]
            parent, *ids = (header.id if header else "" for header in self._mirror.headers(names))
            self._around[key] = Around(parent, tuple(ids[: len(paths)]), tuple(ids[len(paths) :]))
        return self._around[key]

    def _read(self, commits: list[str]) -> Iterator[CommitFacts]:
        asked = "".join(f"{commit}\n" for commit in commits).encode()
        walk = ("log", "-z", "--encoding=UTF-8", "--no-walk=unsorted", _FORMAT, "--stdin")
        told = list(map(text, self._mirror.stream(*walk, stdin=asked, longest=_LONGEST)))
        for at in range(0, len(told) - _PARTS + 1, _PARTS):
            commit, author, author_mail, committer, mail, seconds, message, trailers = told[at : at + _PARTS - 1]
            yield CommitFacts(
                commit=commit.strip(),
                author=Person(one_line(author), one_line(author_mail)),
                committer=Person(one_line(committer), one_line(mail)),
                at=_moment(seconds),
                message=message,
                trailers=tuple(_trailers(trailers)),
            )


def _trailers(lines: str) -> Iterator[tuple[str, str]]:
    for line in lines_of(lines):
        name, colon, value = line.partition(":")
        if colon:
            yield name.strip(), value.strip()


def _moment(seconds: str) -> datetime | None:
    try:
        moment = datetime.fromtimestamp(int(seconds), UTC)
        return moment if is_in_range(moment) else None
    except (ValueError, OverflowError, OSError):
        return None

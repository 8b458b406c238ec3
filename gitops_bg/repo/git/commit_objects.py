"""Commits read from the long-lived git process, and short paths between two of them, without a process of their own.

Only small commits in git's present form; for all others the caller asks git. What a commit id means never changes. Not
thread-safe, as `Objects` is not.
"""

from collections.abc import Callable, Container, Iterable, Mapping

from cachetools import LRUCache

from gitops_bg.repo.git.objects import Objects
from gitops_bg.repo.git.output import Commit, commit_in

_SMALL_BYTES = 16 * 1024
"""The largest commit read here; a larger one is read by a short-lived git, which keeps nothing of it."""
_REMEMBERED_BYTES = 2 * 1024 * 1024
_NEAR = 16
"""How many commits are examined on the path from one to another."""


class CommitObjects:
    """The commits of one mirror. Every method raises ``GitFailed`` where git cannot be asked."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._known: LRUCache[str, tuple[Commit, int]] = LRUCache(_REMEMBERED_BYTES, getsizeof=lambda one: one[1])

    def read(self, ids: Iterable[str]) -> dict[str, Commit]:
        """Return the commits of these ids that the mirror has, small and in the usual form."""
        wanted = dict.fromkeys(ids)
        found = {one: self._known[one][0] for one in wanted if one in self._known}
        unknown = [one for one in wanted if one not in found]
        headers = zip(unknown, self._objects.headers(unknown), strict=True) if unknown else ()
        small = [one for one, header in headers if header and header.kind == "commit" and header.size <= _SMALL_BYTES]
        for one, (_, content) in zip(small, self._objects.contents(small), strict=True):
            commit = commit_in(content)
            if commit is not None:
                found[one] = commit
                self._known[one] = commit, len(content)
        return found

    def between(
        self, before: str, head: str, is_contained: Callable[[str], bool] = lambda _: False
    ) -> Mapping[str, tuple[str, ...]] | None:
        """The commits that ``head`` contains and ``before`` does not, with their parents; None where they are not near.

        It is exact: there is an answer only where every line of parents from ``head`` ends at ``before``, or at one
        that ``is_contained`` in it: a branch may begin long before the head that it joins. That must be true of an
        ancestor of ``before`` and all that ``before`` contains beyond it, and of no other commit.
        """
        family: dict[str, tuple[str, ...]] = {}
        tips = [head]
        while tips := [
            tip for tip in dict.fromkeys(tips) if tip != before and tip not in family and not is_contained(tip)
        ]:
            read = self.read(tips) if len(family) + len(tips) <= _NEAR else {}
            if not all(tip in read and read[tip].parents for tip in tips):
                return None
            family |= {tip: read[tip].parents for tip in tips}
            tips = [parent for tip in tips for parent in family[tip]]
        return family

    def first_parents(self, head: str, known: Container[str]) -> list[tuple[str, Commit]] | None:
        """``head`` and its first parents, newest first, down to the first that is ``known``; None where that is far."""
        line: list[tuple[str, Commit]] = []
        at = head
        while at not in known:
            commit = self.read([at]).get(at)
            if commit is None or not commit.parents or len(line) == _NEAR:
                return None
            line.append((at, commit))
            at = commit.parents[0]
        return line

"""Which of the newest few commits changed a file: read from objects, without a process, as ``git log`` would say.

A push or a merge is rarely more than a few commits away from what it changed. Every method answers None where git must
be asked: further away, in large folders, or for commits in an unusual form.
"""

from collections.abc import Iterable, Mapping

from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import Commit
from gitops_bg.repo.read.trees import Node, Trees

_STEPS = 4
"""How many commits are compared before git is asked, which compares thousands faster than this does."""


class NearChanges:
    """Changes of files near a commit."""

    def __init__(self, mirror: Mirror, trees: Trees) -> None:
        self._mirror = mirror
        self._trees = trees

    def last(
        self, paths: Iterable[str], head: str, *, first_parents: bool = False, steps: int = _STEPS
    ) -> tuple[str, Commit] | None:
        """The commit that made these files what they are at ``head``.

        A merge only where it changed them itself: git follows the first parent that has the same files ("History
        Simplification" in its manual for ``log``). ``first_parents``: the merge, wherever its own first parent has
        other files.
        """
        wanted, at = tuple(paths), head
        nodes = self._nodes(at, wanted)
        for _ in range(steps):
            commit = self._mirror.commits([at]).get(at)
            if commit is None or nodes is None:
                return None
            equal, known = self._equal(commit.parents[:1] if first_parents else commit.parents, wanted, nodes)
            if not known:
                return None
            if not equal:  # To git, nothing is no change of the very first commit either.
                return (at, commit) if nodes or commit.parents else None
            at = equal
        return None

    def left_alone(self, paths: Iterable[str], before: str, head: str, steps: int) -> Mapping[str, Node]:
        """The files that no step of main's line from one commit to another touched; none where it has more ``steps``.

        Each step counts: a file may have changed, and changed back.
        """
        line = self._line(before, head, steps)
        left = self._nodes(head, tuple(paths)) if line else None
        for commit in line:
            earlier = self._nodes(commit, tuple(left)) if left else None
            left = {path: node for path, node in (left or {}).items() if (earlier or {}).get(path) == node}
        return left or {}

    def _line(self, before: str, head: str, steps: int) -> list[str]:
        """The first parents of a commit up to another one, the last of them; none if more than ``steps``."""
        line, at = list[str](), head
        while at != before:
            commit = self._mirror.commits([at]).get(at) if len(line) < steps else None
            if commit is None or not commit.parents:
                return []
            at = commit.parents[0]
            line.append(at)
        return line

    def _equal(self, parents: Iterable[str], paths: tuple[str, ...], nodes: Mapping[str, Node]) -> tuple[str, bool]:
        """The first parent with the same files, empty without one; and whether all that were compared could be read."""
        for parent in parents:
            theirs = self._nodes(parent, paths)
            if theirs is None:
                return "", False
            if theirs == nodes:
                return parent, True
        return "", True

    def _nodes(self, commit: str, paths: tuple[str, ...]) -> Mapping[str, Node] | None:
        return self._trees.at_hand(commit, paths)

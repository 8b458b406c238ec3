"""Whose commits a ledger branch has: by their names, which nobody but the agent should give. Writes nothing."""

from collections.abc import Iterator
from dataclasses import dataclass

from gitops_bg.core.text.printable import one_line
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import text
from gitops_bg.repo.write.commits import Committer

_FORMAT = "--format=%H%x00%P%x00%an <%ae>%x00%cn <%ce>%x00"
_PARTS = 5  # of one commit: what the format names, and an empty one, for -z ends a commit, too
_LONGEST = 16 * 1024
_MOST = 20_000
"""Commits that are looked through: a second's work. The apps of older ones had no event for as long."""
_CRUD = " .,:;<>\"\\'"
"""What git leaves out at both ends of a name that it writes itself: https://git-scm.com/docs/git-commit-tree."""


@dataclass(frozen=True, slots=True)
class Stranger:
    """A commit that this agent did not make, its first parent, and the name of who did."""

    commit: str
    parent: str
    name: str


class LedgerAuthors:
    """Asks git about commits of the state branch."""

    def __init__(self, mirror: Mirror, committer: Committer) -> None:
        self._mirror = mirror
        self._committer = committer

    @property
    def names(self) -> frozenset[str]:
        """The names that are the agent's."""
        return self._committer.names

    def strangers(self, before: str, commit: str) -> Iterator[Stranger]:
        """The commits of others that are in ``commit`` and not in ``before``, along the first parents, newest first."""
        ours = {_bare(name) for name in self.names}
        asked = (f"{before}..{commit}" if before else commit, "--")
        walk = ("log", "-z", "--encoding=none", "--topo-order", "--first-parent", f"--max-count={_MOST}", _FORMAT)
        told = list(map(text, self._mirror.stream(*walk, *asked, longest=_LONGEST)))
        for at in range(0, len(told) - _PARTS + 1, _PARTS):
            found, parents, author, committer = told[at : at + _PARTS - 1]
            others = [name for name in (author, committer) if _bare(name) not in ours]
            if others:
                yield Stranger(found.strip(), parents.partition(" ")[0], one_line(others[0]))


def _bare(identity: str) -> tuple[str, str]:
    name, _, mail = identity.rpartition(" <")
    return name.strip(_CRUD), mail.strip(_CRUD)

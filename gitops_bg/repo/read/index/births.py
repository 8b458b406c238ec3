"""Which of several folders of main has been there longest without a gap: of two that say the same app, the one that has
it keeps it. Reads history only where somebody asks.
"""

from collections.abc import Iterable, Sequence

from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.read.journal import changes_of
from gitops_bg.repo.read.mainline import Mainline, Step
from gitops_bg.repo.read.trees import Trees


def oldest(mirror: Mirror, trees: Trees, folders: Iterable[str], head: str) -> str:
    """The folder that came first, of those that are there at ``head``; empty where two came with one commit."""
    line = Mainline(mirror).steps(head)
    places = {commit: place for place, (commit, _) in enumerate(line)}
    born = sorted((-places.get(_birth(mirror, trees, line, each), len(line)), each) for each in folders)
    return "" if len(born) > 1 and born[0][0] == born[1][0] else born[0][1]


def _birth(mirror: Mirror, trees: Trees, line: Sequence[Step], folder: str) -> str:
    """The commit since which a folder has been there; the oldest one that is known where the search ended before."""
    found = ""
    for commit in changes_of(mirror, line, folder):
        if folder not in trees.at(commit, [folder]):
            return found
        found = commit
    return found

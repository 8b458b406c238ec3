"""Which files ever left the folder of an app: no file of today says so. Knows names only, decides nothing.

One walk of main's history answers for all folders, and is carried on with main: thousands of apps that change at once
ask no more of git than one does.
"""

from collections import defaultdict
from sys import intern

from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import parts
from gitops_bg.repo.read.provenance import WALK, changes
from gitops_bg.spec.app.layout import APPS_FOLDER
from gitops_bg.spec.groups.layout import GROUPS_FOLDER

_REMOVALS = (*WALK, "--full-history", "--diff-filter=D")


class Removals:
    """The answer for the head that was asked about last."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._head = ""
        self._names: defaultdict[str, set[str]] = defaultdict(set)

    def of(self, folder: str, head: str) -> frozenset[str]:
        """The names of the files that left a folder in the history of ``head``, also of those that are back."""
        if head != self._head:
            self._follow(head)
        return frozenset(self._names.get(folder, ()))

    def _follow(self, head: str) -> None:
        """Read what is new. Another history may lack what the last one had."""
        goes_on = bool(self._head) and self._mirror.is_ancestor(self._head, head)
        known, since = (self._names, (f"^{self._head}",)) if goes_on else (defaultdict[str, set[str]](set), ())
        walked = parts(self._mirror.local(*_REMOVALS, head, *since, "--", APPS_FOLDER, GROUPS_FOLDER))
        for _, path, _ in changes(walked):
            folder, _, name = path.rpartition("/")
            known[intern(folder)].add(intern(name))
        self._head, self._names = head, known

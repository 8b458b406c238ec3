"""Which branches of the remote concern anything that main has. Anybody who may push can make thousands of others."""

from collections.abc import Iterable

from gitops_bg.core.model.version import GroupKey
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.layout import app_of_branch, group_of_branch
from gitops_bg.repo.read.index.app_index import AppIndex
from gitops_bg.repo.read.index.groups import groups_at
from gitops_bg.repo.read.trees import Trees


class ConcernedBranches:
    """Compares the names of branches with the apps and groups of main."""

    def __init__(self, mirror: Mirror, trees: Trees, index: AppIndex) -> None:
        self._mirror = mirror
        self._trees = trees
        self._index = index

    def among(self, branches: Iterable[str], head: str) -> set[str]:
        """Return those of an app or a group that main has at ``head``, or may have, and those that are followed by now:
        of an app that main had, the branch is still to be deleted.
        """
        followed = self._mirror.tracked()
        strange = [name for name in branches if name not in followed]
        named = {name: app_of_branch(name) or group_of_branch(name) for name in strange}
        apps, hidden = self._index.at(head) if head else {}, self._index.hidden(head) if head else None
        groups = groups_at(self._trees, head) if any(isinstance(one, GroupKey) for one in named.values()) else {}
        found = {name for name in branches if name in followed}
        for name, one in named.items():
            if isinstance(one, GroupKey):
                known = one in groups or bool(hidden and hidden.places)
            else:
                known = one is not None and (one in apps or bool(hidden and hidden.may_hide(one)))
            if known:
                found.add(name)
        return found

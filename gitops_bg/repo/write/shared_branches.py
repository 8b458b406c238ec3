"""The branches of apps and release groups for people: what they are asked to merge. Each is written only from the head
that was decided from, because people share it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from gitops_bg.core.model.version import AppOrGroup, GroupKey
from gitops_bg.core.names import promotion_branch
from gitops_bg.repo.git.errors import BranchMoved
from gitops_bg.repo.git.lock import locked
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.push import Pusher, PushVerdict, Update
from gitops_bg.repo.read.main_branch import MainBranch
from gitops_bg.repo.read.trees import NOTHING, Trees
from gitops_bg.repo.write.commits import CommitDraft, Committer
from gitops_bg.repo.write.edits import Edited, EditOrNew, Edits
from gitops_bg.spec.groups.layout import group_file, group_folder

Who = TypeVar("Who", bound=AppOrGroup)
Heads = Mapping[str, str | None]
"""By the name of the branch: its commit; None: no branch."""


class SharedBranches:
    """The promotion branches of apps and release groups."""

    def __init__(self, mirror: Mirror, pusher: Pusher) -> None:
        self._mirror = mirror
        self.lock = mirror.lock
        self._pusher = pusher

    def seen(self, heads: Mapping[Who, str | None]) -> dict[str, str]:
        """The head of each branch that a change was decided from: the given one, empty for no branch; None: the one
        that was fetched last.
        """
        standing = self._mirror.standing()
        named = {promotion_branch(who): head for who, head in heads.items()}
        return {name: standing.get(name, "") if head is None else head for name, head in named.items()}

    def write(
        self,
        seen: Mapping[str, str],
        wanted: Callable[[], Heads],
        took: Callable[[str, str | None], None] = lambda _name, _commit: None,
    ) -> None:
        """Bring branches to what is ``wanted`` of them, in one push; asked anew where the remote has moved meanwhile.
        ``took`` is told of each that the remote has taken, and that is wanted no more.

        Raises `BranchMoved` for those that have another head than the one that was ``seen``; all others are written
        then. Raises ``PushRefused`` where the remote refuses one, ``RemoteMoved`` where it keeps moving, and the errors
        of an unreachable remote.
        """
        moved: set[str] = set()
        attempts = self._pusher.attempts()
        for _ in attempts:
            heads, standing = wanted(), self._mirror.standing()
            moved |= self._mirror.moved_from({name: seen[name] for name in heads})
            updates = [Update(name, standing.get(name), head) for name, head in heads.items() if name not in moved]
            if not updates:
                break
            answer = self._pusher.push(updates)
            taken = {name: heads[name] for name, verdict in answer.verdicts.items() if verdict is PushVerdict.TAKEN}
            self._mirror.forget({name for name, head in taken.items() if head is None} & self._mirror.tracked().keys())
            for name, head in taken.items():
                took(name, head)
            if len(taken) == len(updates):
                break
            attempts.judge(answer)
            self._mirror.follow(self._mirror.remote_branches())
        else:
            raise attempts.given_up()
        if moved:
            raise BranchMoved(moved)

    @locked
    def withdraw(self, heads: Mapping[Who, str | None]) -> None:
        """Delete the branches of these apps and groups, where they exist (`seen`). Raises as ``write``."""
        seen = self.seen(heads)
        self.write(seen, lambda: dict.fromkeys(sorted(seen.keys() & self._mirror.standing().keys())))


@dataclass(frozen=True, slots=True)
class OfferedFolder:
    """The head of the branch of a group."""

    commit: str
    parent: str
    """The main that it was made on; empty where it has no parent."""
    folder: str
    """The object id of the group's folder there: equal ids are equal wishes."""
    is_merged: bool
    """Whether it asks for nothing that main does not say, however it was merged."""
    is_outdated: bool = False
    """Whether main has changed ``group.yaml`` since it was made, or dropped what it stands on."""


class GroupBranches:
    """The branches of all groups: what main does not take from the agent, for people to merge. One for each group,
    updated in place, gone once main says the same.
    """

    def __init__(
        self, mirror: Mirror, trees: Trees, edits: Edits, committer: Committer, branches: SharedBranches
    ) -> None:
        self._mirror = mirror
        self.lock = mirror.lock
        self._trees = trees
        self._edits = edits
        self._committer = committer
        self._branches = branches
        self._trunk = MainBranch(mirror)

    @locked
    def head(self, group: GroupKey) -> str:
        """The head of the branch of a group, as last fetched; empty where there is none."""
        return self._mirror.tracked().get(promotion_branch(group), "")

    @locked
    def offer(
        self, group: GroupKey, edits: Mapping[str, EditOrNew], message: str, *, seen: str | None = None
    ) -> Edited:
        """Put the edits of main on the branch of a group, as one commit. Raises as ``Edits.commit``.

        A branch whose folder of the group says so already stays as it is, as long as it can be merged; none is made
        where main says so. ``seen`` is
        the head that this was decided from, empty for no branch (None: the one that was fetched last): raises
        `BranchMoved` where the branch has another one.
        """
        name, offered = promotion_branch(group), Edited("", changed=False)

        def wanted() -> Heads:
            nonlocal offered
            base, standing = self._trunk.base(), self._mirror.tracked().get(name)
            changed = self._edits.changed(edits, base)
            offered = Edited(base, changed=False)
            if not changed:
                return {}
            [commit] = self._committer.build([CommitDraft(base, changed, message)])
            is_there = standing is not None and self._folder(group, standing) == self._folder(group, commit)
            is_there = is_there and self._fits(group, self._parent(standing or ""), base)
            head = standing if standing is not None and is_there else commit
            offered = Edited(head, changed=not is_there, paths=frozenset(changed))
            return {} if is_there else {name: commit}

        self._branches.write(self._branches.seen({group: seen}), wanted)
        return offered

    @locked
    def offered(self, group: GroupKey) -> OfferedFolder | None:
        """What the branch of a group asks for; None where there is none."""
        tracked = self._mirror.tracked()
        standing, main = tracked.get(promotion_branch(group)), tracked.get(self._mirror.settings.branch)
        if standing is None:
            return None
        parent, folder = self._parent(standing), self._folder(group, standing)
        is_same = main is not None and folder == self._folder(group, main)
        is_merged = is_same or (main is not None and self._mirror.is_ancestor(standing, main))
        is_outdated = main is not None and not is_merged and not self._fits(group, parent, main)
        return OfferedFolder(standing, parent, folder, is_merged, is_outdated)

    def _parent(self, commit: str) -> str:
        """What a commit stands on; empty where it has no parent."""
        found = self._mirror.commits([commit]).get(commit)
        return found.parents[0] if found is not None and found.parents else ""

    def _fits(self, group: GroupKey, parent: str, main: str) -> bool:
        """Whether main has what a branch stands on, and says the same in ``group.yaml`` still."""
        path = group_file(group)
        is_there = bool(parent) and self._mirror.is_ancestor(parent, main)
        return is_there and self._trees.at(parent, [path]) == self._trees.at(main, [path])

    def _folder(self, group: GroupKey, commit: str) -> str:
        path = group_folder(group)
        return self._trees.at(commit, [path]).get(path, NOTHING).folder

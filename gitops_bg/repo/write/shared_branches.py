"""The branches for people: what they are asked to merge. Each is written only from the head that was decided from,
because people share it.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.core.names import promotion_branch
from gitops_bg.repo.git.errors import BranchMoved
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.push import Pusher, Update, Verdict

Who = TypeVar("Who", bound=AppOrGroup)
Heads = Mapping[str, str | None]
"""By the name of the branch: its commit; None: no branch."""


class SharedBranches:
    """The promotion branches of apps and release groups. Not thread-safe."""

    def __init__(self, mirror: Mirror, pusher: Pusher) -> None:
        self._mirror = mirror
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
            taken = {name: heads[name] for name, verdict in answer.verdicts.items() if verdict is Verdict.TAKEN}
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

    def withdraw(self, heads: Mapping[Who, str | None]) -> None:
        """Delete the branches of these apps and groups, where they exist (`seen`). Raises as ``write``."""
        seen = self.seen(heads)
        self.write(seen, lambda: dict.fromkeys(sorted(seen.keys() & self._mirror.standing().keys())))

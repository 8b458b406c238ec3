"""The head of main as the base of the agent's commits, and what a refused push means for it."""

from gitops_bg.repo.git.errors import PushRefused, RemoteMoved
from gitops_bg.repo.git.mirror import Mirror


class MainBranch:
    """Main, for code that commits to it."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror

    def base(self) -> str:
        """Main's head as last fetched; fetched now where it never was."""
        branch = self._mirror.settings.branch
        tracked = self._mirror.tracked()
        if branch not in tracked:
            tracked = self._mirror.follow(self._mirror.remote_branches())
        if branch not in tracked:
            raise self._mirror.explain_missing()
        return self._verified(tracked[branch])

    def again(self, base: str) -> str:
        """The new base after a refused push; raises where another attempt is useless."""
        branch = self._mirror.settings.branch
        now = self._mirror.follow(self._mirror.remote_branches()).get(branch)
        if now is None:
            raise self._mirror.explain_missing()
        if not self._mirror.is_ancestor(base, now):
            raise RemoteMoved(f"the history of {branch} was rewritten while committing to it")
        return self._verified(now)

    def demand_vouched(self, commit: str) -> None:
        """Refuse to push a commit of ours that would not be verified: nothing after it would be read any more."""
        if not self._mirror.vouched(commit):
            raise PushRefused(
                f"the agent's own commit on {self._mirror.settings.branch} would not be verified; "
                "list the public key of --signing-key by --verify-signers"
            )

    def _verified(self, head: str) -> str:
        """A commit on top of one that is not verified would have to be rewritten with it."""
        if not self._mirror.vouched(head):
            raise RemoteMoved(f"{self._mirror.settings.branch} has commits that are not verified: see SourceVerified")
        return head

"""The head of main as the base of the agent's commits, and what a refused push means for it."""

from gitops_bg.core.model.main import VerificationFailure
from gitops_bg.repo.git.errors import OwnCommitNotChecked, PushRefused, RemoteMoved
from gitops_bg.repo.git.mirror import Mirror

_OF_THE_KEY = (VerificationFailure.UNKNOWN_KEY, VerificationFailure.KEY_NOT_VALID, VerificationFailure.NOT_SIGNED)
"""The doubts that the list of keys explains."""


class MainBranch:
    """The head of main as the base of the agent's commits, and what a refused push means for it."""

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
        """Refuse to push a commit of ours that would not be verified: nothing after it would be read any more.

        A program that fails may say that a signature is bad, and a list has either the key or not. So only what is
        said of the key twice is about the key; anything else is a failure of this machine: ``OwnCommitNotChecked``.
        """
        branch = self._mirror.settings.branch
        doubt = self._doubt_of(commit) and self._doubt_of(commit)
        if doubt in _OF_THE_KEY:
            raise PushRefused(
                f"the agent's own commit on {branch} would not be verified; "
                "list the public key of --signing-key by --verify-signers"
            )
        if doubt is not None:
            raise OwnCommitNotChecked(
                f"the agent's own commit for {branch} is not pushed: its signature cannot be checked ({doubt}), "
                "because ssh-keygen fails; it is tried again"
            )

    def _doubt_of(self, commit: str) -> VerificationFailure | None:
        """As the mirror says, which checks only so many commits at once: those of one push are all the agent's own."""
        while (doubt := self._mirror.doubt_of(commit)) is VerificationFailure.PENDING:
            pass  # what was checked stays so
        return doubt

    def _verified(self, head: str) -> str:
        """A commit on top of one that is not verified would have to be rewritten with it."""
        if self._mirror.doubt_of(head) is not None:
            raise RemoteMoved(f"{self._mirror.settings.branch} has commits that are not verified: see SourceVerified")
        return head

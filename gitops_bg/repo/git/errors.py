"""The errors of the remote and the mirror, by who must act; no message contains a secret."""

from collections.abc import Iterable, Mapping

from gitops_bg.core.errors import Refused, Transient, WorldChanged
from gitops_bg.core.model.main import SourceVerification, describe


class RemoteUnreachable(Transient):
    """The remote does not answer, or the connection breaks."""

    reason = "RemoteUnreachable"


class RemoteTimedOut(RemoteUnreachable):
    """The remote answers too slowly; the command was killed at its deadline."""

    reason = "RemoteTimedOut"


class AuthenticationFailed(Refused):
    """The remote does not accept the credentials, or its host key is not in ``known_hosts``."""

    reason = "AuthenticationFailed"


class MainNotVerified(Refused):
    """No commit of main is known that somebody with a listed key vouched for: nothing of it may be read."""

    reason = "MainNotVerified"

    def __init__(self, verification: SourceVerification) -> None:
        said = (describe(verification.held) if verification.held else "", verification.keys_trouble)
        super().__init__("; ".join(filter(None, said)))
        self.verification = verification


class BranchMissing(Refused):
    """The remote answers, but has no such branch (or no branch at all)."""

    reason = "BranchMissing"


class PushRefused(Refused):
    """The remote understood the push and refused it: a protected branch, a hook, a read-only token."""

    reason = "PushRefused"

    def __init__(self, message: str, words: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.words: Mapping[str, str] = words or {}
        """The remote's words for each branch that it refused; it accepted all other branches of the push."""


class OwnCommitNotChecked(Transient):
    """The signature of the agent's own commit, made just now, could not be checked: that says nothing about its key."""

    reason = "OwnCommitNotChecked"


class RemoteMoved(WorldChanged):
    """The branch moved during every attempt, or its history was rewritten: look again."""

    reason = "RemoteMoved"


class BranchMoved(WorldChanged):
    """Somebody has moved branches that are shared with people, since what should be on them was decided."""

    reason = "BranchMoved"

    def __init__(self, branches: Iterable[str]) -> None:
        self.branches = frozenset(branches)
        """The branches that stay as they are; everything else of the call was done."""
        names = ", ".join(sorted(self.branches))
        super().__init__(f"somebody has put something else on {names} meanwhile: look at it, and ask again")


class HistoryNotAccepted(Refused):
    """A rewritten history cannot be accepted by a commit that main does not contain."""

    reason = "HistoryNotAccepted"


class TooLarge(Refused):
    """Git needs more memory, time or room than it may have, for something that somebody pushed."""

    reason = "TooLarge"


class MirrorBroken(Transient):
    """The local mirror is damaged; the next poll clones it again."""

    reason = "MirrorBroken"


class MirrorInUse(Refused):
    """Another process works in the mirror's directory; each needs one of its own."""

    reason = "MirrorInUse"


class MirrorClosed(Transient):
    """This process has released the mirror's directory, which may be another one's by now: it reads nothing there."""

    reason = "MirrorClosed"


class DiskProblem(Transient):
    """The mirror's directory cannot be written: full, read-only or not a directory."""

    reason = "DiskProblem"

"""Why main cannot be read now, and how old what is known of it is. Pure data."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class UnreadReason(StrEnum):
    """What keeps main from being read: the reason of the condition GitReachable, by who must act."""

    UNREACHABLE = "Unreachable"
    AUTHENTICATION_FAILED = "AuthenticationFailed"
    """The remote does not take the credentials, or its host key is not a known one."""
    BRANCH_MISSING = "BranchMissing"
    """The remote answers, and has no such branch."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A main that cannot be read: the remote's own words, and since when which commit stands for it."""

    words: str
    reason: UnreadReason = UnreadReason.UNREACHABLE
    commit: str = ""
    """The head of main as it was read last; empty where this process never read it."""
    read_at: datetime | None = None
    """When it was read last, in UTC."""

    def __str__(self) -> str:
        """The sentence for status, log and errors.

        >>> from datetime import UTC
        >>> str(Unread("no route to host", commit="0123456789abcdef", read_at=datetime(2026, 3, 1, 12, tzinfo=UTC)))
        'no route to host; main was last read at 2026-03-01T12:00:00Z, at 0123456789'
        >>> str(Unread("no route to host"))
        'no route to host; main was not read since the agent started'
        """
        if self.read_at is None:
            return f"{self.words}; main was not read since the agent started"
        return f"{self.words}; main was last read at {self.read_at:%Y-%m-%dT%H:%M:%SZ}, at {self.commit[:10]}"

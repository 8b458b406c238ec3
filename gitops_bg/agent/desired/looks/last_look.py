"""Whether the last look at main was answered, and how old what is known of main is. Reads nothing."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypedDict

from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.main import Unread, UnreadReason
from gitops_bg.repo.git.errors import MainNotVerified


class UnreadMain(TypedDict):
    """What the status of apps and groups says of it."""

    unreachable: str
    unread_reason: UnreadReason


class LastPoll:
    """Written by the Git thread, read by all others; ``clock`` gives UTC."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._read_at: datetime | None = None
        self._is_told_apart = False
        self.unread: Unread | None = None
        """Why main cannot be read; None where the last look was answered."""

    @property
    def age(self) -> timedelta:
        """How old what is known of main is; none where nothing is known yet."""
        return self._clock() - self._read_at if self._read_at else timedelta()

    @property
    def for_status(self) -> UnreadMain:
        """Why main cannot be read; that its commits are not verified has a condition of its own."""
        unread = None if self._is_told_apart else self.unread
        reason = unread.reason if unread else UnreadReason.UNREACHABLE
        return {"unreachable": str(unread) if unread else "", "unread_reason": reason}

    def was_read(self) -> None:
        """Note that main was read just now."""
        self._read_at = self._clock()

    def was_in_vain(self, error: GitopsBgError, commit: str) -> bool:
        """Note why the last look was in vain, and at which commit main was read last; return whether that is new."""
        is_new = self.unread is None or self.unread.words != str(error)
        reason = next((each for each in UnreadReason if each.value == error.reason), UnreadReason.UNREACHABLE)
        self.unread, self._is_told_apart = (
            Unread(str(error), reason, commit, self._read_at),
            isinstance(error, MainNotVerified),
        )
        return is_new

    def was_answered(self) -> bool:
        """Note that a look was answered; return whether that is new."""
        before, self.unread = self.unread, None
        return before is not None

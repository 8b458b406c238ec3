"""The tree of errors, by who must act (DESIGN §6). Adapters translate their library's errors into it at the border.

GitopsBgError
├── InvalidInput     the author of a file must change it; no retry
├── Refused          the API server or the remote said no; slow retry
├── Transient        something passing; retry with backoff
│   └── WorldChanged what was decided on is no longer so; look again at once
└── LostLeadership   stop now
"""

from gitops_bg.core.desired import Problem


class GitopsBgError(Exception):
    """Base of all errors that are not bugs. ``reason`` is a CamelCase word for conditions and metrics."""

    reason = "Error"


class InvalidInput(GitopsBgError):
    """A file is wrong: its author must act. Carries every problem found."""

    reason = "InvalidInput"

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(str(problem) for problem in problems))
        self.problems = problems


class Refused(GitopsBgError):
    """The other side understood and said no: missing rights, a protected branch, an invalid object."""

    reason = "Refused"


class Transient(GitopsBgError):
    """A connection, a timeout, a busy server: the same call may go through later."""

    reason = "Transient"

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds the other side asked us to wait, where it did."""


class WorldChanged(Transient):
    """What the action was decided on is no longer so (a conflict, a moved branch): decide again, at once."""

    reason = "WorldChanged"


class LostLeadership(GitopsBgError):
    """Another agent is in charge of this cluster; nothing more may be written."""

    reason = "LostLeadership"

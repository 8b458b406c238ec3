"""The tree of errors, by who must act (DESIGN §10.1). Adapters translate their library's errors into it at the border.

GitopsBgError
├── InvalidInput     the author of a file must change it; no retry
├── Refused          the API server or the remote said no; slow retry
├── CommandFailed    what a person asks for is not so, or cannot be done at present
├── ObjectNotFound   what a person names is nowhere
├── UsageError       what a person asks for is incomplete or contradicts itself
├── Transient        something passing; retry with backoff
│   ├── WorldChanged what was decided on is no longer so; look again at once
│   └── InternalError a bug, at the boundary where it was caught; only what it struck waits, with backoff
│       ├── TookTooLong  a computation that was ended, because it would have held up the others
│       └── Exhausted    no bug, but met at the same boundaries: no more descriptors, threads, disk or memory
└── LostLeadership   stop now
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gitops_bg.core.foreign_text import printable

if TYPE_CHECKING:  # the whole model: a command that only fails need not load it
    from gitops_bg.core.model.desired import Problem

_LONGEST_WORDS = 300
_LACKING = {
    errno.EMFILE: "file descriptors for this process",
    errno.ENFILE: "file descriptors on this machine",
    errno.ENOSPC: "free blocks on the disk",
    errno.EDQUOT: "blocks in the quota of the disk",
    errno.ENOMEM: "bytes of memory",
    errno.EAGAIN: "processes or threads",
}
"""What ran out, by the error of the system call. EAGAIN: nothing here reads or writes without waiting."""


class GitopsBgError(Exception):
    """Base of all errors that are not bugs. ``reason`` is a CamelCase word for conditions and metrics."""

    reason = "Error"


class InvalidInput(GitopsBgError):
    """A file is wrong: its author must act. Carries every problem found."""

    reason = "InvalidInput"

    def __init__(self, *problems: "Problem") -> None:
        super().__init__("; ".join(str(problem) for problem in problems))
        self.problems = problems


class Refused(GitopsBgError):
    """The other side understood and refused: missing rights, a protected branch, an invalid object."""

    reason = "Refused"


class CommandFailed(GitopsBgError):
    """What a person asks for is not the case, or cannot be done in the present state."""

    reason = "CommandFailed"


class ObjectNotFound(GitopsBgError):
    """Neither Git nor the cluster has the object that a person names."""

    reason = "ObjectNotFound"


class UsageError(GitopsBgError):
    """What a person asks for is incomplete, or wrong in itself: a required option or argument is missing or invalid."""

    reason = "UsageError"


class Transient(GitopsBgError):
    """A connection, a timeout, a busy server: the same call may succeed later."""

    reason = "Transient"

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """How many seconds the other side asked to wait, if it did."""


class WorldChanged(Transient):
    """What the action was decided on has changed (a conflict, a moved branch): decide again, at once."""

    reason = "WorldChanged"


class LostLeadership(GitopsBgError):
    """Another agent is in charge of this cluster; nothing more may be written."""

    reason = "LostLeadership"


PASSING = (WorldChanged, LostLeadership)
"""What nobody has to know of: the next look, or the other agent, goes on. No alert and no warning tells it."""


class InternalError(Transient):
    """A bug: an unexpected exception. ``__cause__`` is the exception itself.

    Handled as an error, it stops only what it hit (one app, one poll, one object) (decision 26).
    """

    reason = "InternalError"


class Exhausted(InternalError):
    """This process, or its machine, has no more of something; somebody else may give it back."""

    reason = "Exhausted"


class TookTooLong(InternalError):
    """A computation took more than its share, and was ended. ``__cause__`` shows where."""

    reason = "TookTooLong"


LASTING = (InvalidInput, Refused, InternalError)
"""What an app or a group may meet at every look until somebody acts: the others do not wait for it meanwhile."""


@contextmanager
def guarded(what: str) -> Iterator[None]:
    """Turn, at a boundary, an unexpected exception into an `InternalError` that names ``what`` was being done, or into
    `Exhausted`, where something has run out.

    Except ``MemoryError``: without memory nothing can go on, and a new process has some.
    """
    try:
        yield
    except (GitopsBgError, MemoryError):
        raise
    except Exception as error:
        words = printable(str(error)[:_LONGEST_WORDS])
        if lacking := _lacking(error):
            raise Exhausted(f"{what}: there are no more {lacking}: {words}") from error
        raise InternalError(f"{what}: a bug of the agent: {type(error).__name__}: {words}") from error


def _lacking(error: Exception) -> str:
    """Return what ran out; empty for any other error. Python has no error of its own for threads."""
    if isinstance(error, OSError):
        return _LACKING.get(error.errno or 0, "")
    return "threads" if isinstance(error, RuntimeError) and str(error) == "can't start new thread" else ""

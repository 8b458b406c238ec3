"""Errors of the command line itself, each a sentence for the user, and the exit code of every error: the only place
that knows what the codes mean. `--help` shows `TABLE`.
"""

from gitops_bg.cluster.api.errors import NoAccess, NotFound
from gitops_bg.core.errors import (
    CommandFailed,
    GitopsBgError,
    InvalidInput,
    ObjectNotFound,
    Refused,
    Transient,
    UsageError,
)
from gitops_bg.repo.git.errors import BranchMissing, HistoryNotAccepted

__all__ = [
    "ASKED",
    "BUG",
    "INTERRUPTED",
    "NOT_FOUND",
    "NOT_SEEN",
    "NOT_SO",
    "NOT_YET",
    "OK",
    "PASSING",
    "REFUSED",
    "TABLE",
    "USAGE",
    "CommandFailed",
    "NameNotFound",
    "ObjectNotFound",
    "UsageError",
    "code_of",
    "help_text",
]


class NameNotFound(ObjectNotFound):
    """No app, or no release group, has the name: perhaps one of the other kind has."""


OK = 0
NOT_SO = 1
USAGE = 2
REFUSED = 3
PASSING = 4
NOT_FOUND = 5
ASKED = 6
NOT_YET = 7
NOT_SEEN = 8
BUG = 70
INTERRUPTED = 130

TABLE = {
    OK: "done",
    NOT_SO: "what was asked for is not so: files have errors, an app is unhealthy, there is nothing to promote",
    USAGE: "wrong use: an option, an argument, or one that is missing; no kubeconfig",
    REFUSED: "refused: rights, credentials, a protected branch, an object of somebody else",
    PASSING: "something passing: Git or the cluster does not answer, or moved meanwhile; try again",
    NOT_FOUND: "not found: the app, the branch, the version",
    ASKED: "`status`: the app waits for a person",
    NOT_YET: "`status`: the app has not settled",
    NOT_SEEN: "`status`: the agent has not read the commit that was asked for, or cannot read main",
    BUG: "a bug in gitops-bg",
}

_CODES: tuple[tuple[type[GitopsBgError], int], ...] = (
    (CommandFailed, NOT_SO),
    (UsageError, USAGE),
    (ObjectNotFound, NOT_FOUND),
    (NotFound, NOT_FOUND),
    (NoAccess, USAGE),
    (BranchMissing, NOT_FOUND),
    (HistoryNotAccepted, NOT_SO),
    (Refused, REFUSED),
    (Transient, PASSING),
)
"""The first class that matches decides."""


def code_of(error: GitopsBgError) -> int:
    """Return the exit code of an error."""
    if isinstance(error, InvalidInput):
        from_option = any(problem.file.startswith("--") for problem in error.problems)
        return USAGE if from_option else NOT_SO
    return next((code for kind, code in _CODES if isinstance(error, kind)), PASSING)


def help_text() -> str:
    """Return the table as shown in ``--help``."""
    return "Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in TABLE.items()) + "."

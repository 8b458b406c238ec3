"""Errors of the command line itself, each a sentence for the user; the exit codes are in `exit_codes`."""

from gitops_bg.core.errors import GitopsBgError


class CommandFailed(GitopsBgError):
    """What the user asked about is not the case, or cannot be done in the present state."""

    reason = "CommandFailed"


class ObjectNotFound(GitopsBgError):
    """Neither Git nor the cluster has the object."""

    reason = "ObjectNotFound"


class NameNotFound(ObjectNotFound):
    """No app, or no release group, has the name: perhaps one of the other kind has."""


class UsageError(GitopsBgError):
    """A required option or argument is missing or invalid."""

    reason = "UsageError"

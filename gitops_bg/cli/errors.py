"""Errors of the command line itself, each a sentence for the person who typed; exit codes are in `exit_codes`."""

from gitops_bg.core.errors import GitopsBgError


class CommandFailed(GitopsBgError):
    """What was asked for is not so, or cannot be done as things are."""

    reason = "CommandFailed"


class ObjectNotFound(GitopsBgError):
    """Neither Git nor the cluster has what was named."""

    reason = "ObjectNotFound"


class UsageError(GitopsBgError):
    """Something must be said that was not."""

    reason = "UsageError"

"""Errors of the command line itself, each a sentence for the person who typed; exit codes are in `exit_codes`."""

from gitops_bg.core.errors import GitopsBgError


class NotSo(GitopsBgError):
    """What was asked for is not so, or cannot be done as things are."""

    reason = "NotSo"


class NoSuch(GitopsBgError):
    """Neither Git nor the cluster has what was named."""

    reason = "NoSuch"


class Unclear(GitopsBgError):
    """Something must be said that was not."""

    reason = "Unclear"

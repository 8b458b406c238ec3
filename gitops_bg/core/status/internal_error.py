"""The condition InternalError: this app cannot be looked at, by a bug or because nobody can read its record.

It stands beside what the last pass that succeeded said, and goes with the next that does. It is written by itself,
without a decision: there is none. (The `reason` is the error's.)
"""

from gitops_bg.core.errors import GitopsBgError, InternalError
from gitops_bg.core.model.decision import Condition
from gitops_bg.core.model.version import AppKey

INTERNAL_ERROR = "InternalError"


class RecordUnreadable(InternalError):
    """The record in the status is none: somebody else wrote there. Only a person may say that it can be forgotten."""

    reason = "RecordUnreadable"


def internal_error(app: AppKey, error: GitopsBgError) -> Condition:
    """The condition that says so, with what is to be done."""
    if isinstance(error, RecordUnreadable):
        patch = f"""kubectl patch bgd {app.name} -n {app.namespace} --subresource=status --type=merge"""
        said = f"""{error}. To have it made anew from Git: {patch} -p '{{"status":{{"record":null}}}}'"""
        return Condition(INTERNAL_ERROR, True, "RecordUnreadable", said)
    said = f"{error}. The agent tries again; report it, with the traceback in its log"
    return Condition(INTERNAL_ERROR, True, "InternalError", said)

"""The condition of the Git remote: whether main can be read, and how old what is known of it is."""

from gitops_bg.core.model.decision import Condition
from gitops_bg.core.model.git.unread import UnreadReason

GIT_REACHABLE = "GitReachable"


def git_reachable(unreachable: str, reason: UnreadReason) -> Condition:
    """One condition of an app or a group; ``unreachable`` is empty where main can be read."""
    if unreachable:
        return Condition(GIT_REACHABLE, False, reason.value, unreachable)
    return Condition(GIT_REACHABLE, True, "Reachable", "the remote answers")

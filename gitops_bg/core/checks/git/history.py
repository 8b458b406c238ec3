"""What a main that moved backwards, or does not count, means to an app or a release group (decision 17)."""

from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.git.main import MainRead

_UNREAD = "main, as it was seen last, cannot be read just now"
_READ_AGAIN = "the agent tries again by itself; the condition GitReachable says what keeps it from reading main"
_ACCEPT = "check what was rewritten, then: gitops-bg accept-history"


def why_rewritten(lost: str) -> str:
    """That main lacks a commit that was seen in it, and what to do; empty where it lacks none."""
    if not lost:
        return ""
    what = f"main no longer contains {lost[:10]}, which was seen before: nothing that main says now moves traffic"
    return f"{what}; push the former history back, or accept the new one: `gitops-bg accept-history`"


def why_noted(lost: str) -> str:
    """What the ledger says of a main that lacks a commit."""
    return f"main no longer contains {lost[:10]}; it moves nothing until that is back or accepted"


def history_kept(main: MainRead, lost: str) -> GateResult | None:
    """Shut where main moved backwards or cannot be read: it moves nothing. ``lost`` is what the record says."""
    if main.lost:
        gone = (lost or main.lost)[:10]
        reason = f"main was rewritten: {gone} is gone; `gitops-bg accept-history` goes on"
        return GateResult(GateKind.HISTORY, False, reason, remedy=_ACCEPT)
    if not main.counts:
        return GateResult(GateKind.HISTORY, False, _UNREAD, remedy=_READ_AGAIN)
    return None

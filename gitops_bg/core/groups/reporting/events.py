"""What happens to a group, as Kubernetes Events, the log and metrics name it. No other file holds these words."""

from enum import StrEnum


class GroupEvent(StrEnum):
    """The reason of an Event: one CamelCase word."""

    VERSION_REGISTERED = "VersionRegistered"
    VERSION_DELETED = "VersionDeleted"
    SERVICE_REMOVED = "ServiceRemoved"
    PROMOTION_STARTED = "PromotionStarted"
    PROMOTION_FINISHED = "PromotionFinished"
    ROLLBACK_STARTED = "RollbackStarted"
    ROLLBACK_FINISHED = "RollbackFinished"
    TAKEN_OVER = "TakenOver"
    """The group has all that a former name of it had, whose folder left main; or the requests of an app or a group that
    left main.
    """
    DELETED = "Deleted"
    """The group has ended, as its deletionPolicy says."""
    ROUTES_MOVED = "RoutesMoved"
    """Requests come in by another Gateway, or for other hosts, than before."""
    TRANSITION_WITHDRAWN = "TransitionWithdrawn"
    """A promotion or rollback was taken back: the Gateway did not take it, or its target is gone."""
    ANALYSIS_RUNNING = "AnalysisRunRunning"
    ANALYSIS_SUCCESSFUL = "AnalysisRunSuccessful"
    ANALYSIS_INCONCLUSIVE = "AnalysisRunInconclusive"
    ANALYSIS_ERROR = "AnalysisRunError"
    ANALYSIS_FAILED = "AnalysisRunFailed"
    HOOK_REFUSED = "HookRefused"
    HOOK_EXPIRED = "HookExpired"
    """A hook gave no answer, or did not agree, in time: it is not asked any more."""
    ABORTED = "Aborted"
    """Somebody stopped a promotion: its version is on hold."""
    RETRIED = "Retried"
    """Somebody has a version tried again, whatever held or paused it."""
    GATE_OPENED = "GateOpened"
    """Somebody opened a manual gate."""
    GATE_CLOSED = "GateClosed"
    HISTORY_REWRITTEN = "HistoryRewritten"
    """Main lacks what was seen in it, and has for a while: it moves nothing."""
    HISTORY_ACCEPTED = "HistoryAccepted"
    """Main counts again."""
    REPAIRED = "Repaired"
    """What somebody else changed of a live object of the group was put back."""
    CONTESTED = "Contested"
    """Somebody else changes a live object of the group again and again; no repair of it is said by itself."""
    UNDELIVERED = "Undelivered"
    """A chat or a hook refused a message, or did not answer in time."""


WARNINGS = frozenset(
    {
        GroupEvent.TRANSITION_WITHDRAWN,
        GroupEvent.ANALYSIS_INCONCLUSIVE,
        GroupEvent.ANALYSIS_ERROR,
        GroupEvent.ANALYSIS_FAILED,
        GroupEvent.HOOK_REFUSED,
        GroupEvent.HOOK_EXPIRED,
        GroupEvent.ABORTED,
        GroupEvent.HISTORY_REWRITTEN,
        GroupEvent.CONTESTED,
        GroupEvent.UNDELIVERED,
    }
)
"""Those that somebody has to look at."""

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
    TRANSITION_WITHDRAWN = "TransitionWithdrawn"
    """A promotion or rollback was taken back: the Gateway did not take it, or its target is gone."""


WARNINGS = frozenset({GroupEvent.TRANSITION_WITHDRAWN})
"""Those that somebody has to look at."""

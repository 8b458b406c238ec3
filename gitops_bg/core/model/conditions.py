"""The words for the state of an app: its phase, and its conditions. They stand alone: lists need nothing else."""

from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """One word for the state of an app; the first match wins, see ``core.status.conditions``."""

    INVALID = "Invalid"
    SUSPENDED = "Suspended"
    ADOPTING = "Adopting"
    DEPLOYING = "Deploying"
    ROLLING_BACK = "RollingBack"
    DEGRADED = "Degraded"
    SCALED_TO_ZERO = "ScaledToZero"
    WAITING = "Waiting"
    PAUSED = "Paused"
    PROMOTING = "Promoting"
    RESTARTING = "Restarting"
    PROGRESSING = "Progressing"
    AWAITING_PROMOTION = "AwaitingPromotion"
    HELD = "Held"
    HEALTHY = "Healthy"


INVALID_SPEC, PROMOTION_REJECTED, DIVERGED = "InvalidSpec", "PromotionRejected", "Diverged"
FOLDER_MISSING = "FolderMissing"
"""The types, and a reason, of conditions that people are alerted to."""

SUSPENDED, ON_HOLD = "Suspended", "OnHold"
ANALYSIS_PASSED, LEDGER_TRUSTED = "AnalysisPassed", "LedgerTrusted"
GIT_REACHABLE, HISTORY_REWRITTEN, SOURCE_VERIFIED = "GitReachable", "HistoryRewritten", "SourceVerified"
"""The types of conditions that apps and groups have alike."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of the status; ``kubectl wait --for=condition=<type>`` reads it.

    Where a condition is absent, nothing of its kind is wrong, going on or asked for (``docs/reference/status.md``).
    The writer of the status keeps the time of the last transition; it is not part of the decision.
    """

    type: str
    status: bool | None
    """None: unknown at present, ``Unknown`` on Kubernetes."""
    reason: str
    message: str

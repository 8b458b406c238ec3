"""The part of a status that depends on the process, and may differ between two processes that are both right. Pure.

All agents share the record. The rest of a status follows from the record and from what one process sees: whether it
reaches the remote, which branches it may push, which writes it is refused, the clock. Two agents that do not share a
Lease must not overwrite each other's view in turns (DESIGN §5 I5: nothing new, nothing written).
"""

from gitops_bg.core.model.conditions import Condition, Phase
from gitops_bg.core.model.decision import Decision, GateResult, Wait
from gitops_bg.core.model.git.pulls import PullRequest

FIELDS = ("phase", "message", "conditions", "gates", "waits", "pullRequest")
"""The fields of a status that belong to this view."""

ProcessView = tuple[Phase, tuple[Condition, ...], tuple[GateResult, ...], tuple[Wait, ...], PullRequest | None]


def process_view_of(decision: Decision) -> ProcessView:
    """The view that a decision contains."""
    return (decision.phase, decision.conditions, decision.gates, decision.waits, decision.pull)

"""What of a status is one process's own view, which differs from another's though both are right. Pure.

The record is what all agents have in common. What a status says beside it follows from it and from what one process
sees: the way to the remote, which branches it may push, which writes it is refused, the clock. Two agents that do not
share a Lease must not write that in turns (DESIGN §5 I5: nothing new, nothing written).
"""

from gitops_bg.core.model.decision import Condition, Decision, GateResult, Phase, Wait
from gitops_bg.core.model.pulls import PullRequest

FIELDS = ("phase", "message", "conditions", "gates", "waits", "pullRequest")
"""Of a status."""

ProcessView = tuple[Phase, tuple[Condition, ...], tuple[GateResult, ...], tuple[Wait, ...], PullRequest | None]


def process_view_of(decision: Decision) -> ProcessView:
    """What a decision says of it."""
    return (decision.phase, decision.conditions, decision.gates, decision.waits, decision.pull)

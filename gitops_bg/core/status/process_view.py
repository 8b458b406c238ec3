"""What of a status is one process's own view, which differs from another's though both are right. Pure.

Two agents that do not share a Lease must not write it in turns (DESIGN §5 I5: nothing new, nothing written).
"""

from gitops_bg.core.decision import Condition, Decision, Wait
from gitops_bg.core.status.conditions import CLOCK_SYNCHRONIZED, GIT_REACHABLE
from gitops_bg.core.status.waits import GIT

CONDITIONS = frozenset({GIT_REACHABLE, CLOCK_SYNCHRONIZED})
"""By type: the way to the remote and the clock are the process's own."""
WAITS = frozenset({GIT})
"""By gate."""

ProcessView = tuple[Condition | Wait, ...]


def process_view_of(decision: Decision) -> ProcessView:
    """What a decision says of it."""
    conditions = (one for one in decision.conditions if one.type in CONDITIONS)
    return (*conditions, *(one for one in decision.waits if one.gate in WAITS))

"""The order in which many apps are looked at: those on their way, those that changed in Git, and then the rest.

After a start or a change of leader every app is due, and a look at all of many takes a while. A rollout that another
agent began, and a change that no agent acted on, do not wait for apps at rest. Decides nothing about an app.
"""

from enum import IntEnum

from gitops_bg.agent.desired.reading import Entry
from gitops_bg.cluster.observation.states import AppState
from gitops_bg.core.status.kstatus import progresses


class Urgency(IntEnum):
    """How soon an app is looked at; the first come first."""

    ON_ITS_WAY = 0
    """It goes on by itself: a rollout, a rollback, a restart."""
    CHANGED = 1
    """Git says something else than what its record was decided from, or no more, or it has no record yet."""
    AT_REST = 2
    """A look probably finds nothing."""


def urgency_of(state: AppState | None, entry: Entry | None) -> Urgency:
    """The urgency of an app, by its live object and by main as it was read last (None: main does not have it)."""
    if state is not None and progresses(state.phase):
        return Urgency.ON_ITS_WAY
    decided_from, says = state.main.tree if state is not None else "", entry.tree if entry is not None else ""
    return Urgency.AT_REST if says == decided_from else Urgency.CHANGED

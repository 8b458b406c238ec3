"""The order of looks at many: where live traffic is to move, then what is on its way, what changed, all else.

A rollback does not wait for the thousand apps that roll out, nor a rollout for ten thousand at rest that are looked at
once more, as after a start, a change of leader or `--resync`. Decides nothing about an app.
"""

from enum import IntEnum

from gitops_bg.agent.desired.reading import Entry
from gitops_bg.cluster.observation.states import AppState
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.conditions import Phase, progresses
from gitops_bg.spec.groups.load import GroupConfig

_MOVING = frozenset({Phase.PROMOTING, Phase.ROLLING_BACK})


class Urgency(IntEnum):
    """How soon an app is looked at; the first come first."""

    TRAFFIC = 0
    """Live traffic is to move, by a promotion or a rollback, or an operator asks for something."""
    ON_ITS_WAY = 1
    """It goes on by itself: a rollout, a restart."""
    CHANGED = 2
    """Git says something else than what its record was decided from, or no more, or it has no record yet."""
    AT_REST = 3
    """A look probably finds nothing."""


def urgency_of(state: AppState | None, entry: Entry | None) -> Urgency:
    """The urgency of an app, by its live object and by main as it was read last (None: main does not have it)."""
    decided_from, says = state.main.tree if state is not None else "", entry.tree if entry is not None else ""
    changed = says != decided_from
    if state is not None:
        if state.asks or state.phase in _MOVING or (changed and _moves_traffic(state, entry)):
            return Urgency.TRAFFIC
        if progresses(state.phase):
            return Urgency.ON_ITS_WAY
    return Urgency.CHANGED if changed else Urgency.AT_REST


def urgency_of_group(record: GroupRecord | None, config: GroupConfig | None) -> Urgency:
    """The urgency of a release group, by its record, where it was read (None: it was not, or is empty), and by main."""
    if record is None:
        return Urgency.CHANGED
    if moves_requests(record, config):
        return Urgency.TRAFFIC
    says = config.tree if config is not None else ""
    return Urgency.AT_REST if says == record.main.tree else Urgency.CHANGED


def moves_requests(record: GroupRecord | None, config: GroupConfig | None) -> bool:
    """Whether the requests of a group move, or main has another version than the one that serves."""
    if record is None:
        return False
    spec = config.desired.spec if config is not None else None
    serving = record.state.only(VersionStage.ACTIVE)
    return record.transition is not None or (spec is not None and record.wanted(spec.active) != serving)


def is_to_move_traffic(state: AppState | None, entry: Entry | None) -> bool:
    """Whether the live traffic of an app is to move, also where it was decided and could not be carried out."""
    return state is not None and (state.asks or state.phase in _MOVING or _moves_traffic(state, entry))


def _moves_traffic(state: AppState, entry: Entry | None) -> bool:
    """Whether main promotes a version that does not serve, or its target goes back to one that served before."""
    if entry is None:
        return False
    promoted, asked_for = entry.config.primary, entry.config.target
    if promoted is not None and promoted.snapshot.digest != state.traffic:
        return True
    wanted = asked_for.snapshot.digest if asked_for is not None else state.traffic
    return wanted != state.traffic and state.has_served(wanted)

"""How long a forge is asked who merged a promotion, after traffic moved. Nothing waits for the answer."""

from datetime import datetime, timedelta

from gitops_bg.core.model.record import AskedMerge
from gitops_bg.core.world import World

PATIENCE = timedelta(hours=1)


def given_up_at(asked: AskedMerge) -> datetime:
    """Return when the agent stops asking."""
    return asked.since + PATIENCE


def moments_of_merges(world: World) -> tuple[datetime, ...]:
    """Return when the agent stops asking, for all open questions."""
    return tuple(map(given_up_at, world.record.git.asked_merges))

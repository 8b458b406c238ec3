"""Everything that an app waits for, as the status shows it: each wait with its reason and, where known, its end.

The shut gates of the next version; what stops the app as a whole; and what earlier versions wait for: the end of their
probation, draining, a restart, the scale-down. All of it comes from `deadlines`.
"""

from datetime import datetime

from gitops_bg.core.model.decision import GateResult, Wait
from gitops_bg.core.status.deadlines import deadlines_of
from gitops_bg.core.status.timers import wake_at
from gitops_bg.core.world import World


def waits_of(world: World, gates: tuple[GateResult, ...]) -> tuple[Wait, ...]:
    """All waits, those that block the next version first; ``gates`` are the gates shown."""
    wake = wake_at(world, gates)
    return tuple(
        Wait(str(each.gate), each.version.number, each.version.source.commit, each.reason, _known(each.at, wake))
        for each in deadlines_of(world, gates)
        if each.shown and each.version
    )


def _known(at: datetime | None, wake: datetime | None) -> datetime | None:
    """The end of a wait, only where the engine decides again by then.

    An end that has passed is not shown (nobody measures, Git is unreachable). Nor is one that falls into a suspension
    that stops its clock: nothing would happen then, and nobody would remove it from the status.
    """
    return at if at and wake and wake <= at else None

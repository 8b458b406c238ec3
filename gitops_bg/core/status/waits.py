"""Everything that an app waits for, as people are told: each with its reason and, where known, its end.

The shut gates of the version that is next; what stops the app as a whole; and what the versions behind wait for: to
prove themselves, to drain, to be restarted, to be scaled down. All of it is read off `deadlines`.
"""

from datetime import datetime

from gitops_bg.core.model.decision import GateResult, Wait
from gitops_bg.core.status.deadlines import deadlines_of
from gitops_bg.core.status.timers import wake_at
from gitops_bg.core.world import World


def waits_of(world: World, gates: tuple[GateResult, ...]) -> tuple[Wait, ...]:
    """All waits, those in the way of the next version first; ``gates`` are those that are shown."""
    wake = wake_at(world, gates)
    return tuple(
        Wait(str(each.gate), each.version.number, each.version.source.commit, each.reason, _known(each.at, wake))
        for each in deadlines_of(world, gates)
        if each.shown and each.version
    )


def _known(at: datetime | None, wake: datetime | None) -> datetime | None:
    """The end of a wait, only where the engine looks again by then.

    One that has passed is none (nobody measures, Git is away). Nor is one that comes while a suspension stops its
    clock: nothing would happen then, and nobody would take it out of the status.
    """
    return at if at and wake and wake <= at else None

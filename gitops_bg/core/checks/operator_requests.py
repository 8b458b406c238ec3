"""Where a rollback leads, and whether what an operator wrote answers a hold."""

from gitops_bg.core.model.record import Hold
from gitops_bg.core.model.spec import Retry
from gitops_bg.core.model.version import Version
from gitops_bg.core.way_back import leads_back
from gitops_bg.core.world import World


def is_answered_by(hold: Hold, retry: Retry) -> bool:
    """Whether a retry was made after a hold on its digest was put, and so lifts it.

    Its author says which ledger entry was the last that was there; without that, a retry that main shows before anybody
    has looked at it since is taken to be older (decision 17).
    """
    return hold.awaits is None or 0 < hold.sequence <= retry.after


def destination(world: World, number: int | None, *, forced: bool = False) -> Version | None:
    """The version a rollback leads to: the last good one, or that of ``number`` if traffic may go there; else None.

    ``forced``: to one that is on hold or came forward later, too. One that never served is never gone back to.
    """
    if number is None:
        return world.rollback_target
    version = world.record.numbered(number)
    if version is None or not world.snapshot(version).text:
        return None
    may_go = version.was_active if forced else leads_back(world.record, version, by_name=True)
    return version if may_go or version.digest == world.record.routing.traffic else None

"""The target of a rollback, and whether a retry answers a hold."""

from gitops_bg.core.model.spec import Retry
from gitops_bg.core.model.statements import Hold
from gitops_bg.core.model.version import Version
from gitops_bg.core.way_back import can_roll_back_to
from gitops_bg.core.world import World


def is_answered_by(hold: Hold, retry: Retry) -> bool:
    """Whether a retry was made after a hold on its digest was put, and so lifts it.

    The retry names the last ledger entry that its author knew. Without that, a retry that main shows before the first
    look since the hold counts as older than the hold (decision 17).
    """
    return hold.awaits is None or 0 < hold.sequence <= retry.after


def destination(world: World, number: int | None, *, forced: bool = False) -> Version | None:
    """The version a rollback leads to: the last good one, or that of ``number`` if traffic may go there; else None.

    ``forced`` allows a version on hold, or one that was first promoted later. A rollback never leads to a version that
    never served.
    """
    if number is None:
        return world.rollback_target
    version = world.record.numbered(number)
    if version is None or not world.snapshot(version).text:
        return None
    may_go = version.was_active if forced else can_roll_back_to(world.record, version, by_name=True)
    return version if may_go or version.digest == world.record.routing.traffic else None

"""Whether live traffic may go to a version without gates: the one answer for every rollback.

A revert of a promotion or of a push, `rollback` with and without Git, an abort, failing pods, a failing analysis after
promotion: all lead only to a version that served before and that nothing speaks against (decision 16).
"""

from dataclasses import dataclass

from gitops_bg.core.model.digest import short
from gitops_bg.core.model.record import Delivery, Record
from gitops_bg.core.model.statements import Says
from gitops_bg.core.model.version import Version


@dataclass(frozen=True, slots=True)
class WayBack:
    """The answer; ``why_not`` is a sentence without its subject, empty where traffic may go."""

    why_not: str = ""

    def __bool__(self) -> bool:
        return not self.why_not


OPEN = WayBack()
NEVER_SERVED = WayBack("never carried live traffic")


def can_roll_back_without_gates(record: Record, version: Version, *, by_name: bool = False) -> WayBack:
    """Whether traffic may go to ``version`` at once.

    ``by_name``: a person names this very version. Then it is enough that somebody cleared its digest, by `resume`, by
    `retry`, or by a promotion; a version that the agent chooses by itself must have served since. Pods and the age of
    the version are not considered.
    """
    return speaks_against(record, version.digest, by_name=by_name) if version.was_active else NEVER_SERVED


def speaks_against(record: Delivery, digest: str, *, by_name: bool = False) -> WayBack:
    """What speaks against going back to a version that served, of an app or a release group; see above."""
    objection = record.objection(digest)
    if objection is None or (by_name and objection.lifted in (Says.CLEARED, Says.NAMED)):
        return OPEN
    if objection.lifted is None:
        return WayBack(f"is on hold ({objection.cause}): {objection.reason}")
    return WayBack(
        f"was bad on {objection.since:%Y-%m-%d} ({objection.cause}), and did not serve since: {objection.reason}"
    )


def can_roll_back_to(record: Record, version: Version, *, by_name: bool = False) -> WayBack:
    """Whether traffic may go to a version that Git names; it must also have been promoted before the one that serves
    now.
    """
    way = can_roll_back_without_gates(record, version, by_name=by_name)
    if way and not record.came_before(version.digest, record.routing.traffic):
        return WayBack(f"came forward after {short(record.routing.traffic)}, which serves now")
    return way

"""Why pods that are waited for do not come up. Nothing watches pods: they are listed once a version is late."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from gitops_bg.core.model.digest import short
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

LATE = timedelta(seconds=15)
"""How long a version may wait for its pods before they are listed: the scheduler has said by then what it misses."""

_FREE_PORTS = "free ports"
"""What the scheduler says where pods want a ``hostPort`` (kubernetes ``plugins/nodeports/node_ports.go``)."""


def wants_pods(record: Record, now: datetime | None) -> bool:
    """Whether the decision depends on single pods: a restart has begun, or a version is late (``now`` None: nobody asks
    about late ones).
    """
    restart = record.operator.restart
    if restart is not None and restart.begun:
        return True
    return now is not None and any(each.waiting_since and now >= each.waiting_since + LATE for each in record.versions)


def late_at(version: Version) -> datetime | None:
    """When the pods of a version are listed if they are not available until then."""
    return version.waiting_since + LATE if version.waiting_since else None


class StuckCause(StrEnum):
    """What keeps the pods of a version from coming up, the worst first."""

    REFUSED = "refused"
    """A quota, a policy or a webhook refuses them."""
    UNSCHEDULABLE = "unschedulable"
    WAITING = "waiting"
    """Their containers do not start."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """What keeps the pods of a version from coming up; ``message`` is a part of a sentence."""

    cause: StuckCause
    message: str


def stuck(world: World, version: Version) -> Stuck | None:
    """What keeps the pods of a version from coming up, the worst cause first; None where none is known."""
    view = world.replica_set(version.digest)
    if view is not None and view.failure:
        return Stuck(StuckCause.REFUSED, f"its pods cannot be made: {view.failure}")
    digest, seen = short(version.digest), world.observed.pods or ()
    pods = [pod for pod in seen if pod.digest == digest and not pod.leaving]
    if homeless := [pod.unschedulable for pod in pods if pod.unschedulable]:
        has = "has" if len(homeless) == 1 else "have"
        return Stuck(StuckCause.UNSCHEDULABLE, f"{len(homeless)} of its pods {has} no node: {homeless[0]}")
    if waiting := [pod.waiting for pod in pods if pod.waiting]:
        return Stuck(StuckCause.WAITING, f"{len(waiting)} of its pods cannot start: {waiting[0]}")
    return None


def why_stuck(world: World, version: Version) -> str:
    """`stuck` as a part of a sentence; empty where nothing is known."""
    found = stuck(world, version)
    return found.message if found else ""


def remedy_for(unschedulable: str) -> str:
    """What helps pods that have no node; empty where we know nothing better than the scheduler's words."""
    if _FREE_PORTS not in unschedulable:
        return ""
    return "two versions with one hostPort need a node for each pod of both: add nodes, or remove hostPort"

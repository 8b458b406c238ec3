"""Why pods that are waited for have no node. Nothing watches pods: they are listed once a version is late."""

from datetime import datetime, timedelta

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


def without_node(world: World, version: Version) -> str:
    """Which pods of a version have no node, and why, as a part of a sentence; empty where none is known."""
    digest, pods = short(version.digest), world.observed.pods or ()
    why = [pod.unschedulable for pod in pods if pod.digest == digest and pod.unschedulable and not pod.leaving]
    if not why:
        return ""
    return f"{len(why)} of its pods {'has' if len(why) == 1 else 'have'} no node: {why[0]}"


def remedy_for(unschedulable: str) -> str:
    """What helps pods that have no node; empty where we know nothing better than the scheduler's words."""
    if _FREE_PORTS not in unschedulable:
        return ""
    return "two versions with one hostPort need a node for each pod of both: add nodes, or remove hostPort"

"""Whether an object that somebody else changed is repaired now, or waits: another writer may change it again and again.

A repair that waits holds up nothing else: the rest of the decision is as if the object were as it should be. What live
traffic depends on waits a second at most (docs/decisions/0066).
"""

from collections.abc import Iterator
from datetime import datetime

from gitops_bg.core.checks.versions import is_live, live_name
from gitops_bg.core.model.auxiliary import ROUTES
from gitops_bg.core.names import configuration_name
from gitops_bg.core.world import World

SERVICE, REPLICA_SET, APP = "Service", "ReplicaSet", "BlueGreenDeployment"


def repair_is_due(world: World, kind: str, name: str) -> bool:
    """Whether an object that differs, is missing or has another size than the record says is repaired now."""
    of_it = (each for each in world.observed.contests if (each.kind, each.name) == (kind, name))
    return all(each.is_due(world.now, live=carries_traffic(world, kind, name)) for each in of_it)


def pauses(world: World) -> Iterator[datetime]:
    """When each pause between two repairs is over."""
    for each in world.observed.contests:
        yield each.next_repair(live=carries_traffic(world, each.kind, each.name))


def carries_traffic(world: World, kind: str, name: str) -> bool:
    """Whether live traffic depends on an object: where it goes, the pods that serve it, what these need to start."""
    if kind == SERVICE:
        return any(name == each for each, _ in world.active_services)
    live = [version for version in world.record.versions if is_live(world, version.digest)]
    if kind == REPLICA_SET:
        return any(name == live_name(world, version) for version in live)
    used = (ref for version in live for ref in version.snapshot.configuration if ref.kind == kind)
    return kind in ROUTES or any(name == configuration_name(world.spec.app, ref) for ref in used)

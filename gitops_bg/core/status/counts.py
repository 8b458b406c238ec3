"""How many pods an app has, in the words of Argo Rollouts (argo-rollouts.md §4). Nothing here decides anything."""

from dataclasses import dataclass

from gitops_bg.core.world import World


@dataclass(frozen=True, slots=True)
class Counts:
    """Pods: ``ready`` and ``available`` are those that live traffic can reach; the others count all versions."""

    desired: int = 0
    """What the target asks for."""
    current: int = 0
    """Of all versions."""
    updated: int = 0
    """Of the version that the target names."""
    ready: int = 0
    """Of the active version."""
    available: int = 0
    """Of the active version: ready for ``minReadySeconds``."""

    @property
    def unavailable(self) -> int:
        """How many live traffic lacks."""
        return max(0, self.desired - self.available)


def counts_of(world: World) -> Counts:
    """The pods of an app as they are now."""
    active, target = world.replica_set(world.record.traffic), world.replica_set(world.target_digest)
    return Counts(
        desired=world.full_size,
        current=sum(view.pods for view in world.observed.replica_sets if view.ours),
        updated=target.pods if target else 0,
        ready=active.ready if active else 0,
        available=active.available if active else 0,
    )

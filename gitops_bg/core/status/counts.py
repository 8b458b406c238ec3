"""How many pods an app has, in the words of Argo Rollouts (argo-rollouts.md §4). Nothing here decides anything."""

from gitops_bg.core.checks.pods.sizes import wanted_size
from gitops_bg.core.model.decision import Counts
from gitops_bg.core.world import World


def counts_of(world: World) -> Counts:
    """The present number of pods of an app."""
    active, target = world.replica_set(world.record.routing.traffic), world.replica_set(world.target_digest)
    return Counts(
        desired=wanted_size(world, world.active) if world.active and world.active.on_every_node else world.full_size,
        current=sum(view.pods for view in world.observed.replica_sets if view.ours),
        updated=target.pods if target else 0,
        ready=active.ready if active else 0,
        available=active.available if active else 0,
    )

"""Evictions: the pods that a restart asks to evict now (argo-rollouts.md §1.3)."""

from gitops_bg.core.checks.pods.restart import PodGroup
from gitops_bg.core.model.actions import ClusterAction, EvictPod
from gitops_bg.core.world import World


def evictions(world: World) -> tuple[ClusterAction, ...]:
    """The evictions that were decided now; a pod that stays is asked for again after a while."""
    restart = world.record.operator.restart
    if restart is None or restart.asked_at != world.now:
        return ()
    return tuple(
        EvictPod(pod.name, pod.uid, version.digest, version.number)
        for version in world.record.versions
        for pod in PodGroup.of(world, version).pods
        if pod.uid in restart.asked
    )

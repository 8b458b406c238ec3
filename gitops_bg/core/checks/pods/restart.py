"""The progress of a restart: the pods left, the pods refused, when to look again (argo-rollouts.md §1.3)."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from gitops_bg.core.checks.pods.sizes import wanted_size
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.observed import PodView
from gitops_bg.core.model.record import Restart
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

RECHECK = timedelta(seconds=30)
"""When to ask again for the eviction of a pod that stays (argo-rollouts.md §1.3)."""


def recheck_at(world: World) -> datetime | None:
    """When to look again without an event: the scheduled time, then every thirty seconds.

    None where the restart waits for something whose end is an event.
    """
    restart = world.record.operator.restart
    if restart is None or not may_go_on(world):
        return None
    if not restart.begun:
        return restart.at
    asked_again = restart.asked_at + RECHECK if restart.asked_at else world.now
    return asked_again if asked_again > world.now else world.now + RECHECK


def refused_pods(world: World) -> tuple[str, ...]:
    """The names of the pods that stay although the agent asked to evict them."""
    restart, pods = world.record.operator.restart, world.observed.pods
    if restart is None or pods is None or restart.asked_at == world.now:
        return ()
    return tuple(pod.name for pod in pods if pod.uid in restart.asked and not pod.leaving)


def left_to_restart(world: World) -> int | None:
    """How many pods are older than the restart that has begun; None where the pods are not known."""
    restart, pods = world.record.operator.restart, world.observed.pods
    if restart is None or pods is None:
        return None
    return sum(is_old(restart, pod) and not pod.leaving for pod in pods)


def restart_story(world: World, restart: Restart) -> str:
    """How far a restart that has begun is, in a sentence."""
    if world.observed.pods_refused:
        return world.observed.pods_refused
    left, staying = left_to_restart(world), refused_pods(world)
    if staying:
        return f"{', '.join(staying)} stay: a PodDisruptionBudget may refuse their eviction, which is asked for again"
    many = "pods" if left is None else f"{left} pods"
    return f"{many} older than {restart.at:%Y-%m-%dT%H:%M:%SZ} are being restarted"


@dataclass(frozen=True, slots=True)
class PodGroup:
    """The pods of one version that stay, and how many there should be."""

    pods: tuple[PodView, ...]
    serving: int = 0
    """Those that are ready: a Service sends requests to them, whatever ``minReadySeconds`` says."""
    available: int = 0
    replicas: int = 0
    most_missing: int = 1
    being_scaled: bool = False

    @classmethod
    def of(cls, world: World, version: Version) -> "PodGroup":
        """The pods of a version; none where it has no ReplicaSet of ours."""
        view = world.replica_set(version.digest)
        if view is None:
            return cls(())
        mine = (pod for pod in world.observed.pods or () if pod.digest == short(version.digest))
        staying = tuple(pod for pod in mine if not pod.leaving)
        serving, up = sum(map(serves, staying)), sum(is_up(world, pod) for pod in staying)
        most_missing = max(1, world.spec.strategy.max_unavailable.of(view.replicas))
        return cls(staying, serving, up, view.replicas, most_missing, view.replicas != wanted_size(world, version))

    @property
    def spare(self) -> int:
        """How many pods that serve may go now: available - (max(replicas, total) - max(1, maxUnavailable)).

        A replacement that is not available yet makes room for none. 0 while the version is being scaled: its size is
        about to change.
        """
        if self.being_scaled:
            return 0
        return self.available - (max(self.replicas, len(self.pods)) - self.most_missing)


def serves(pod: PodView) -> bool:
    """Whether a pod is ready."""
    return pod.ready_since is not None


def is_up(world: World, pod: PodView) -> bool:
    """Whether a pod has been ready for ``minReadySeconds``."""
    ready_for = timedelta(seconds=world.spec.min_ready_seconds)
    return pod.ready_since is not None and world.now >= pod.ready_since + ready_for


def is_old(restart: Restart, pod: PodView) -> bool:
    """Whether a pod is to be restarted. A replacement never is, however far our clock is ahead."""
    return pod.created_at < restart.at and (restart.youngest is None or pod.created_at <= restart.youngest)


def may_go_on(world: World) -> bool:
    """Whether pods may be evicted now: traffic is not moving, and the app is not frozen."""
    return not (world.frozen or world.incoming or world.record.routing.switch)

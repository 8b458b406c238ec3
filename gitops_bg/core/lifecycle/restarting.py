"""`restartAt`: pods older than that are evicted, so that their ReplicaSets make new ones (argo-rollouts.md §1.3).

One version after the other: the live one, a candidate, then the rest; never so many at once that fewer than
``replicas - maxUnavailable`` stay available. Nobody watches pods: the agent lists them only while a restart has begun,
which is why that is in the record. Traffic comes first: nothing is evicted while it is on its way.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gitops_bg.core.actions import ClusterAction, EvictPod
from gitops_bg.core.digest import short
from gitops_bg.core.lifecycle.sizes import wanted_size
from gitops_bg.core.model import Stage, Version
from gitops_bg.core.observed import PodView
from gitops_bg.core.record import Event, Restart
from gitops_bg.core.world import World

RECHECK = timedelta(seconds=30)
"""After this a pod whose eviction was asked for, and that stays, is asked for again (argo-rollouts.md §1.3)."""


def note_restart(world: World) -> World:
    """Begin, go on with, end or cancel the restart that the spec asks for."""
    at, restart = world.spec.restart_at, world.record.restart
    if at is None or at == world.record.restarted:
        return world if restart is None else _with(world, None)
    if restart is None or restart.at != at:
        restart = Restart(at, world.record.rollout)
    elif restart.rollout != world.record.rollout:
        reason = "a new rollout began, whose pods are new anyway"
        return _ended(world, restart).noting(
            Event.RESTART_CANCELLED, to=world.active, commit=world.desired.commit, reason=reason
        )
    if not _may_go_on(world):
        return _with(world, restart)
    begun = replace(restart, begun=world.now >= at)
    return _go_on(_with(world, begun), begun)


def evictions(world: World) -> tuple[ClusterAction, ...]:
    """Ask for the evictions that were decided now; a pod that stays is asked for again after a while."""
    restart = world.record.restart
    if restart is None or restart.asked_at != world.now:
        return ()
    return tuple(
        EvictPod(pod.name, pod.uid, version.digest, version.number)
        for version in world.record.versions
        for pod in Flock.of(world, version).pods
        if pod.uid in restart.asked
    )


def recheck_at(world: World) -> datetime | None:
    """When to look again, also where no event comes: the scheduled time, then every thirty seconds.

    None where something else is first, whose end is an event.
    """
    restart = world.record.restart
    if restart is None or not _may_go_on(world):
        return None
    if not restart.begun:
        return restart.at
    asked_again = restart.asked_at + RECHECK if restart.asked_at else world.now
    return asked_again if asked_again > world.now else world.now + RECHECK


def refused_pods(world: World) -> tuple[str, ...]:
    """The names of the pods that stay although their eviction was asked for."""
    restart, pods = world.record.restart, world.observed.pods
    if restart is None or pods is None or restart.asked_at == world.now:
        return ()
    return tuple(pod.name for pod in pods if pod.uid in restart.asked and not pod.leaving)


def left_to_restart(world: World) -> int | None:
    """How many pods are older than the restart that has begun; None where they were not looked at."""
    restart, pods = world.record.restart, world.observed.pods
    if restart is None or pods is None:
        return None
    return sum(_is_old(restart, pod) and not pod.leaving for pod in pods)


@dataclass(frozen=True, slots=True)
class Flock:
    """The pods of one version that are to stay, and how many of them there should be."""

    pods: tuple[PodView, ...]
    available: int
    replicas: int
    most_missing: int
    being_scaled: bool = False

    @classmethod
    def of(cls, world: World, version: Version) -> "Flock":
        """The flock of a version; of none where it has no ReplicaSet of ours."""
        view = world.replica_set(version.digest)
        if view is None:
            return cls((), 0, 0, 1)
        mine = (pod for pod in world.observed.pods or () if pod.digest == short(version.digest))
        staying = tuple(pod for pod in mine if not pod.leaving)
        up = sum(is_up(world, pod) for pod in staying)
        most_missing = max(1, world.spec.strategy.max_unavailable.of(view.replicas))
        return cls(staying, up, view.replicas, most_missing, view.replicas != wanted_size(world, version))

    @property
    def spare(self) -> int:
        """How many available pods may go now: available - (max(replicas, total) - max(1, maxUnavailable)).

        None may while the version is being scaled: how many it is to have is about to be something else.
        """
        if self.being_scaled:
            return 0
        return self.available - (max(self.replicas, len(self.pods)) - self.most_missing)


def is_up(world: World, pod: PodView) -> bool:
    """Whether a pod has been ready for ``minReadySeconds``."""
    ready_for = timedelta(seconds=world.spec.min_ready_seconds)
    return pod.ready_since is not None and world.now >= pod.ready_since + ready_for


def _is_old(restart: Restart, pod: PodView) -> bool:
    """Whether a pod is to be restarted. Of no pod that was made for another one, however far our clock is ahead."""
    return pod.created_at < restart.at and (restart.youngest is None or pod.created_at <= restart.youngest)


def _may_go_on(world: World) -> bool:
    return not (world.frozen or world.moving_to or world.record.switch)


def _go_on(world: World, restart: Restart) -> World:
    """Ask for the next evictions, or end; nothing is known where the pods were not looked at yet."""
    pods = world.observed.pods
    if not restart.begun or pods is None or _waits(world, restart):
        return world
    if restart.youngest is None:
        restart = replace(
            restart, youngest=max((pod.created_at for pod in pods if _is_old(restart, pod)), default=None)
        )
        world = _with(world, restart)
    for version in _in_order(world):
        flock = Flock.of(world, version)
        old = [pod for pod in flock.pods if _is_old(restart, pod)]
        if old:
            return _ask(world, restart, version, tuple(_next(world, flock, old)))
    return _finish(world, restart) if _is_whole(world) else world


def _waits(world: World, restart: Restart) -> bool:
    return bool(refused_pods(world)) and restart.asked_at is not None and world.now < restart.asked_at + RECHECK


def _in_order(world: World) -> list[Version]:
    """The live one, a candidate, then the oldest first."""

    def place(version: Version) -> tuple[bool, bool, int]:
        is_candidate = version.stage is Stage.CANDIDATE and not version.retiring
        return version.digest != world.record.traffic, not is_candidate, version.number

    return sorted(world.record.versions, key=place)


def _next(world: World, flock: Flock, old: list[PodView]) -> Iterator[PodView]:
    """Those that serve nobody at once; of the others, oldest first, as many as may be missing."""
    yield from (pod for pod in old if not is_up(world, pod))
    serving = sorted((pod for pod in old if is_up(world, pod)), key=lambda pod: (pod.created_at, pod.name))
    yield from serving[: max(0, flock.spare)]


def _ask(world: World, restart: Restart, version: Version, pods: tuple[PodView, ...]) -> World:
    if not pods:
        return world
    uids = tuple(pod.uid for pod in pods)
    asked = replace(restart, asked=uids, asked_at=world.now, count=restart.count + len(set(uids) - set(restart.asked)))
    return _with(world.with_version(_given_time(world, version)), asked)


def _given_time(world: World, version: Version) -> Version:
    """Pods that are missing because they are being restarted are no failure: deadlines that still run begin anew."""
    waiting = version.waiting_since if version.failure else version.waiting_since and world.now
    probation = version.probation
    if probation and probation.unready:
        probation = replace(probation, since=world.now)
    return replace(version, waiting_since=waiting, probation=probation)


def _is_whole(world: World) -> bool:
    """Whether the live version has all its pods again."""
    active = world.active
    flock = Flock.of(world, active) if active else None
    return flock is None or flock.available >= flock.replicas


def _finish(world: World, restart: Restart) -> World:
    world = _ended(world, restart)
    if not restart.count:
        return world
    reason = f"{restart.count} pods older than {restart.at:%Y-%m-%dT%H:%M:%SZ}"
    return world.noting(Event.RESTARTED, to=world.active, commit=world.desired.commit, reason=reason)


def _ended(world: World, restart: Restart) -> World:
    return world.with_record(replace(world.record, restart=None, restarted=restart.at))


def _with(world: World, restart: Restart | None) -> World:
    if restart == world.record.restart:
        return world
    return world.with_record(replace(world.record, restart=restart))

"""`restartAt`: evict pods older than that, so that their ReplicaSets create new ones (argo-rollouts.md §1.3).

One version after the other: the live one, a candidate, then the rest; never so many pods at once that fewer than
``replicas - maxUnavailable`` stay available. The agent does not watch pods: it lists them only while a restart has
begun, which is why the record says so. Traffic comes first: nothing is evicted while it is moving.
"""

from collections.abc import Iterator
from dataclasses import replace

from gitops_bg.core.checks.pods.restart import RECHECK, PodGroup, is_old, may_go_on, refused_pods, serves
from gitops_bg.core.model.observed import PodView
from gitops_bg.core.model.record import Event, Restart
from gitops_bg.core.model.version import Stage, Version
from gitops_bg.core.world import World


def advance_restart(world: World) -> World:
    """Begin, continue, end or cancel the restart that the spec asks for."""
    at, restart = world.spec.restart_at, world.record.operator.restart
    if at is None or at == world.record.operator.restarted:
        return world if restart is None else _with(world, None)
    if restart is None or restart.at != at:
        restart = Restart(at, world.record.rollout)
    elif restart.rollout != world.record.rollout:
        reason = "a new rollout began, whose pods are new anyway"
        return _ended(world, restart).with_ledger_entry(
            Event.RESTART_CANCELLED, to=world.active, commit=world.desired.commit, reason=reason
        )
    if not may_go_on(world):
        return _with(world, restart)
    begun = replace(restart, begun=world.now >= at)
    return _go_on(_with(world, begun), begun)


def _go_on(world: World, restart: Restart) -> World:
    """Request the next evictions, or end the restart; wait where the pods have not been listed yet."""
    pods = world.observed.pods
    if not restart.begun or pods is None or _waits(world, restart):
        return world
    if restart.youngest is None:
        restart = replace(restart, youngest=max((pod.created_at for pod in pods if is_old(restart, pod)), default=None))
        world = _with(world, restart)
    for version in _in_order(world):
        group = PodGroup.of(world, version)
        old = [pod for pod in group.pods if is_old(restart, pod)]
        if old:
            return _ask(world, restart, version, tuple(_next(group, old)))
    return _finish(world, restart) if _is_whole(world) else world


def _waits(world: World, restart: Restart) -> bool:
    return bool(refused_pods(world)) and restart.asked_at is not None and world.now < restart.asked_at + RECHECK


def _in_order(world: World) -> list[Version]:
    """The versions in the order of the restart: the live one, a candidate, then the oldest first."""

    def place(version: Version) -> tuple[bool, bool, int]:
        is_candidate = version.stage is Stage.CANDIDATE and not version.retiring
        return version.digest != world.record.routing.traffic, not is_candidate, version.number

    return sorted(world.record.versions, key=place)


def _next(group: PodGroup, old: list[PodView]) -> Iterator[PodView]:
    """The next pods to evict: all that are not ready; of the others, oldest first, as many as may be missing."""
    yield from (pod for pod in old if not serves(pod))
    serving = sorted((pod for pod in old if serves(pod)), key=lambda pod: (pod.created_at, pod.name))
    yield from serving[: max(0, group.spare)]


def _ask(world: World, restart: Restart, version: Version, pods: tuple[PodView, ...]) -> World:
    if not pods:
        return world
    uids = tuple(pod.uid for pod in pods)
    asked = replace(restart, asked=uids, asked_at=world.now, count=restart.count + len(set(uids) - set(restart.asked)))
    return _with(world.with_version(_given_time(world, version)), asked)


def _given_time(world: World, version: Version) -> Version:
    """Restart the deadlines that still run: pods missing because of the restart are no failure."""
    waiting = version.waiting_since if version.failure else version.waiting_since and world.now
    stabilization = version.stabilization
    if stabilization and stabilization.unready:
        stabilization = replace(stabilization, since=world.now)
    return replace(version, waiting_since=waiting, stabilization=stabilization)


def _is_whole(world: World) -> bool:
    """Whether the live version has all its pods again."""
    active = world.active
    group = PodGroup.of(world, active) if active else None
    return group is None or group.available >= group.replicas


def _finish(world: World, restart: Restart) -> World:
    world = _ended(world, restart)
    if not restart.count:
        return world
    reason = f"{restart.count} pods older than {restart.at:%Y-%m-%dT%H:%M:%SZ}"
    return world.with_ledger_entry(Event.RESTARTED, to=world.active, commit=world.desired.commit, reason=reason)


def _ended(world: World, restart: Restart) -> World:
    return world.with_part(replace(world.record.operator, restart=None, restarted=restart.at))


def _with(world: World, restart: Restart | None) -> World:
    if restart == world.record.operator.restart:
        return world
    return world.with_part(replace(world.record.operator, restart=restart))

"""How many pods each version should have, how many are up and since when, and which of them a restart has still to
replace (argo-rollouts.md §1.3).

One rule gives the size of each role.
"""

from datetime import datetime, timedelta

from gitops_bg.core.checks.adoption import is_released, pods_of_others
from gitops_bg.core.checks.onboarding import leak_to
from gitops_bg.core.checks.subject import awaits_confirmation, awaits_jobs, is_closed
from gitops_bg.core.checks.versions import live_name
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.delivery.world import answered_once
from gitops_bg.core.model.analysis import AnalysisStage
from gitops_bg.core.model.observed import PodView
from gitops_bg.core.model.record import Restart, SwitchKind
from gitops_bg.core.model.version import Stage, Version, short
from gitops_bg.core.world import World


@answered_once
def wanted_size(world: World, version: Version) -> int:
    """Return the replicas that a version should have now (DESIGN §4.1, §4.4, §4.5); 0 where live traffic would reach
    them without a promotion, and until its Jobs have succeeded. A DaemonSet has none or its own, whose number the
    cluster says.
    """
    kept_at_none = is_released(world) or leak_to(world, version) or awaits_jobs(world, version)
    kept_at_none = kept_at_none or is_closed(world, version)
    wanted = 0 if kept_at_none else _wanted(world, version)
    return max(1, _live(world, version.digest)) if wanted and version.on_every_node else wanted


def _wanted(world: World, version: Version) -> int:
    full, live = 1 if version.on_every_node else world.full_size, _live(world, version.digest)
    if version.digest == world.record.routing.traffic:
        return max(full, live) if world.record.last_read.autoscaler else full
    full = _shown(world, version, full)
    held_back = not version.was_active and awaits_confirmation(world, version)
    if version.digest == world.desired_digest and not held_back:
        as_now = live if world.switch_kind is SwitchKind.ROLLBACK else 0  # a way back waits for no pod that was there
        return max(full, as_now, _like_live(world), pods_of_others(world))
    if version.stage is Stage.ARCHIVED:
        return 0
    if version.was_active:
        return live if _is_being_scaled(world, version) else _to_go_back_to(world, version, full)
    if version.retiring or held_back:
        return live
    preview = world.spec.strategy.preview_replica_count
    return (
        full
        if preview is None or world.record.operator.promotes_in_full(version.rollout)
        else max(preview, min(live, full))
    )


def _like_live(world: World) -> int:
    """Return the size of what serves; 0 where that is a DaemonSet, whose number is not to be compared with replicas."""
    serving = world.record.routing.traffic
    return 0 if world.on_every_node(serving) else _live(world, serving)


def _to_go_back_to(world: World, version: Version, full: int) -> int:
    """Return the full size, but do not shrink a rollback target below the size of the live version.

    A smaller ``replicas`` therefore reaches the live version first, and a rollback never waits for pods to come back
    (I6). The rollback target does not follow an autoscaler down either while the live version is not proven yet: a
    broken version asks for few pods.
    """
    live = _live(world, version.digest)
    if world.record.last_read.autoscaler and world.unproven:
        return max(full, live)
    return max(full, min(live, _like_live(world)))


def _shown(world: World, version: Version, full: int) -> int:
    """Return the size of a version that never served, or is promoted again.

    It must prove that it runs: with one pod even where an autoscaler keeps live traffic at none.
    """
    is_promoted = version.digest == world.desired_digest and world.switch_kind is SwitchKind.PROMOTION
    is_known = version.was_active and not is_promoted
    return full if is_known or world.record.last_read.autoscaler is None else max(1, full)


def _is_being_scaled(world: World, version: Version) -> bool:
    """Return whether the autoscaler still scales a version that traffic has left: the agent must not scale it as well
    (I5).
    """
    autoscaler = world.record.last_read.autoscaler
    view = world.auxiliary_object(autoscaler.copy) if autoscaler else None
    return view is not None and view.scale_target == live_name(world, version)


def needed_to_switch(world: World, version: Version) -> int:
    """Return how many pods of a version must be available before traffic may move to it (I1).

    Forward: all of them, no fewer than serve now, and at least one, because 0 of 0 pods prove nothing. Back: as many as
    serve now, and at least one unless the app is at 0, where no pod has to come up first (I6).
    """
    serving, full = serving_to_match(world, version), world.full_size
    if version.on_every_node:
        full = wanted_size(world, version)
    if world.switch_kind is SwitchKind.ROLLBACK:
        return max(min(1, full), serving)
    return max(1, full, serving)


def serving_to_match(world: World, version: Version) -> int:
    """Return how many pods serve now that a version has to match.

    No more than it wants itself where one of the two is a DaemonSet: it may be for fewer nodes.
    """
    serving = max(world.available(world.record.routing.traffic), pods_of_others(world))
    if version.on_every_node or world.on_every_node(world.record.routing.traffic):
        return min(serving, wanted_size(world, version))
    return serving


def is_scaled_to_zero(world: World) -> bool:
    """Return whether the author wants no pods. An autoscaler that is at 0 at present wants pods as soon as there is
    load.
    """
    return world.known_size == 0 and world.record.last_read.autoscaler is None


def _live(world: World, digest: str) -> int:
    view = world.replica_set(digest)
    return view.replicas if view else 0


DEADLINE_EXCEEDED = "ProgressDeadlineExceeded"


def is_in_flight(world: World, version: Version) -> bool:
    """Return whether a version is on its way to live traffic: the candidate, or the version that ``primary.yaml``
    names.
    """
    on_its_way = version.stage is Stage.CANDIDATE and not version.retiring
    return version.digest != world.record.routing.traffic and (on_its_way or version.digest == world.desired_digest)


def is_available(world: World, version: Version) -> bool:
    """Return whether all pods that the version should have now are available.

    A candidate that was available, and that gets more pods because the load has grown, has not failed: the autoscaler's
    minimum is enough for it. Once traffic is to move to it, it needs all of them, in time. So with a DaemonSet: a node
    that comes or goes takes what serves along, and has proved nothing against the candidate.
    """
    view, needed = world.replica_set(version.digest), wanted_size(world, version)
    autoscaler = world.record.last_read.autoscaler
    if autoscaler and version.available_since and version.digest != world.desired_digest:
        needed = min(needed, max(1, autoscaler.minimum))
    if version.on_every_node and version.available_since and version.digest != world.desired_digest:
        needed = max(1, min(needed, world.available(world.record.routing.traffic)))
    return view is not None and view.available >= needed


def progress_deadline(world: World, version: Version) -> datetime | None:
    """Return when a version without progress counts as failed; None while it is available."""
    if version.waiting_since is None:
        return None
    return world.waits_since(version.waiting_since) + timedelta(seconds=world.spec.progress_deadline_seconds)


def expires_at(world: World, version: Version) -> datetime | None:
    """Return when a candidate has waited long enough for a promotion; None where it may wait for ever."""
    seconds, since = world.spec.strategy.expire_after_seconds, ready_since(world, version)
    if seconds is None or since is None or not world.record.routing.traffic:
        return None
    return world.waits_since(since) + timedelta(seconds=seconds)


def ready_since(world: World, version: Version) -> datetime | None:
    """Return since when a candidate waits only for people and clocks: its pods are available, and its analysis has
    ended.
    """
    if world.spec.strategy.pre_promotion_analysis is None or version.available_since is None:
        return version.available_since
    run = world.record.run(AnalysisStage.PRE)
    if run is None or run.rollout != version.rollout or run.finished_at is None:
        return None
    return max(version.available_since, run.finished_at)


def is_expired(world: World, version: Version) -> bool:
    """Return whether nobody promoted a candidate in time."""
    moment = expires_at(world, version)
    return moment is not None and world.now >= moment


RECHECK = timedelta(seconds=30)
"""When to ask again for the eviction of a pod that stays (argo-rollouts.md §1.3)."""


def recheck_at(world: World) -> datetime | None:
    """Return when to look again without an event: the scheduled time, then every thirty seconds.

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
    """Return the names of the pods that stay although the agent asked to evict them."""
    restart, pods = world.record.operator.restart, world.observed.pods
    if restart is None or pods is None or restart.asked_at == world.now:
        return ()
    return tuple(pod.name for pod in pods if pod.uid in restart.asked and not pod.leaving)


def left_to_restart(world: World) -> int | None:
    """Return how many pods are older than the restart that has begun; None where the pods are not known."""
    restart, pods = world.record.operator.restart, world.observed.pods
    if restart is None or pods is None:
        return None
    return sum(is_old(restart, pod) and not pod.leaving for pod in pods)


def restart_story(world: World, restart: Restart) -> str:
    """Return how far a restart that has begun is, in a sentence."""
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
        """Return the pods of a version; none where it has no ReplicaSet of ours."""
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
    """Return whether a pod is ready."""
    return pod.ready_since is not None


def is_up(world: World, pod: PodView) -> bool:
    """Return whether a pod has been ready for ``minReadySeconds``."""
    ready_for = timedelta(seconds=world.spec.min_ready_seconds)
    return pod.ready_since is not None and world.now >= pod.ready_since + ready_for


def is_old(restart: Restart, pod: PodView) -> bool:
    """Return whether a pod is to be restarted. A replacement never is, however far our clock is ahead."""
    return pod.created_at < restart.at and (restart.youngest is None or pod.created_at <= restart.youngest)


def may_go_on(world: World) -> bool:
    """Return whether pods may be evicted now: traffic is not moving, and the app is not frozen."""
    return not (world.frozen or world.incoming or world.record.routing.switch)

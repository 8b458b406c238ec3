"""How many pods each version should have. One rule for each role; nothing here changes anything."""

from gitops_bg.core.checks.adoption.onboarding import leak_to
from gitops_bg.core.checks.adoption.release import is_released
from gitops_bg.core.checks.adoption.taking_over import pods_of_others
from gitops_bg.core.checks.subject import awaits_confirmation
from gitops_bg.core.checks.versions import live_name
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.version import Stage, Version
from gitops_bg.core.questions import answered_once
from gitops_bg.core.world import World


@answered_once
def wanted_size(world: World, version: Version) -> int:
    """The replicas that a version should have now (DESIGN §4.1, §4.4, §4.5); 0 where live traffic would reach them
    without a promotion. A DaemonSet has none or its own, whose number the cluster says.
    """
    wanted = 0 if is_released(world) or leak_to(world, version) else _wanted(world, version)
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
    """Whether the autoscaler still scales a version that traffic has left: the agent must not scale it as well (I5)."""
    autoscaler = world.record.last_read.autoscaler
    view = world.auxiliary_object(autoscaler.copy) if autoscaler else None
    return view is not None and view.scale_target == live_name(world, version)


def needed_to_switch(world: World, version: Version) -> int:
    """How many pods of a version must be available before traffic may move to it (I1).

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
    """How many pods serve now that a version has to match.

    No more than it wants itself where one of the two is a DaemonSet: it may be for fewer nodes.
    """
    serving = max(world.available(world.record.routing.traffic), pods_of_others(world))
    if version.on_every_node or world.on_every_node(world.record.routing.traffic):
        return min(serving, wanted_size(world, version))
    return serving


def is_scaled_to_zero(world: World) -> bool:
    """Whether the author wants no pods. An autoscaler that is at 0 at present wants pods as soon as there is load."""
    return world.known_size == 0 and world.record.last_read.autoscaler is None


def _live(world: World, digest: str) -> int:
    view = world.replica_set(digest)
    return view.replicas if view else 0

"""How many pods each version is to have. One rule a role; nothing here changes anything."""

from gitops_bg.core.hooks.confirmation import awaits_confirmation
from gitops_bg.core.model import Stage, Version
from gitops_bg.core.record import Lane
from gitops_bg.core.world import World


def wanted_size(world: World, version: Version) -> int:
    """The replicas a version is to have now (DESIGN §4.1, §4.4, §4.5)."""
    full, live = world.full_size, _live(world, version.digest)
    if version.digest == world.record.traffic:
        return full
    held_back = not version.was_active and awaits_confirmation(world, version)
    if version.digest == world.goal and not held_back:
        return max(full, _live(world, world.record.traffic))
    if version.stage is Stage.ARCHIVED:
        return 0
    if version.was_active:
        return _to_go_back_to(world, full, live)
    if version.retiring or held_back:
        return live
    preview = world.spec.strategy.preview_replica_count
    return full if preview is None or world.record.in_full == version.digest else max(preview, min(live, full))


def _to_go_back_to(world: World, full: int, live: int) -> int:
    """Full; and as long as live traffic has more pods than that, it does not shrink below them.

    A smaller ``replicas`` so reaches live traffic first, and a rollback never waits for pods to come back (I6).
    """
    return max(full, min(live, _live(world, world.record.traffic)))


def needed_to_switch(world: World) -> int:
    """How many pods must be available before traffic may move to them (I1).

    Forward: all of them, and no fewer than serve now. Back: as many as serve now, and at least one.
    """
    serving = world.available(world.record.traffic) if world.record.traffic else 0
    full = world.full_size
    if world.lane is Lane.ROLLBACK:
        return max(min(1, full), serving)
    return max(full, serving)


def _live(world: World, digest: str) -> int:
    view = world.replica_set(digest)
    return view.replicas if view else 0

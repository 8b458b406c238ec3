"""How long versions that are no longer wanted stay warm, and when they are archived.

The record keeps when a version was retired; the deadline follows from that and the present spec
(`checks.versions.warm_until`). Never touches a version that traffic goes to, or may go to (I2).
"""

from dataclasses import replace

from gitops_bg.core.checks.pods.draining import may_still_serve
from gitops_bg.core.checks.pods.scheduling import waits_for_room
from gitops_bg.core.checks.versions import is_live, warm_until
from gitops_bg.core.model.stages import StageEvent, stage_after
from gitops_bg.core.model.version import Retirement, Version
from gitops_bg.core.world import World


def retire(world: World, version: Version, *, aborted: bool = False) -> Version:
    """Return ``version`` as no longer wanted: warm for the delay of its retirement, then archived."""
    return replace(version, retirement=Retirement(world.now, aborted), waiting_since=None)


def archive(world: World) -> World:
    """Archive versions whose delay is over, at 0 pods. Up to the limit they keep their delay: what one would go back to
    before what never served, the newest first. What never served makes room at once for what waits for it.
    """
    if world.suspended:
        return world
    back = world.rollback_target
    retiring = sorted(
        (version for version in world.record.versions if version.retiring),
        key=lambda version: (version == back, version.was_active, version.arrived, version.number),
        reverse=True,
    )
    limit = world.spec.strategy.scale_down_delay_revision_limit
    warm = retiring if limit is None else retiring[:limit]
    needed, crowded = _on_call(world), waits_for_room(world)
    for version in retiring:
        until = warm_until(world.record, world.spec.strategy, version)
        late = until is not None and until <= world.now
        in_the_way = crowded and not version.was_active
        if version.digest != needed and (version not in warm or late or in_the_way):
            world = _archive(world, version)
    return world


def _on_call(world: World) -> str:
    """The digest to keep for a rollback, while the version on probation fails (``stabilization``); or empty."""
    stabilization = world.active.stabilization if world.active else None
    good = world.rollback_target if stabilization and stabilization.unready else None
    return good.digest if good else ""


def _archive(world: World, version: Version) -> World:
    if is_live(world, version.digest) or world.record.keeps_warm(version.digest) or may_still_serve(world, version):
        return world
    archived = replace(
        version,
        stage=stage_after(version.stage, StageEvent.EXPIRED),
        retirement=None,
        available_since=None,
        waiting_since=None,
    )
    return world.with_version(archived)

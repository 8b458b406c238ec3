"""The part of a step that watches a promoted version until it is proven: pods that fail after the switch are a failure.

From its promotion until it has served for ``progressDeadlineSeconds`` without a break, a version is on probation. Where
it has fewer available pods than at its switch, for that long, traffic goes back by itself (`verdicts.triggers`):
override, commit, hold (DESIGN §4.5), even while another version waits to take over. After the probation it never does:
an old version does not cure an outage months later.
"""

from dataclasses import replace

from gitops_bg.core.checks.pods.stabilization import is_watched, stabilization_ends
from gitops_bg.core.model.version import Stabilization
from gitops_bg.core.world import World


def watch_active(world: World) -> World:
    """Note since when the active version on probation has its pods, or lacks some; end the probation of a proven
    one.
    """
    active = world.active
    if active is None or active.stabilization is None or not is_watched(world, active):
        return world
    stabilization = active.stabilization
    is_unready = world.available(active.digest) < min(stabilization.pods, world.full_size)
    if is_unready is not stabilization.unready:
        changed = Stabilization(stabilization.pods, world.now, is_unready)
        return world.with_version(replace(active, stabilization=changed))
    is_proven = not is_unready and world.now >= stabilization_ends(world, stabilization)
    return world.with_version(replace(active, stabilization=None)) if is_proven else world

"""When time alone changes the decision: the earliest end of any wait."""

from collections.abc import Iterator
from datetime import datetime

from gitops_bg.core.availability import is_coming, progress_deadline
from gitops_bg.core.gates import gates_to_show
from gitops_bg.core.world import World


def wake_at(world: World) -> datetime | None:
    """The next moment, after ``now``, at which to decide again; None where only an event can change anything."""
    return min((moment for moment in _moments(world) if moment > world.now), default=None)


def _moments(world: World) -> Iterator[datetime]:
    if world.spec.suspend and world.spec.suspend.until:
        yield world.spec.suspend.until
    if world.suspended:
        return
    yield from (gate.until for gate in gates_to_show(world) if gate.until)
    for version in world.record.versions:
        if version.scale_down_at:
            yield version.scale_down_at
        deadline = progress_deadline(world, version)
        if deadline and not version.failure and is_coming(world, version):
            yield deadline

"""Services that carried live traffic until app.yaml named others: followed for a while, then said. Writes nothing.

Clients still come through the old name. So it moves with live traffic as long as its manifest is in Git, and for a
whole ``scaleDownDelaySeconds`` after it left. The agent does not delete it.
"""

from dataclasses import replace

from gitops_bg.core.model.record import FormerService
from gitops_bg.core.world import World


def note_former_services(world: World) -> World:
    """Remember each Service of ours that Git names no longer, since when, until it is gone or named again."""
    record, views = world.record, world.observed.former_services
    if not (views or record.routing.former_services):
        return world
    known = {each.name: each for each in record.routing.former_services}
    strategy = world.spec.strategy
    named = {*strategy.active_services, strategy.preview_service}
    there = sorted(view.name for view in views if view.ours and view.name not in named)
    former = tuple(_dated(world, known.get(name, FormerService(name))) for name in there)
    return (
        world
        if former == record.routing.former_services
        else world.with_part(replace(record.routing, former_services=former))
    )


def _dated(world: World, former: FormerService) -> FormerService:
    """Where the folder cannot be read whole, nothing leaves it."""
    if any(each.service == former.name for each in world.desired.ports):
        return replace(former, left_at=None)
    if former.left_at or not world.desired.whole:
        return former
    return replace(former, left_at=world.now)

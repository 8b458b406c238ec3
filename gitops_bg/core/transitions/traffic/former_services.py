"""Services that carried live traffic until app.yaml named others: they follow for a while, then are reported.

Clients still use the old name. So such a Service moves with live traffic as long as its manifest is in Git, or those
that ``app.yaml`` names instead carry none, and for a whole ``scaleDownDelaySeconds`` afterwards. The agent does not
delete it. Writes nothing.
"""

from dataclasses import replace

from gitops_bg.core.checks.draining import without_traffic
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.observed import ServiceView
from gitops_bg.core.model.record import FormerService
from gitops_bg.core.world import World


def note_former_services(world: World) -> World:
    """Record each Service of ours that Git no longer names, and since when, until it is deleted or named again."""
    record, views = world.record, world.observed.former_services
    if not (views or record.routing.former_services):
        return world
    known = {each.name: each for each in record.routing.former_services}
    strategy = world.spec.strategy
    named = {*strategy.active_services, strategy.preview_service}
    there = sorted((view for view in views if view.ours and view.name not in named), key=lambda view: view.name)
    former = tuple(_dated(world, known.get(view.name, FormerService(view.name)), view) for view in there)
    return (
        world
        if former == record.routing.former_services
        else world.with_part(replace(record.routing, former_services=former))
    )


def _dated(world: World, former: FormerService, view: ServiceView) -> FormerService:
    """Set since when a Service only has to be followed for a while: it has left Git, and its successors carry traffic.
    Where the folder cannot be read whole, nothing has left it.
    """
    if any(each.service == former.name for each in world.desired.ports):
        return replace(former, left_at=None)
    waits = bool(without_traffic(world))
    if former.left_at:
        still_carries = waits and view.digest == short(world.record.routing.traffic)
        return replace(former, left_at=None) if still_carries else former
    return former if waits or not world.desired.whole else replace(former, left_at=world.now)

"""Services that carried live traffic until app.yaml named others: they follow for a while, then are reported.

Clients still use the old name. So such a Service moves with live traffic as long as its manifest is in Git, or those
that ``app.yaml`` names instead carry none, and for a whole ``scaleDownDelaySeconds`` afterwards: also one that
``app.yaml`` names for the preview now, which shows no candidate before. A former preview Service carried nothing, and
is only reported. The agent deletes none. Writes nothing.
"""

from dataclasses import replace

from gitops_bg.core.checks.pods.draining import without_traffic
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.observed import ServiceView
from gitops_bg.core.model.record import FormerService
from gitops_bg.core.world import World


def note_former_services(world: World) -> World:
    """Record each Service of ours that Git no longer names, and since when, until it is deleted or named again; of one
    that is to show the preview, until it has followed long enough.
    """
    record, views = world.record, world.observed.former_services
    if not (views or record.routing.former_services):
        return world
    known = {each.name: each for each in record.routing.former_services}
    strategy = world.spec.strategy
    active = strategy.active_services
    there = sorted((view for view in views if view.ours and view.name not in active), key=lambda view: view.name)
    noted = (_dated(world, known.get(view.name, _begun(world, view)), view) for view in there)
    former = tuple(each for each in noted if each.name != strategy.preview_service or world.follows(each))
    return (
        world
        if former == record.routing.former_services
        else world.with_part(replace(record.routing, former_services=former))
    )


def _begun(world: World, view: ServiceView) -> FormerService:
    is_preview = view.name == world.observed.former_preview
    return FormerService(view.name, world.now if is_preview else None, preview=is_preview)


def _dated(world: World, former: FormerService, view: ServiceView) -> FormerService:
    """Set since when a Service only has to be followed for a while: it has left Git, and its successors carry traffic.
    Where the folder cannot be read whole, nothing has left it.
    """
    if former.preview:
        return former
    is_preview = former.name == world.spec.strategy.preview_service
    if not is_preview and any(each.service == former.name for each in world.desired.ports):
        return replace(former, left_at=None)
    waits = bool(without_traffic(world))
    if former.left_at:
        still_carries = waits and view.digest == short(world.record.routing.traffic)
        return replace(former, left_at=None) if still_carries else former
    return former if waits or not world.desired.whole else replace(former, left_at=world.now)

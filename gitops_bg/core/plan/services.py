"""Actions on Services: the one switch of live traffic, the preview, and repairs of what somebody else changed."""

from collections.abc import Iterator

from gitops_bg.core.checks.ports import ports_of
from gitops_bg.core.checks.sizes import needed_to_switch
from gitops_bg.core.model.actions import ApplyService, ClusterAction, MarkService, PointPreview, Role, SwitchTraffic
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.observed import ServiceView
from gitops_bg.core.model.record import Switch
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World


def switch_traffic(world: World) -> tuple[SwitchTraffic, ...]:
    """One write for each active Service, once it is decided; its pods are there, so it waits for no other write.

    None for one that is there already; none at all where one of them is not ours: all move, or none.
    """
    decided = world.record.routing.switch
    return _switch_all(world, decided) if decided and not decided.withdrawn else ()


def mark_services(world: World) -> tuple[MarkService, ...]:
    """A switch that was withdrawn may still be on its way, in a process that stands still: it finds another Service.

    While it is being withdrawn whatever the Services show; later not where they are to be repaired first, nor while
    another switch is decided, which changes them itself.
    """
    wanted, decided, live = world.record.withdrawn, world.record.routing.switch, short(world.record.routing.traffic)
    if not wanted or (decided and not decided.withdrawn) or not (decided or live):
        return ()
    there = ((name, view) for name, view in world.active_services if view and view.ours)
    return tuple(
        MarkService(name, view.selector, wanted)
        for name, view in there
        if view.withdrawn != wanted and (decided or view.digest == live)
    )


def reconcile_services(world: World) -> tuple[ClusterAction, ...]:
    """The writes that keep the Services where the record says."""
    active = () if world.record.routing.switch else _keep_active(world)
    return (*active, *_keep_preview(world))


def _switch_all(world: World, switch: Switch) -> tuple[SwitchTraffic, ...]:
    version, services = world.record.version(switch.to_digest), world.active_services
    if version is None or any(view is not None and not view.ours for _, view in services):
        return ()
    there = short(switch.to_digest)
    return tuple(
        _switch(world, switch, version, name, view) for name, view in services if view is None or view.digest != there
    )


def _switch(world: World, switch: Switch, version: Version, name: str, service: ServiceView | None) -> SwitchTraffic:
    origin = world.record.version(switch.from_digest)
    return SwitchTraffic(
        name=name,
        expected_selector=service.selector if service else (),
        from_number=origin.number if origin else None,
        from_digest=switch.from_digest,
        number=version.number,
        digest=version.digest,
        switch_kind=switch.switch_kind,
        needs_available=needed_to_switch(world),
        create=service is None,
        several=len(world.active_services) > 1,
        ports=ports_of(world, version, name),
    )


def _keep_active(world: World) -> tuple[ClusterAction, ...]:
    """A foreign change of the live Service is repaired, never read as a decision (I7)."""
    if not world.record.routing.traffic:
        return ()
    services = _left_half_way(world) if world.suspended else world.active_services
    kept = (_keep(world, Role.ACTIVE, name, view, world.record.routing.traffic) for name, view in services)
    return tuple(action for actions in kept for action in actions)


def _left_half_way(world: World) -> Iterator[tuple[str, ServiceView | None]]:
    """Of several Services, those that had moved when their switch was given up: back, as a suspension allows."""
    live = short(world.record.routing.traffic)
    for name, view in world.active_services if world.is_selected(world.record.routing.traffic) else ():
        if view is not None and view.digest not in ("", live):
            yield name, view


def _keep_preview(world: World) -> tuple[ClusterAction, ...]:
    name, service, digest = (
        world.spec.strategy.preview_service,
        world.observed.preview_service,
        world.record.routing.preview,
    )
    if name is None or not digest or world.suspended:
        return ()
    moved = service is not None and service.digest not in ("", short(digest))
    if service and moved and service.ours and not service.drifted:
        return (PointPreview(name, service.selector, digest, _ports(world, name, digest)),)
    return _keep(world, Role.PREVIEW, name, service, digest)


def _keep(world: World, role: str, name: str, service: ServiceView | None, digest: str) -> tuple[ClusterAction, ...]:
    why = _why_applied(service, digest)
    return (ApplyService(role, name, digest, why, _ports(world, name, digest)),) if why else ()


def _why_applied(service: ServiceView | None, digest: str) -> str:
    """Why a Service is to be written, or empty."""
    if service is None:
        return "it does not exist"
    if not service.ours:
        return ""
    if service.digest != short(digest):
        return "somebody changed its selector"
    return "it differs from what Git asks for" if service.drifted else ""


def _ports(world: World, name: str, digest: str) -> str:
    version = world.record.version(digest)
    return ports_of(world, version, name) if version else ""

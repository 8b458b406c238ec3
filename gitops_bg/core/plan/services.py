"""Actions on Services: the one switch of live traffic, the preview, and repairs of foreign changes."""

from collections.abc import Iterable, Iterator

from gitops_bg.core.checks.adoption.release import is_released, moves_no_more
from gitops_bg.core.checks.adoption.taking_over import is_former_preview, may_take_over
from gitops_bg.core.checks.contests import SERVICE, may_recreate, may_repair
from gitops_bg.core.checks.ports import ports_of
from gitops_bg.core.checks.sizes import needed_to_switch
from gitops_bg.core.model.actions import ApplyService, ClusterAction, MarkService, PointPreview, Role, SwitchTraffic
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.observed import ServiceView
from gitops_bg.core.model.record import Switch, SwitchKind
from gitops_bg.core.model.version import Version
from gitops_bg.core.plan.app_route import must_unname
from gitops_bg.core.world import World


def switch_traffic(world: World) -> tuple[SwitchTraffic, ...]:
    """The writes of a decided switch, one for each active Service.

    They wait for no other write, because the pods are up. No write for a Service that has already moved.

    Forward, all move or none: none where one of them is not ours. Back, each of ours moves by itself, and those that
    exist before those that are to be made: what cannot move holds up no way back of the others (I6).
    """
    decided = world.record.routing.switch
    if decided is None or decided.withdrawn:
        return ()
    services = _free_to_move(world) if decided.switch_kind is SwitchKind.ROLLBACK else _all_or_none(world)
    return tuple(_switches(world, decided, services))


def mark_services(world: World) -> tuple[MarkService, ...]:
    """Mark the active Services after a withdrawn switch, so that a write of it from a process that stood still fails.

    While the switch is being withdrawn, the mark is written whatever the Services show. Afterwards it is not written to
    Services that need repair first, nor while another switch is decided, which changes them itself.
    """
    wanted, decided, live = world.record.withdrawn, world.record.routing.switch, short(world.record.routing.traffic)
    if not wanted or (decided and not decided.withdrawn) or not (decided or live):
        return ()
    there = (
        (name, view)
        for name, view in world.active_services
        if view and _may_move(world, view) and may_repair(world, SERVICE, name)
    )
    return tuple(
        MarkService(name, view.selector, wanted, adopts=not view.ours)
        for name, view in there
        if view.withdrawn != wanted and (decided or view.digest == live)
    )


def keep_active(world: World) -> tuple[ClusterAction, ...]:
    """Repair a foreign change of a live Service; such a change is never read as a decision (I7).

    A released app has no pods to lead to, and keeps nothing.
    """
    if is_released(world):
        return ()
    if not world.record.routing.traffic or world.record.routing.switch:
        return ()
    services = _left_half_way(world) if world.suspended else world.active_services
    kept = (_keep(world, Role.ACTIVE, name, view, world.record.routing.traffic) for name, view in services)
    return tuple(action for actions in kept for action in actions)


def keep_preview(world: World) -> tuple[ClusterAction, ...]:
    """The write that keeps the preview Service as the record says."""
    name, service, digest = (
        world.spec.strategy.preview_service,
        world.observed.preview_service,
        world.record.routing.preview,
    )
    if name is None or not digest or world.suspended:
        return ()
    if service is not None and is_former_preview(world, service):
        return (PointPreview(name, service.selector, digest, _ports(world, name, digest), adopts=True),)
    if service is not None and service.ours and service.digest not in ("", short(digest)):
        if must_unname(world) or not may_repair(world, SERVICE, name):
            return ()
        if not service.drifted:
            return (PointPreview(name, service.selector, digest, _ports(world, name, digest)),)
    return _keep(world, Role.PREVIEW, name, service, digest)


def _all_or_none(world: World) -> tuple[tuple[str, ServiceView | None], ...]:
    services = world.active_services
    return services if all(view is None or _may_move(world, view) for _, view in services) else ()


def _free_to_move(world: World) -> list[tuple[str, ServiceView | None]]:
    free = [(name, view) for name, view in world.active_services if view is None or _may_move(world, view)]
    return sorted(free, key=lambda each: each[1] is None)


def _switches(
    world: World, switch: Switch, services: Iterable[tuple[str, ServiceView | None]]
) -> Iterator[SwitchTraffic]:
    version, there = world.record.version(switch.to_digest), short(switch.to_digest)
    if version is None:
        return
    for name, view in services:
        if (view is None or view.digest != there) and _is_due(world, name, view):
            yield _switch(world, switch, version, name, view)


def _may_move(world: World, view: ServiceView) -> bool:
    """Whether a switch may write to a Service: it is ours, or the app's file agrees to take it over."""
    return view.ours or may_take_over(world, view)


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
        needs_available=needed_to_switch(world, version),
        create=service is None,
        adopts=service is not None and not service.ours,
        several=len(world.active_services) > 1,
        ports=ports_of(world, version, name),
    )


def _left_half_way(world: World) -> Iterator[tuple[str, ServiceView | None]]:
    """The Services that had moved when their switch of several Services was given up: they move back, as a suspension
    allows.
    """
    live = short(world.record.routing.traffic)
    for name, view in world.active_services if world.is_selected(world.record.routing.traffic) else ():
        if view is not None and view.digest not in ("", live):
            yield name, view


def _keep(world: World, role: str, name: str, service: ServiceView | None, digest: str) -> tuple[ClusterAction, ...]:
    why = _why_applied(service, digest)
    if not _is_due(world, name, service):
        return ()
    return (ApplyService(role, name, digest, why, _ports(world, name, digest)),) if why else ()


def _is_due(world: World, name: str, service: ServiceView | None) -> bool:
    """Whether a Service may be written now. One that is gone is made anew only while live traffic is to stay here: else
    whoever it goes to is about to make it.
    """
    if service is None:
        goes_away = moves_no_more(world) or world.record.moved_at is not None
        return not goes_away and may_recreate(world, SERVICE, name)
    return may_repair(world, SERVICE, name)


def _why_applied(service: ServiceView | None, digest: str) -> str:
    """Why a Service must be written, or empty."""
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

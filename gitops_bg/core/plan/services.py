"""Actions on Services: the one switch of live traffic, the preview, and repairs of foreign changes.

With them the writes on what an app was adopted from: its Deployment goes down, once, as the app's file says; and on the
way back it grows, then each Service gets back what it had.
"""

from collections.abc import Iterable, Iterator

from gitops_bg.core.checks.adoption import (
    deployment_size,
    deployment_to_return_to,
    is_former_preview,
    is_released,
    is_releasing,
    may_take_over,
    moves_no_more,
    never_released,
    pods_needed,
    services_to_hand_back,
    still_missing,
)
from gitops_bg.core.checks.ports import ports_of, unservable
from gitops_bg.core.checks.sizes import needed_to_switch
from gitops_bg.core.checks.versions import SERVICE, repair_is_due
from gitops_bg.core.model.actions import (
    ApplyService,
    ClusterAction,
    HandBack,
    MarkService,
    PointPreview,
    RepairSelector,
    ScaleDeployment,
    ServiceRole,
    SwitchTraffic,
)
from gitops_bg.core.model.observed import ServiceView
from gitops_bg.core.model.record import Switch, SwitchKind
from gitops_bg.core.model.version import Version, short
from gitops_bg.core.plan.auxiliary import leads_astray, must_unname
from gitops_bg.core.world import World


def scale_deployment(world: World) -> tuple[ScaleDeployment, ...]:
    """Scale the adopted Deployment down; never while a switch is under way (I2)."""
    view, size = world.observed.deployment, deployment_size(world)
    if view is None or size is None or size >= view.replicas or world.record.routing.switch:
        return ()
    return (ScaleDeployment(view.name, view.replicas, size, "live traffic was taken over from its pods"),)


def release(world: World) -> tuple[ScaleDeployment | HandBack, ...]:
    """Return what is due now; nothing while something is in the way that no waiting mends."""
    if not is_releasing(world) or never_released(world):
        return ()
    view, needed = deployment_to_return_to(world), pods_needed(world)
    if view is not None and view.replicas < needed:  # Also once it is handed back, until its pods are behind it.
        return (ScaleDeployment(view.name, view.replicas, needed, "live traffic is to go back to its pods"),)
    if still_missing(world):
        return ()
    return tuple(HandBack(each.name, each.selector, each.before) for each in services_to_hand_back(world))


def switch_traffic(world: World) -> tuple[SwitchTraffic, ...]:
    """Return the writes of a decided switch, one for each active Service.

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
        if view and _may_move(world, view) and repair_is_due(world, SERVICE, name)
    )
    return tuple(
        MarkService(name, view.selector, wanted, adopts=not view.ours)
        for name, view in there
        if view.withdrawn != wanted and (decided or view.digest == live)
    )


def keep_active(world: World) -> tuple[ClusterAction, ...]:
    """Repair a foreign change of a live Service; such a change is never read as a decision (I7).

    Where each leads comes first, in a write of its own: what else Git says of a Service may be refused. A released app
    has no pods to lead to, and keeps nothing.
    """
    if is_released(world) or not world.record.routing.traffic:
        return ()
    back = tuple(_repair(world, name, view) for name, view in _astray(world))
    return back if world.suspended or world.record.routing.switch else (*back, *_kept(world))


def keep_preview(world: World) -> tuple[ClusterAction, ...]:
    """Return the write that keeps the preview Service as the record says; none while it still moves with live
    traffic.
    """
    name, service, digest = (
        world.spec.strategy.preview_service,
        world.observed.preview_service,
        world.record.routing.preview,
    )
    if name is None or not digest or world.suspended or world.is_followed(name):
        return ()
    if service is not None and is_former_preview(world, service):
        return (PointPreview(name, service.selector, digest, _ports(world, name, digest), adopts=True),)
    elsewhere = service if service and service.ours and service.digest != short(digest) else None
    if (elsewhere and elsewhere.digest and must_unname(world)) or leads_astray(world):
        return ()
    return (*_point(world, elsewhere, digest), *_keep(world, ServiceRole.PREVIEW, name, service, digest))


def _point(world: World, elsewhere: ServiceView | None, digest: str) -> tuple[PointPreview, ...]:
    if elsewhere is None or not repair_is_due(world, SERVICE, elsewhere.name):
        return ()
    ports = _ports(world, elsewhere.name, digest)
    return (PointPreview(elsewhere.name, elsewhere.selector, digest, ports),)


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
    """Return whether a switch may write to a Service: it is ours, or the app's file agrees to take it over."""
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
        from_tag=origin.tag if origin else "",
        tag=version.tag,
    )


def _astray(world: World) -> Iterator[tuple[str, ServiceView]]:
    """Yield the active Services of ours that lead elsewhere, and are to be led back now."""
    routing = world.record.routing
    for name, view in world.active_services:
        if view is None or not view.ours or view.digest == short(routing.traffic):
            continue
        if _may_lead_back(world, view) and repair_is_due(world, SERVICE, name):
            yield name, view


def _may_lead_back(world: World, view: ServiceView) -> bool:
    """Return whether a Service may be led back: not while a switch is decided, which changes it itself.

    One that is withdrawn can still come true, but not at a Service with its mark, which refuses its writes for good:
    that one waits for no other. While the app is suspended, only what moved half-way goes back.
    """
    routing = world.record.routing
    if routing.switch is not None and not (
        routing.switch.withdrawn and view.withdrawn == world.record.withdrawn and _is_withdrawn(world, routing.switch)
    ):
        return False
    return not world.suspended or (view.digest != "" and world.is_selected(routing.traffic))


def _is_withdrawn(world: World, switch: Switch) -> bool:
    """Return whether live traffic is to stay at what a withdrawn switch was to leave: not where what comes instead is
    another switch to the same version, nor where that was to be left for being bad.
    """
    if switch.switch_kind is SwitchKind.ROLLBACK:
        return world.desired_digest == switch.from_digest
    return world.desired_digest != switch.to_digest


def _repair(world: World, name: str, view: ServiceView) -> RepairSelector:
    digest = world.record.routing.traffic
    why = "its switch is withdrawn" if world.record.routing.switch else "somebody changed its selector"
    return RepairSelector(name, view.selector, digest, why, _ports_to_follow(world, name, view))


def _ports_to_follow(world: World, name: str, view: ServiceView) -> str:
    """Return the ports that go with the selector: none where the live version serves those that are there, because the
    API server may refuse what Git says by now.
    """
    active = world.active
    if active is None or not unservable(world.snapshot(active).text, view.ports):
        return ""
    return ports_of(world, active, name)


def _kept(world: World) -> Iterator[ClusterAction]:
    for name, view in world.active_services:
        yield from _keep(world, ServiceRole.ACTIVE, name, view, world.record.routing.traffic)


def _keep(world: World, role: str, name: str, service: ServiceView | None, digest: str) -> tuple[ApplyService, ...]:
    """Create a Service, or repair what else Git says of it than where it leads."""
    why = "it does not exist" if service is None else _why_applied(service)
    if not why or not _is_due(world, name, service):
        return ()
    return (ApplyService(role, name, digest, why, _ports(world, name, digest), create=service is None),)


def _is_due(world: World, name: str, service: ServiceView | None) -> bool:
    """Return whether a Service may be written now. One that is gone is made anew only while live traffic is to stay
    here: else whoever it goes to is about to make it.
    """
    if service is None:
        goes_away = moves_no_more(world) or world.record.moved_at is not None
        return not goes_away and repair_is_due(world, SERVICE, name)
    return repair_is_due(world, SERVICE, name)


def _why_applied(service: ServiceView) -> str:
    return "it differs from what Git asks for" if service.ours and service.drifted else ""


def _ports(world: World, name: str, digest: str) -> str:
    version = world.record.version(digest)
    return ports_of(world, version, name) if version else ""

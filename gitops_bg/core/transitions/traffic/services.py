"""The steps about what Services select: the ports that each version is served with, and the preview's target.

A targetPort that only another version has would leave a Service without endpoints (DESIGN §3, §4.2). So the ports of
live traffic belong to the promoted version: they move with the selector, in one write, and back with it. The preview
shows the newest candidate, once its pods are ready.
"""

from collections.abc import Iterator
from dataclasses import replace

from gitops_bg.core.checks.ports import derived_ports, ports_of, promoted_ports
from gitops_bg.core.checks.subject import has_passed_analysis, has_passed_hooks
from gitops_bg.core.model.hooks import HookType
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.spec import PreviewSwitch
from gitops_bg.core.model.version import ServicePorts, Stage, Version
from gitops_bg.core.world import World


def record_ports(world: World) -> World:
    """Record the ports that each version is served with: a rollback restores them once Git says others."""
    for version in world.record.versions:
        known = _remembered(world, version)
        if known != version.ports:
            world = world.with_version(replace(version, ports=known))
    return world


def _remembered(world: World, version: Version) -> tuple[ServicePorts, ...]:
    if not (
        version.ports or any(each.ports for each in (*world.desired.ports, *promoted_ports(world.desired, version)))
    ):
        return ()
    names = tuple(_routed(world, version))
    if not names and version.was_active and not version.ports:
        names = tuple(name for name, _ in world.active_services)  # It served before any release recorded the ports.
    if not names:
        return version.ports
    derived = derived_ports(world.snapshot(version).text)
    changed = {name: "" if ports == derived else ports for name in names if (ports := ports_of(world, version, name))}
    kept = {each.service: each.ports for each in version.ports} | changed
    return tuple(ServicePorts(name, ports) for name, ports in sorted(kept.items()) if ports)


def _routed(world: World, version: Version) -> Iterator[str]:
    """The Services that the record points to a version, or is about to."""
    record, preview = world.record, world.spec.strategy.preview_service
    coming = record.routing.switch.to_digest if record.routing.switch else ""
    if version.digest in (record.routing.traffic, coming):
        yield from (name for name, _ in world.active_services)
    if preview and version.digest == record.routing.preview:
        yield preview


def choose_preview(world: World) -> World:
    """Point the preview to the ready candidate; until it is ready, and for a held one, keep it; else follow live
    traffic. While nobody knows whether it is a candidate still, it stays, too (decision 17).

    A version that ``primary.yaml`` names keeps the preview until its hooks and analysis have ended, because they use
    it.
    """
    if world.spec.strategy.preview_service is None:
        digest = ""
    elif world.suspended:
        digest = world.record.routing.preview
    else:
        digest = _choice(world)
    return (
        world
        if digest == world.record.routing.preview
        else world.with_part(replace(world.record.routing, preview=digest))
    )


def _choice(world: World) -> str:
    coming = None if world.switch_kind is SwitchKind.ROLLBACK else world.incoming
    judged = coming if coming and not _is_judged(world, coming) else None
    newest = judged or world.candidate or coming
    if newest and _may_show(world, newest):
        return newest.digest
    shown = world.record.version(world.record.routing.preview)
    still_of_use = newest is not None or bool(world.record.held(world.record.routing.preview))
    still_of_use |= shown is not None and shown.stage is Stage.CANDIDATE and not world.knows_target
    if shown and still_of_use and shown.stage is not Stage.ARCHIVED:
        return shown.digest
    return world.record.routing.traffic


def _is_judged(world: World, version: Version) -> bool:
    return has_passed_hooks(world, version, HookType.PRE_ROLLOUT, HookType.ROLLOUT) and has_passed_analysis(
        world, version
    )


def _may_show(world: World, version: Version) -> bool:
    at_once = world.spec.strategy.preview_switch is PreviewSwitch.IMMEDIATE
    return at_once or version.available_since is not None

"""The step that records the ports that each version is served with (DESIGN §3, §4.2).

A targetPort that only another version has would leave a Service without endpoints. So the ports of live traffic belong
to the promoted version: they move with the selector, in one write, and back with it.
"""

from collections.abc import Iterator
from dataclasses import replace

from gitops_bg.core.checks.ports import derived_ports, ports_of, promoted_ports
from gitops_bg.core.model.version import ServicePorts, Version
from gitops_bg.core.world import World


def note_ports(world: World) -> World:
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

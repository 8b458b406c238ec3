"""The notes of `check` on a release group besides its errors. A note is no error: the group is valid with it."""

from collections.abc import Iterator

from gitops_bg.core.groups.inputs import DesiredGroup
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import GroupKey
from gitops_bg.spec.groups.layout import GROUP_FILE, group_folder


def notes_of_group(group: GroupKey, desired: DesiredGroup) -> Iterator[Problem]:
    """The notes on one group; none where it has errors, because the notes could then be wrong."""
    services = [one for each in desired.versions.values() for one in each.services.values()]
    routes = [route for one in services for route in one.routes]
    if desired.spec is None or desired.problems:
        return
    file, gateway = f"{group_folder(group)}/{GROUP_FILE}", desired.spec.gateway
    if gateway is None and routes:
        message = "has no gateway: its routes lead nowhere, and no header reaches a version"
        remedy = "add gateway; without one only the Services follow the active version"
        yield Problem(file, message, field="spec", remedy=remedy)
    hosts = sorted({route.match.host for route in routes if route.match.host})
    if gateway is not None and not gateway.hosts and hosts:
        message = f"names no hosts, so nobody can tell from Git whether the Gateway serves {', '.join(hosts)}"
        yield Problem(file, message, field="spec.hosts", remedy="list the hosts of the Gateway; check --live asks it")


def services_of(desired: DesiredGroup) -> frozenset[str]:
    """The Services that the group itself makes: each service's own name."""
    return frozenset(name for each in desired.versions.values() for name, one in each.services.items() if one.pods)

"""The condition ServicesInGit: whether live Services are as Git says, and which are not. Decides nothing."""

from collections.abc import Iterator

from gitops_bg.core.checks.pods.draining import without_traffic
from gitops_bg.core.checks.ports import ports_of, unservable
from gitops_bg.core.model.actions import label
from gitops_bg.core.model.decision import Condition
from gitops_bg.core.model.record import FormerService
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World


def services_in_git(world: World) -> Condition:
    """The most lasting difference first: Services no longer managed, Services followed for a while, ports that wait for
    a promotion.
    """
    as_in_git = Condition("ServicesInGit", True, "AsInGit", "the Services are as Git says")
    return next(_differences(world), as_in_git)


def _differences(world: World) -> Iterator[Condition]:
    former, active = world.record.last_read.former_services, world.active
    for each in former:
        if not world.follows(each):
            yield Condition("ServicesInGit", False, "NotManaged", _left(world, each))
    for each in former:
        yield Condition("ServicesInGit", False, "Followed", _followed(world, each))
    for name in world.spec.strategy.active_services:
        if active and (waits := _waits(world, active, name)):
            yield Condition("ServicesInGit", False, "PortsWait", waits)


def _left(world: World, former: FormerService) -> str:
    app, name = world.spec.app, world.spec.strategy.preview_service
    if former.preview:
        instead = f"Service {name} shows it" if name else "app.yaml names none"
        return (
            f"Service {former.name} shows the preview no longer ({instead}), and is no longer managed: "
            f"`kubectl delete service -n {app.namespace} {former.name}`, or name it in app.yaml"
        )
    delete = f"kubectl delete service -n {app.namespace} {former.name}"
    return f"Service {former.name} is no longer managed: it stays where it points; `{delete}`, or name it in app.yaml"


def _followed(world: World, former: FormerService) -> str:
    until = world.followed_until(former)
    if until:
        end = f"until {until:%Y-%m-%dT%H:%M:%SZ}"
    elif waits := without_traffic(world):
        end = f"until Service {', '.join(waits)} carries it, and some time longer"
    else:
        end = "as long as its manifest is in Git"
    if former.name == world.spec.strategy.preview_service:
        return f"Service {former.name} carried live traffic: it moves with it {end}, and shows the preview then"
    return f"Service {former.name} is not named by app.yaml any more: it moves with live traffic {end}"


def _waits(world: World, active: Version, service: str) -> str:
    """The ports of Git that the live version does not serve, in a sentence; empty where it serves all of them."""
    said = next((each.ports for each in world.desired.ports if each.service == service and each.ports), "")
    now = ports_of(world, active, service) if said else ""
    if said == now:
        return ""
    missing = unservable(world.snapshot(active).text, said, [now])
    names = ", ".join(str(target) for target, _ in missing)
    shown = label(active.number, active.digest)
    return (
        f"Service {service} keeps its ports: no container of {shown} has the port {names} that Git says"
        if names
        else ""
    )

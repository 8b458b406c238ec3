"""The conditions of an app that is adopted from a live Deployment, or gives live traffic back to it: what was taken
over, and what is missing. Nothing here decides anything.
"""

from collections.abc import Iterator

from gitops_bg.core.checks.adoption.release import (
    at_rest,
    has_arrived,
    is_releasing,
    never_released,
    selecting,
    still_missing,
)
from gitops_bg.core.checks.adoption.taking_over import (
    deployment_size,
    has_stand_ins,
    may_go_at,
    placeholder_labels,
    services_to_take_over,
    watched_deployment,
    why_left_alone,
    why_unproven,
)
from gitops_bg.core.checks.phase import foreign_object, version_name
from gitops_bg.core.checks.pods.sizes import needed_to_switch
from gitops_bg.core.model.conditions import Condition
from gitops_bg.core.model.record import Adopted
from gitops_bg.core.model.spec import Adoption, ScaleDown
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

RELEASED = "Released"


def releasing(world: World) -> Iterator[Condition]:
    """The condition; nothing where nobody asks for it."""
    release = world.release
    if release is None:
        return
    name = f"Deployment {release.deployment}"
    if not is_releasing(world):
        rest = "the app's folder may go" if world.desired.in_git else "what is left of the app goes"
        yield Condition(RELEASED, True, "Released", f"live traffic goes to {name}; {rest}")
    elif never := never_released(world):
        yield Condition(RELEASED, False, "Conflict", "; ".join(never))
    elif missing := still_missing(world):
        yield Condition(RELEASED, False, "WaitingForPods", "; ".join(missing))
    else:
        yield Condition(RELEASED, False, "HandingBack", f"the Services go back to {name}: {_on_its_way(world)}")


def _on_its_way(world: World) -> str:
    """What becomes of live traffic once no Service waits any more."""
    if has_arrived(world):
        return "live traffic is there"
    views = (view for _, view in world.active_services if view is not None)
    others = "; ".join(filter(None, (selecting(world, view, "selects") for view in views)))
    return others or "the endpoints of the Services follow"


ADOPTING = "Adopting"


def adopting(world: World) -> Iterator[Condition]:
    """The condition; nothing where the app's file says nothing of an adoption, or asks to go back."""
    adopt, active = world.spec.adopt, world.active
    if adopt is None or at_rest(world):
        return
    if active is None:
        yield _before(world, adopt)
    elif world.release is None:
        yield _after(world, adopt, active)


def _before(world: World, adopt: Adoption) -> Condition:
    """What is missing until the Services are handed over: everything at once."""
    if missing := foreign_object(world):
        return Condition(ADOPTING, True, "Conflict", missing)
    found = services_to_take_over(world)
    services = ", ".join(view.name for view in found)
    coming = world.record.version(world.desired_digest or world.target_digest)
    if coming is None or not found:
        what = "for a first version" if found else "for its first version: no Service has to be taken over"
        return Condition(ADOPTING, True, "WaitingForPods", f"waiting {what}")
    if world.record.routing.switch is not None:
        return Condition(ADOPTING, True, "HandingOver", f"{services}: live traffic moves to {version_name(coming)}")
    return Condition(ADOPTING, True, "WaitingForPods", _waiting(world, adopt, coming, services))


def _waiting(world: World, adopt: Adoption, coming: Version, services: str) -> str:
    up, needed = world.available(coming.digest), needed_to_switch(world, coming)
    held = ", ".join(f"{key}={value}" for key, value in placeholder_labels(world, coming))
    apart = f"; until then they carry {held}, which no Service of {adopt.source} selects" if held else ""
    return f"{up} of {needed} pods of {version_name(coming)} are available to take over {services}{apart}"


def _gone(adopted: Adopted) -> str:
    if adopted.replicas is not None:
        return f"the pods of Deployment {adopted.deployment} have gone"
    why = f"from Deployment {adopted.deployment} before the record of this app was made anew"
    return f"live traffic was taken over {why}: its pods are left as they are"


def _after(world: World, adopt: Adoption, active: Version) -> Condition:
    adopted = world.record.adopted
    if adopt.app:
        return Condition(ADOPTING, False, "Adopted", f"the Services are taken over from app {adopt.app}")
    if adopted is None:
        return Condition(ADOPTING, False, "Adopted", "nothing was left to take over")
    if adopt.scale_down is ScaleDown.NEVER:
        stay = f"the pods of Deployment {adopted.deployment} get no traffic, and stay (scaleDown: never)"
        return Condition(ADOPTING, False, "Adopted", stay)
    if adopted.left:
        return Condition(ADOPTING, False, "Adopted", _gone(adopted))
    if watched_deployment(world) is None:
        other = f"live traffic was taken over from Deployment {adopted.deployment}, not from {adopt.deployment}"
        return Condition(ADOPTING, True, "OtherDeployment", other)
    return _leaving(world, active)


def _leaving(world: World, active: Version) -> Condition:
    view = world.observed.deployment
    if view is None:
        return Condition(ADOPTING, True, "ScalingDown", "the Deployment is looked at next")
    if why := why_left_alone(world, view):
        reason = "DeploymentUnreadable" if view.trouble else "OtherDeployment"
        return Condition(ADOPTING, True, reason, why)
    waits = "; ".join(_what_keeps_them(world, active))
    size = deployment_size(world)
    if size is None or size >= view.replicas:
        return Condition(ADOPTING, True, "OldPodsStay", f"Deployment {view.name} keeps {view.replicas} pods: {waits}")
    return Condition(ADOPTING, True, "ScalingDown", f"Deployment {view.name}: from {view.replicas} pods to {size}")


def _what_keeps_them(world: World, active: Version) -> Iterator[str]:
    adopt, moment = world.spec.adopt, may_go_at(world)
    if world.suspended:
        yield "the app is suspended"
    if active.routed_at is None:
        yield "the endpoints of the Services are not exactly the new pods yet"
    elif has_stand_ins(world, active):
        yield f"pods of {version_name(active)} do not carry their own labels yet"
    elif moment is None:
        yield "scaleDownDelaySeconds is never"
    elif world.now < moment:
        yield f"until {moment:%Y-%m-%dT%H:%M:%SZ}"
    if adopt is not None and adopt.scale_down is ScaleDown.ON_SUCCESS and (why := why_unproven(world, active)):
        yield why

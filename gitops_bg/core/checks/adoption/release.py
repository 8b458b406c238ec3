"""The way back of an adopted app: what is still missing until the Deployment serves again, and what then goes.

``spec.release`` asks for it. The order is that of the adoption, mirrored: the Deployment has as many available pods as
serve, our pods carry stand-ins so that the former selectors do not select them, each Service gets back what it had in
one write, the endpoints show the Deployment's pods, and only then ours go (docs/decisions/0065). A former selector may
match pods of another app, such as the one that this one was before: no Service goes back while it does (0070). Nothing
here decides.
"""

from gitops_bg.core import names
from gitops_bg.core.checks.adoption.taking_over import placeholder_labels
from gitops_bg.core.model.observed import DeploymentView, ServiceView
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.world import World


def is_releasing(world: World) -> bool:
    """Whether live traffic still goes to the app, and is to go back to the Deployment; a suspension does not stop it.

    A switch under way comes first: the Services move as a whole.
    """
    return world.release is not None and not world.record.released and _has_traffic(world)


def is_released(world: World) -> bool:
    """Whether the app is to have no pods and no traffic: it was released, or never began."""
    return world.release is not None and (world.record.released or not _has_traffic(world))


def _has_traffic(world: World) -> bool:
    """Whether live traffic is the app's, as the record says, or in part, as Services of ours show: a first switch of
    several Services may have ended half-way, and a record may be lost.
    """
    ours = (view for _, view in world.active_services if view is not None and view.ours)
    return bool(world.record.routing.traffic) or any(view.digest or view.before for view in ours)


def at_rest(world: World) -> str:
    """Where live traffic of a released app goes, in a sentence; empty where it is none."""
    release = world.release
    return (
        f"it was released: live traffic goes to Deployment {release.deployment}"
        if release and is_released(world)
        else ""
    )


def moves_no_more(world: World) -> bool:
    """Whether no version may get live traffic any more: a Service is handed back, and the others follow it."""
    return is_released(world) or (
        is_releasing(world) and any(is_handed_back(view) for _, view in world.active_services)
    )


def is_handed_back(view: ServiceView | None) -> bool:
    """Whether a Service is somebody's else again, and selects no version of ours."""
    return view is not None and view.unclaimed and bool(view.selector) and not view.digest


def services_to_hand_back(world: World) -> tuple[ServiceView, ...]:
    """The active Services that are still ours and remember what they selected."""
    views = (view for _, view in world.active_services)
    return tuple(view for view in views if view is not None and view.ours and view.before)


def deployment_to_return_to(world: World) -> DeploymentView | None:
    """The Deployment that live traffic goes back to, as it was looked at; None where it was not. A look at another one
    says nothing about it.
    """
    release, view = world.release, world.observed.deployment
    return view if release is not None and view is not None and view.name == release.deployment else None


def pods_needed(world: World) -> int:
    """How many pods of the Deployment must be available: as many as serve now (I1), and no fewer than are wanted."""
    serving = world.replica_set(world.record.routing.traffic)
    return max(1, world.available(world.record.routing.traffic), serving.replicas if serving else 0)


def never_released(world: World) -> tuple[str, ...]:
    """Everything that no waiting mends."""
    if world.release is None:
        return ()
    missing = [f"Service {name} does not exist" for name, view_ in world.active_services if view_ is None]
    missing += [
        f"Service {each.name} was not taken over: nobody knows what it would select"
        for _, each in world.active_services
        if each is not None and each.ours and not each.before
    ]
    missing += [each.owner for _, each in world.active_services if each is not None and _is_of_others(each)]
    return (*missing, *_about(world, deployment_to_return_to(world)))


def _is_of_others(view: ServiceView) -> bool:
    return not view.ours and not is_handed_back(view)


def _about(world: World, view: DeploymentView | None) -> tuple[str, ...]:
    if view is None:
        return ()
    if view.trouble:
        return (view.trouble,)
    if view.gone:
        size = ", at 0 replicas" if services_to_hand_back(world) else ""
        return (f"Deployment {view.name} does not exist: apply it again{size}",)
    if view.controller:
        return (f"Deployment {view.name} is controlled by {view.controller}, which decides its size",)
    others = [each.name for each in services_to_hand_back(world) if not set(each.before) <= set(view.labels)]
    return tuple(
        f"Service {name} did not select the pods of Deployment {view.name} before it was handed over" for name in others
    )


def still_missing(world: World) -> tuple[str, ...]:
    """What must come true before the Services are handed back; empty where nothing is missing."""
    view, needed = deployment_to_return_to(world), pods_needed(world)
    if _moves(world):
        return ("live traffic moves between versions",)
    if never := never_released(world):
        return never
    if view is None:
        return (_deployment_unread(world),)
    missing = [f"{view.available} of {needed} pods of Deployment {view.name} are available"]
    missing = missing if view.available < needed else []
    if without := versions_without_stand_ins(world):
        missing.append(f"pods of {', '.join(without)} do not carry their stand-in labels yet")
    missing += filter(None, (_who_else(world, each) for each in services_to_hand_back(world)))
    return tuple(missing)


def _moves(world: World) -> bool:
    """Whether live traffic moves between versions, or is about to: not where that waits for somebody, as it does in a
    suspended app, and where the pods are late. A release is a way back.
    """
    if world.record.routing.switch is not None or world.incoming is None:
        return world.record.routing.switch is not None
    waits = world.suspended or bool(world.incoming.failure)
    return bool(world.record.routing.traffic) and not (waits and world.switch_kind is SwitchKind.PROMOTION)


def _deployment_unread(world: World) -> str:
    """Why the Deployment was not looked at. Files with a mistake do not say which one, and begin nothing."""
    if not world.desired.problems:
        return "the Deployment is looked at next"
    return "the app's files have a mistake (InvalidSpec), and nothing begins before it is mended"


def _who_else(world: World, view: ServiceView) -> str:
    """Why a Service must not get its selector back: it would select pods of an app, or nobody knows; empty for none."""
    if view.selected is None:
        return f"the pods that Service {view.name} would select are looked at next"
    if view.selected.trouble:
        return f"the pods that Service {view.name} would select are unknown: {view.selected.trouble}"
    return selecting(world, view, "would select")


def selecting(world: World, view: ServiceView, does: str) -> str:
    """The apps whose pods a Service selects, or would, in a sentence; empty where there is none."""
    if view.selected is None or not view.selected.apps:
        return ""
    apps, adopt = view.selected.apps, world.spec.adopt
    formers = adopt.names if adopt else ()
    was = next((name for name in formers if names.fit(name) in apps), "")
    ends = f", until {was}, which this app was before, has ended" if was else ""
    return f"Service {view.name} {does} pods of {'app' if len(apps) == 1 else 'the apps'} {', '.join(apps)}{ends}"


def versions_without_stand_ins(world: World) -> tuple[str, ...]:
    """The versions with pods that a former selector might select: their labels are still being changed."""
    return tuple(
        f"v{version.number}"
        for version in world.record.versions
        if (view := world.replica_set(version.digest)) is not None
        and (view.replicas or view.pods)
        and (view.metadata_pending or not set(placeholder_labels(world, version)) <= set(view.metadata.labels))
    )


def has_arrived(world: World) -> bool:
    """Whether every Service is handed back, and its endpoints are as many pods as the Deployment has, and none of an
    app. Endpoints follow a moment later: until then they are still our own, and as many.
    """
    view = deployment_to_return_to(world)
    services = [service for _, service in world.active_services]
    if view is None or view.available < 1 or not all(map(is_handed_back, services)):
        return False
    return all(
        each is not None and not each.other_endpoints and each.ready_endpoints >= view.available for each in services
    )

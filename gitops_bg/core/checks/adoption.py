"""How an adopted app and what served before it share a cluster: before the hand-over, on it, and on the way back.

A live Service selects pods by labels, whoever made them. The app's file agrees that the agent takes such a Service over
(docs/decisions/0023): until the one write that does, the pods of the app carry a stand-in for one of the labels that
the Service selects by, and for one that any other Service of the namespace would select them by. The consent counts
once, for the hand-over; nothing here decides when that is.

``spec.release`` asks for the way back, which is the adoption mirrored: the Deployment has as many available pods as
serve, our pods carry stand-ins so that the former selectors do not select them, each Service gets back what it had in
one write, the endpoints show the Deployment's pods, and only then ours go (docs/decisions/0065). A former selector may
match pods of another app, such as the one that this one was before: no Service goes back while it does (0070).
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from gitops_bg.core import names
from gitops_bg.core.foreign_json import reread_json
from gitops_bg.core.model.observed import DeploymentView, ServiceView
from gitops_bg.core.model.record import Adopted, SwitchKind
from gitops_bg.core.model.spec import ScaleDown
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

STAND_IN, OTHER_STAND_IN = "not-live-yet", "not-live-yet-either"
"""The value of a label until the hand-over; the other one where a Service selects pods by the first."""

_WIDELY_USED = ("app", "app.kubernetes.io/name", "k8s-app", "name")
"""Labels that policies and monitors choose pods by: the last to be held back."""


def services_to_take_over(world: World) -> tuple[ServiceView, ...]:
    """Return the active Services that are somebody else's now, and that the app's file agrees to take over."""
    return tuple(view for _, view in world.active_services if view is not None and may_take_over(world, view))


def may_take_over(world: World, view: ServiceView) -> bool:
    """Return whether the consent covers a Service: nothing of the app serves yet, nobody else claims the Service, and
    it selects the pods that the app's own template describes; or it is that of the app that this one was before.

    A Service that selects anything else is not what served this app.
    """
    if world.spec.adopt is None or world.release is not None:
        return False
    if world.record.routing.traffic or view.ours:
        return False
    if world.spec.adopt.app:
        return world.spec.adopt.was(view.app)
    if not view.unclaimed:
        return False
    labels = _own_labels(world, _first(world))
    return label_to_override(dict(view.selector)) != "" and not view.digest and set(view.selector) <= labels.items()


def is_former_preview(world: World, view: ServiceView) -> bool:
    """Return whether a preview Service is that of the app that this one was before, and goes along with live traffic,
    which this one has by now. An app without a folder takes nothing over: it may be the former one itself.
    """
    adopt, has_traffic = world.spec.adopt, bool(world.record.routing.traffic and not world.record.routing.switch)
    if adopt is None or not adopt.was(view.app) or world.release is not None:
        return False
    return has_traffic and world.desired.in_git


def placeholder_labels(world: World, version: Version) -> tuple[tuple[str, str], ...]:
    """Return the labels that the pods of a version get instead of their own until the hand-over: for each Service that
    is to be taken over, and each other one that would select them, one that it selects by. Sorted; empty where nothing
    is taken over.

    A Service that somebody labelled by hand meanwhile still selects the old pods, and counts until it has moved.
    """
    own = _own_labels(world, version)
    held, as_live = _still_held(world, version, own), {**own, **dict(world.spec.strategy.active_metadata.labels)}
    for selector in _selectors_to_escape(world):
        selects = selector.items() <= own.items() or selector.items() <= as_live.items()
        if selects and not any(key in held for key in selector):
            key = label_to_override(selector)
            held |= {key: OTHER_STAND_IN if selector[key] == STAND_IN else STAND_IN} if key else {}
    return tuple(sorted(held.items()))


def _still_held(world: World, version: Version, own: Mapping[str, str]) -> dict[str, str]:
    """Return the stand-ins of new pods now, where nobody knows the other Services: unknown is not absent."""
    view = world.replica_set(version.digest)
    if view is None or not is_adopting(world) or world.observed.other_services is not None:
        return {}
    return {key: value for key, value in view.metadata.labels if key in own and value in (STAND_IN, OTHER_STAND_IN)}


def _selectors_to_escape(world: World) -> Iterator[Mapping[str, str]]:
    """Yield what must not select our pods: before the hand-over, what the Services select; on the way back, what they
    selected before it, and select again.
    """
    leaving, spec = world.release is not None, world.spec
    for _, view in world.active_services if leaving or (spec.adopt and not world.record.routing.traffic) else ():
        if view is None:
            continue
        if leaving and view.before:
            yield dict(view.before)
        elif not view.digest and (leaving or view.ours or may_take_over(world, view)):
            yield dict(view.selector)
    yield from (dict(view.selector) for view in others_to_escape(world))


def is_adopting(world: World) -> bool:
    """Return whether the app is to take live traffic over, and has none yet."""
    return world.spec.adopt is not None and world.release is None and not world.record.routing.traffic


def others_to_escape(world: World) -> tuple[ServiceView, ...]:
    """Return the Services that are not the app's own, and must not have its pods until the hand-over, whatever they
    select.

    What the app serves by then, it promoted: from there on they have its pods, as they had those of the Deployment.
    """
    return (world.observed.other_services or ()) if is_adopting(world) else ()


def pods_of_others(world: World) -> int:
    """Return how many pods serve the app now that are not its own: our own must be as many before they take over
    (I1).
    """
    return max((view.ready_endpoints for view in services_to_take_over(world)), default=0)


def is_what_served(world: World, view: DeploymentView) -> bool:
    """Return whether a Deployment's pods are those that the Services selected before they were handed over.

    A name with a typing error must not scale down another workload.
    """
    befores = [each.before for _, each in world.active_services if each is not None and each.before]
    return any(set(before) <= set(view.labels) for before in befores)


def watched_deployment(world: World) -> Adopted | None:
    """Return the Deployment whose pods are to go, as the record remembers it; None where none is, or they have gone."""
    adopted, adopt = world.record.adopted, world.spec.adopt
    if adopted is None or adopted.left or adopt is None or adopt.scale_down is ScaleDown.NEVER:
        return None
    if world.release is not None:
        return None
    return adopted if adopted.deployment == adopt.deployment else None


def deployment_size(world: World) -> int | None:
    """Return how many pods the adopted Deployment should have now; None where that is not the agent's to say.

    It goes down only while the endpoints of every active Service are exactly our pods, and these carry their own
    labels, so that other Services have them as well: what carries traffic stays.
    """
    adopted, view, adopt = watched_deployment(world), world.observed.deployment, world.spec.adopt
    if adopted is None or view is None or adopt is None or why_left_alone(world, view) or world.suspended:
        return None
    moment, active = may_go_at(world), world.active
    if active is None or moment is None or world.now < moment or not world.is_selected_by_all(active.digest):
        return view.replicas
    if has_stand_ins(world, active):
        return view.replicas
    had = view.replicas if adopted.replicas is None else adopted.replicas
    if adopt.scale_down is ScaleDown.PROGRESSIVELY:
        return min(view.replicas, max(0, had - world.available(active.digest)))
    return view.replicas if why_unproven(world, active) else 0


def has_stand_ins(world: World, version: Version) -> bool:
    """Return whether some pods of a version may still carry a stand-in, which keeps them out of the Services of
    others.
    """
    view = world.replica_set(version.digest)
    if view is None:
        return False
    return view.metadata_pending or any(value in (STAND_IN, OTHER_STAND_IN) for _, value in view.metadata.labels)


def why_left_alone(world: World, view: DeploymentView) -> str:
    """Return why a Deployment is not the agent's to scale, or empty."""
    if view.trouble:
        return view.trouble
    if view.controller:
        return f"Deployment {view.name} is controlled by {view.controller}, which decides its size"
    if not view.gone and not is_what_served(world, view):
        return f"the Services did not select the pods of Deployment {view.name} before they were handed over"
    return ""


def why_unproven(world: World, active: Version) -> str:
    """Return why the live version has not proven itself enough for the old pods to go, or empty."""
    if world.unproven:
        return "the live version is not proven yet"
    needed, up = world.full_size, world.available(active.digest)
    return f"{up} of {needed} pods of the live version are available" if up < needed else ""


def may_go_at(world: World) -> datetime | None:
    """Return when the old pods may go as far as time goes: counted from the moment that the endpoints had followed.

    None while they have not, or where ``scaleDownDelaySeconds`` keeps them for ever.
    """
    active, adopt, strategy = world.active, world.spec.adopt, world.spec.strategy
    if active is None or active.routed_at is None or adopt is None:
        return None
    if adopt.scale_down is ScaleDown.PROGRESSIVELY:
        return active.routed_at + timedelta(seconds=strategy.drain_seconds)
    if strategy.scale_down_delay_seconds is None:
        return None
    return active.routed_at + timedelta(seconds=max(strategy.drain_seconds, strategy.scale_down_delay_seconds))


def label_to_override(selector: Mapping[str, str]) -> str:
    """Return the label by which a Service is kept from selecting our pods: one that little else chooses pods by. Empty
    where it selects by labels of the agent's own.

    >>> label_to_override({"app": "orders", "tier": "front"}), label_to_override({"app": "orders"})
    ('tier', 'app')
    """
    keys = (key for key in selector if not key.startswith(f"{names.GROUP}/"))
    return min(keys, key=lambda key: (_WIDELY_USED.index(key) + 1 if key in _WIDELY_USED else 0, key), default="")


def _first(world: World) -> Version | None:
    """Return the version that is to take over."""
    return world.record.version(world.desired_digest or world.target_digest)


def _own_labels(world: World, version: Version | None) -> Mapping[str, str]:
    """Return the labels of the pod template as Git says; none where it is unknown."""
    text = _text(world, version)
    return (reread_json(text).get("metadata") or {}).get("labels") or {} if text else {}


def _text(world: World, version: Version | None) -> str:
    if version is not None:
        return world.snapshot(version).text
    return world.target.snapshot.text if world.target else ""


def is_releasing(world: World) -> bool:
    """Return whether live traffic still goes to the app, and is to go back to the Deployment; a suspension does not
    stop it.

    A switch under way comes first: the Services move as a whole.
    """
    return world.release is not None and not world.record.released and _has_traffic(world)


def is_released(world: World) -> bool:
    """Return whether the app is to have no pods and no traffic: it was released, or never began."""
    return world.release is not None and (world.record.released or not _has_traffic(world))


def _has_traffic(world: World) -> bool:
    """Return whether live traffic is the app's, as the record says, or in part, as Services of ours show: a first
    switch of several Services may have ended half-way, and a record may be lost.
    """
    ours = (view for _, view in world.active_services if view is not None and view.ours)
    return bool(world.record.routing.traffic) or any(view.digest or view.before for view in ours)


def at_rest(world: World) -> str:
    """Return where live traffic of a released app goes, in a sentence; empty where it is none."""
    release = world.release
    return (
        f"it was released: live traffic goes to Deployment {release.deployment}"
        if release and is_released(world)
        else ""
    )


def moves_no_more(world: World) -> bool:
    """Return whether no version may get live traffic any more: a Service is handed back, and the others follow it."""
    return is_released(world) or (
        is_releasing(world) and any(is_handed_back(view) for _, view in world.active_services)
    )


def is_handed_back(view: ServiceView | None) -> bool:
    """Return whether a Service is somebody's else again, and selects no version of ours."""
    return view is not None and view.unclaimed and bool(view.selector) and not view.digest


def services_to_hand_back(world: World) -> tuple[ServiceView, ...]:
    """Return the active Services that are still ours and remember what they selected."""
    views = (view for _, view in world.active_services)
    return tuple(view for view in views if view is not None and view.ours and view.before)


def deployment_to_return_to(world: World) -> DeploymentView | None:
    """Return the Deployment that live traffic goes back to, as it was looked at; None where it was not. A look at
    another one says nothing about it.
    """
    release, view = world.release, world.observed.deployment
    return view if release is not None and view is not None and view.name == release.deployment else None


def pods_needed(world: World) -> int:
    """Return how many pods of the Deployment must be available: as many as serve now (I1), and no fewer than are
    wanted.
    """
    serving = world.replica_set(world.record.routing.traffic)
    return max(1, world.available(world.record.routing.traffic), serving.replicas if serving else 0)


def never_released(world: World) -> tuple[str, ...]:
    """Return everything that no waiting mends."""
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
    """Return what must come true before the Services are handed back; empty where nothing is missing."""
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
    """Return whether live traffic moves between versions, or is about to: not where that waits for somebody, as it does
    in a suspended app, and where the pods are late. A release is a way back.
    """
    if world.record.routing.switch is not None or world.incoming is None:
        return world.record.routing.switch is not None
    waits = world.suspended or bool(world.incoming.failure)
    return bool(world.record.routing.traffic) and not (waits and world.switch_kind is SwitchKind.PROMOTION)


def _deployment_unread(world: World) -> str:
    """Return why the Deployment was not looked at. Files with a mistake do not say which one, and begin nothing."""
    if not world.desired.problems:
        return "the Deployment is looked at next"
    return "the app's files have a mistake (InvalidSpec), and nothing begins before it is mended"


def _who_else(world: World, view: ServiceView) -> str:
    """Return why a Service must not get its selector back: it would select pods of an app, or nobody knows; empty for
    none.
    """
    if view.selected is None:
        return f"the pods that Service {view.name} would select are looked at next"
    if view.selected.trouble:
        return f"the pods that Service {view.name} would select are unknown: {view.selected.trouble}"
    return selecting(world, view, "would select")


def selecting(world: World, view: ServiceView, does: str) -> str:
    """Return the apps whose pods a Service selects, or would, in a sentence; empty where there is none."""
    if view.selected is None or not view.selected.apps:
        return ""
    apps, adopt = view.selected.apps, world.spec.adopt
    formers = adopt.names if adopt else ()
    was = next((name for name in formers if names.fit(name) in apps), "")
    ends = f", until {was}, which this app was before, has ended" if was else ""
    return f"Service {view.name} {does} pods of {'app' if len(apps) == 1 else 'the apps'} {', '.join(apps)}{ends}"


def versions_without_stand_ins(world: World) -> tuple[str, ...]:
    """Return the versions with pods that a former selector might select: their labels are still being changed."""
    return tuple(
        version.name
        for version in world.record.versions
        if (view := world.replica_set(version.digest)) is not None
        and (view.replicas or view.pods)
        and (view.metadata_pending or not set(placeholder_labels(world, version)) <= set(view.metadata.labels))
    )


def has_arrived(world: World) -> bool:
    """Return whether every Service is handed back, and its endpoints are as many pods as the Deployment has, and none
    of an app. Endpoints follow a moment later: until then they are still our own, and as many.
    """
    view = deployment_to_return_to(world)
    services = [service for _, service in world.active_services]
    if view is None or view.available < 1 or not all(map(is_handed_back, services)):
        return False
    return all(
        each is not None and not each.other_endpoints and each.ready_endpoints >= view.available for each in services
    )

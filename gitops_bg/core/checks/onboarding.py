"""Which live Services have, or would have, the pods of an app that they are not for, before it is handed over to the
agent and after it got another name.

A Service selects pods by labels, whoever made them (docs/decisions/0023). Before the handover of an app, its Service
selects the labels of its pod template, so a candidate would serve at once, without any gate: it gets no pods until the
Service is ours, and its selector names one version. What a Service that the app does not name is for (a headless one of
a monitor should have all pods) the agent cannot know: it takes no pods away, and says so. Only until a live app is
handed over, this holds for every Service of the namespace, and pods of ours keep out of them by stand-ins for labels
where these can (`adoption`).

The app under a new name takes the Services over by the consent in its file (docs/decisions/0070); until it has, and no
request is on its way here, the one under the old name serves. What counts is what became of the Services, and not
whether main still says so: that app may have another name again, or no word of this one any more (0073).
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from gitops_bg.core import names
from gitops_bg.core.checks.adoption import others_to_escape, placeholder_labels
from gitops_bg.core.checks.auxiliary import may_be_live
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.delivery.world import answered_once
from gitops_bg.core.foreign_json import reread_json
from gitops_bg.core.model.auxiliary import ROUTES, AuxiliaryObject
from gitops_bg.core.model.observed import ServiceView
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import Stage, Version, short
from gitops_bg.core.world import World

# --- Services that the app does not name ---


@dataclass(frozen=True, slots=True)
class Exposure:
    """A Service of somebody else, and the versions whose pods it should not have yet."""

    service: ServiceView
    versions: tuple[Version, ...]
    """Those with pods now."""
    at_rest: tuple[Version, ...] = ()
    """Those that wait without any, and whose pods it would have as soon as they come up."""


def may_be_exposed(record: Record) -> bool:
    """Return whether an app has a version that nobody promoted: only then somebody has to look at other Services."""
    return any(version.stage is Stage.CANDIDATE and not version.was_active for version in record.versions)


@answered_once
def exposures(world: World) -> tuple[Exposure, ...]:
    """Return every other Service that selects pods of versions that nobody promoted, or would, as far as they are
    known.
    """
    others = world.observed.other_services or ()
    unpromoted = [version for version in world.record.versions if _is_unpromoted(world, version)] if others else []
    found = (_exposure(world, view, [each for each in unpromoted if _selects(world, view, each)]) for view in others)
    return tuple(each for each in found if each.versions or each.at_rest)


def _is_unpromoted(world: World, version: Version) -> bool:
    """Return whether a version never served, and `primary.yaml` does not name it."""
    return not version.was_active and version.digest != world.desired_digest


def _exposure(world: World, view: ServiceView, selected: list[Version]) -> Exposure:
    up = tuple(version for version in selected if _has_pods(world, version))
    waiting = (each for each in selected if each not in up and each.stage is Stage.CANDIDATE and not each.retiring)
    return Exposure(view, up, tuple(waiting))


def _has_pods(world: World, version: Version) -> bool:
    view = world.replica_set(version.digest)
    return view is not None and bool(view.pods or view.replicas)


def _selects(world: World, view: ServiceView, version: Version) -> bool:
    """Return whether a Service selects the pods of a version, as it would if they were live.

    One that selects by a label of ``previewMetadata`` asks for what is not live.
    """
    selector, live = set(view.selector), labels_as_live(world, version)
    carried = (labels for labels in labels_of_pods(world, version) if labels is not None)
    return live is not None and selector <= live.items() and any(selector <= labels.items() for labels in carried)


# --- what keeps a version from having pods ---


def leak_to(world: World, version: Version) -> ServiceView | None:
    """Return the live Service that would send traffic to the pods of a version that has not been promoted here; None
    where none.
    """
    if version.was_active and world.record.routing.traffic:
        return None
    if any(view.ours and view.digest == short(version.digest) for _, view in world.active_services if view is not None):
        return None  # A Service of ours leads to it: its pods stay (I2).
    broad = [view for _, view in world.active_services if view is not None and _selects_many(world, version, view)]
    if not (world.record.routing.switch or world.is_selected(version.digest)):  # It gets live traffic now.
        broad += others_to_escape(world)
    if not broad:
        return None
    carried = tuple(labels_of_pods(world, version))
    return next((view for view in broad if _selects_any(view, carried)), None)


def serves_by(world: World, service: ServiceView) -> bool:
    """Return whether the version that serves has available pods behind a Service: those of others may be taken away."""
    active = world.active
    if active is None or not world.available(active.digest):
        return False
    return _selects_any(service, tuple(labels_of_pods(world, active)))


def selected_by_others(world: World) -> str:
    """Return what keeps a version from having pods, and until when; empty where nothing does."""
    for version in world.record.versions:
        service = leak_to(world, version)
        if service:
            selector = ",".join(f"{key}={value}" for key, value in service.selector)
            live = f"the selector {selector} of Service {service.name}"
            if world.available(version.digest):
                return f"{live} sends live traffic to {version.name}, which nobody promoted"
            return f"{live} would send live traffic to {version.name}, which has no pods until then"
    return ""


def until_no_leak(world: World, service: ServiceView) -> str:
    """Return until when a Service that `leak_to` found keeps pods from coming up, in words."""
    if service in others_to_escape(world):
        return f"Service {service.name} does not select them any more"
    return f"Service {service.name} is ours and selects one version"


def cannot_be_isolated(world: World) -> Iterator[str]:
    """Yield the other Services that no stand-in keeps the first version out of, each in a sentence."""
    version, others = world.record.version(world.desired_digest or world.target_digest), others_to_escape(world)
    if version is None or not others:
        return
    labels = next(labels_of_pods(world, version))
    for view in others if labels is not None else ():
        if _selects_any(view, (labels,)):
            selector = ",".join(f"{key}={value}" for key, value in view.selector)
            yield (
                f"the selector {selector} of Service {view.name} would send its traffic to {version.name}, which "
                f"has no pods until that selects by a label of target.yaml, or is annotated {names.ALL_VERSIONS}=true"
            )


def _selects_many(world: World, version: Version, view: ServiceView) -> bool:
    """Return whether the Service is not ours, or was just handed over and does not select the first version yet.

    A Service that selects a single version already sends live traffic there: that Service is left as it is.
    """
    if not view.selector or view.digest:
        return False
    if not view.ours:
        return True
    if world.spec.adopt is not None:  # Stand-ins keep the first version out of it as well.
        return not world.record.routing.traffic
    first = world.desired_digest or world.target_digest
    return not (world.record.routing.traffic or version.digest == first)


# --- what a Service selects ---


def selects_pods(world: World, view: ServiceView, version: Version) -> bool:
    """Return whether a Service, whoever has it, selects pods of a version that are there now."""
    there = world.replica_set(version.digest)
    has_pods = there is not None and bool(there.pods or there.replicas)
    return has_pods and bool(view.selector) and _selects_any(view, tuple(labels_of_pods(world, version)))


def _selects_any(view: ServiceView, carried: tuple[Mapping[str, str] | None, ...]) -> bool:
    return any(labels is None or set(view.selector) <= labels.items() for labels in carried)


def labels_of_pods(world: World, version: Version) -> Iterator[Mapping[str, str] | None]:
    """Yield the labels that a version's pods carry and will carry: from their template, their role, and the agent. None
    where unknown.

    A ReplicaSet gives its pods what its template has now, whatever they are to carry.
    """
    own, strategy = _own_labels(world, version), world.spec.strategy
    if own is None:
        yield None
        return
    role = strategy.preview_metadata if world.record.routing.traffic else strategy.active_metadata
    ours = _labels_of_ours(world, version)
    yield {**own, **dict(role.labels), **dict(placeholder_labels(world, version)), **ours}
    view = world.replica_set(version.digest)
    if view is not None:
        yield {**own, **dict(view.metadata.labels), **ours}


def labels_as_live(world: World, version: Version) -> Mapping[str, str] | None:
    """Return the labels that the pods of a version carry once it is live; None where its template is unknown."""
    own, role = _own_labels(world, version), world.spec.strategy.active_metadata
    return None if own is None else {**own, **dict(role.labels), **_labels_of_ours(world, version)}


def _own_labels(world: World, version: Version) -> Mapping[str, str] | None:
    text = world.snapshot(version).text
    return ((reread_json(text).get("metadata") or {}).get("labels") or {}) if text else None


def _labels_of_ours(world: World, version: Version) -> Mapping[str, str]:
    ours = {names.COLOR: str(version.color), names.VERSION: str(version.number)}
    return {**names.selector(world.spec.app, version.digest), **ours}


NEVER_MEANS = 600
"""Seconds that stand in for a ``scaleDownDelaySeconds`` of ``never``: nobody can go back to an app without a folder."""


def serves_still(world: World) -> bool:
    """Return whether an active Service is still the app's own, or selects pods of it, by whatever labels."""
    return any(view is not None and _leads_here(world, view) for _, view in world.active_services)


def _leads_here(world: World, view: ServiceView) -> bool:
    if view.ours or view.digest:
        return True
    return not view.app and any(selects_pods(world, view, version) for version in world.record.versions)


def successor(world: World) -> str:
    """Return the app that has the Services, as they show; else the one that main says, or said last, will have them."""
    taken = (view.app for _, view in world.active_services if view is not None)
    return next(filter(None, taken), world.desired.moved_to or world.record.last_read.moved_to)


def is_taken_over(world: World) -> bool:
    """Return whether no Service leads to the app, because it is another one: main says so, or said so and that app has
    one.
    """
    if serves_still(world):
        return False
    has_one = any(view is not None and view.app for _, view in world.active_services)
    return bool(world.desired.moved_to) or (bool(world.record.last_read.moved_to) and has_one)


def is_stranded(world: World) -> bool:
    """Return whether the app serves on under a name that has no folder, and main does not say any more which one
    it is.
    """
    return world.moved and not world.desired.moved_to and world.record.moved_at is None


def own_routes(world: World) -> tuple[AuxiliaryObject, ...]:
    """Return the routes of the app that are live, under its own name; not that of a candidate's hosts."""
    other = names.candidate_route(world.spec.app)
    known = (one for one in world.record.last_read.auxiliary_objects if one.kind in ROUTES and one.name != other)
    return tuple(one for one in known if may_be_live(world.auxiliary_object(one)))


def is_led_otherwise(world: World) -> bool:
    """Return whether requests find the Services by the route of the app that has them, so that this one's may go."""
    next_ = world.observed.successor
    return world.moved and not serves_still(world) and next_ is not None and next_.has_route


def leads_still(world: World) -> bool:
    """Return whether requests may find the Services by the route of this app alone: the one that has them wants one,
    too.
    """
    next_ = world.observed.successor
    return bool(own_routes(world)) and (next_ is None or next_.wants_route)


def ends_at(world: World) -> datetime | None:
    """Return when an app that was moved ends: its pods stay as warm as after a promotion. None while it serves, or
    leads requests.
    """
    moved, strategy = world.record.moved_at, world.spec.strategy
    if serves_still(world) or leads_still(world):
        return None
    if not world.record.routing.traffic:
        return world.now
    delay = strategy.scale_down_delay_seconds
    seconds = max(strategy.drain_seconds, NEVER_MEANS if delay is None else delay)
    return None if moved is None else moved + timedelta(seconds=seconds)

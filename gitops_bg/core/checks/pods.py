"""Pods of one version: why they do not come up, what they carry by its role, how long they prove themselves after the
promotion, and how long they serve on after live traffic has left.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum

from gitops_bg.core.checks.adoption import placeholder_labels
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.observed import ServiceView
from gitops_bg.core.model.record import Record, SwitchKind
from gitops_bg.core.model.spec import PreviewSwitch
from gitops_bg.core.model.version import NO_METADATA, PodMetadata, Stabilization, Stage, Version, short
from gitops_bg.core.world import World

LATE = timedelta(seconds=15)
"""How long a version may wait for its pods before they are listed: the scheduler has said by then what it misses."""

_FREE_PORTS = "free ports"
"""What the scheduler says where pods want a ``hostPort`` (kubernetes ``plugins/nodeports/node_ports.go``)."""


def wants_pods(record: Record, now: datetime | None) -> bool:
    """Return whether the decision depends on single pods: a restart has begun, or a version is late (``now`` None:
    nobody asks about late ones).
    """
    restart = record.operator.restart
    if restart is not None and restart.begun:
        return True
    return now is not None and any(each.waiting_since and now >= each.waiting_since + LATE for each in record.versions)


def late_at(version: Version) -> datetime | None:
    """Return when the pods of a version are listed if they are not available until then."""
    return version.waiting_since + LATE if version.waiting_since else None


class StuckCause(StrEnum):
    """What keeps the pods of a version from coming up, the worst first; a reason of Progressing and CandidateReady."""

    REFUSED = "PodsRefused"
    """A quota, a policy or a webhook refuses them."""
    UNSCHEDULABLE = "PodsUnschedulable"
    WAITING = "PodsWaiting"
    """Their containers do not start."""
    AT_GATE = "PodsAtGate"
    """They run, and nobody has set one of their ``readinessGates``."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """What keeps the pods of a version from coming up; ``message`` is a part of a sentence."""

    cause: StuckCause
    message: str


def stuck(world: World, version: Version) -> Stuck | None:
    """Return what keeps the pods of a version from coming up, the worst cause first; None where none is known."""
    view = world.replica_set(version.digest)
    if view is not None and view.failure:
        return Stuck(StuckCause.REFUSED, f"its pods cannot be made: {view.failure}")
    digest, seen = short(version.digest), world.observed.pods or ()
    pods = [pod for pod in seen if pod.digest == digest and not pod.leaving]
    if homeless := [pod.unschedulable for pod in pods if pod.unschedulable]:
        has = "has" if len(homeless) == 1 else "have"
        return Stuck(StuckCause.UNSCHEDULABLE, f"{len(homeless)} of its pods {has} no node: {homeless[0]}")
    if waiting := [pod.waiting for pod in pods if pod.waiting]:
        return Stuck(StuckCause.WAITING, f"{len(waiting)} of its pods cannot start: {waiting[0]}")
    if gated := [pod.shut_gate for pod in pods if pod.shut_gate]:
        wait = "waits" if len(gated) == 1 else "wait"
        return Stuck(StuckCause.AT_GATE, f"{len(gated)} of its pods {wait} for the readiness gate {gated[0]}")
    return None


def why_stuck(world: World, version: Version) -> str:
    """Return `stuck` as a part of a sentence; empty where nothing is known."""
    found = stuck(world, version)
    return found.message if found else ""


def waits_for_room(world: World) -> bool:
    """Return whether a version that is wanted lacks pods because a quota refuses them, or because no node takes
    them.
    """
    wanted = (each for each in world.record.versions if not each.retiring)
    return any(_waits_for_room(world, version) for version in wanted)


def _waits_for_room(world: World, version: Version) -> bool:
    view, found = world.replica_set(version.digest), stuck(world, version)
    crowded = found is not None and found.cause in (StuckCause.REFUSED, StuckCause.UNSCHEDULABLE)
    return crowded and view is not None and view.replicas > view.available


def remedy_of(world: World, found: Stuck | None) -> str:
    """Return what helps pods that do not come up; empty where we know nothing better than the words of who keeps
    them.
    """
    if found is not None and found.cause is StuckCause.AT_GATE:
        return _remedy_for_gate(world)
    return remedy_for(found.message) if found is not None else ""


def remedy_for(unschedulable: str) -> str:
    """Return what helps pods that have no node; empty where we know nothing better than the scheduler's words."""
    if _FREE_PORTS not in unschedulable:
        return ""
    return "two versions with one hostPort need a node for each pod of both: add nodes, or remove hostPort"


def _remedy_for_gate(world: World) -> str:
    """Return a load balancer sets a readiness gate once a Service selects the pods."""
    strategy, app = world.spec.strategy, world.spec.app
    if strategy.preview_service is None:
        wanted = "previewService and previewSwitch: immediate"
    elif strategy.preview_switch is PreviewSwitch.ON_READY:
        wanted = "previewSwitch: immediate"
    else:
        return f"what sets it must know Service {strategy.preview_service}; `gitops-bg tree {app}` shows its pods"
    return f"what sets it may wait until a Service selects the pods: write {wanted} in strategy.blueGreen of app.yaml"


def drained_at(world: World) -> datetime | None:
    """Return when the version that traffic left last may be scaled down, as far as is known now; None where nothing
    serves.
    """
    arrived = arrived_at(world)
    return arrived + timedelta(seconds=world.spec.strategy.drain_seconds) if arrived else None


def arrived_at(world: World) -> datetime | None:
    """Return when live traffic arrived, or will count as arrived, as far as is known now; None where nothing serves."""
    active = world.active
    if active is None or active.activated_at is None:
        return None
    late = active.activated_at + timedelta(seconds=world.spec.progress_deadline_seconds)
    return min(active.routed_at or late, late)


def may_still_serve(world: World, version: Version) -> bool:
    """Return whether requests may still reach a version that traffic has left."""
    moment, active = drained_at(world), world.active
    if moment is None or active is None or version.left_at is None or active.activated_at is None:
        return False
    return version.left_at >= active.activated_at and world.now < moment


def reaches_only(world: World, service: ServiceView | None, version: Version) -> bool:
    """Return whether the endpoints of a Service are all available pods of a version, and no others."""
    if service is None or service.digest != short(version.digest) or service.other_endpoints:
        return False
    return service.ready_endpoints >= world.available(version.digest)


def former_moments(world: World) -> Iterator[datetime]:
    """Yield the times until which the former Services are followed."""
    for each in world.record.last_read.former_services:
        until = world.followed_until(each)
        if until is not None:
            yield until


def without_traffic(world: World) -> tuple[str, ...]:
    """Return the Services that ``app.yaml`` names for live traffic and that carry none: they do not exist, are not
    ours, or select no version.
    """
    carry = {name for name, view in world.active_services if view is not None and view.ours and view.digest}
    return tuple(name for name in world.spec.strategy.active_services if name not in carry)


def is_watched(world: World, version: Version) -> bool:
    """Return whether a version is on probation that serves, and that traffic does not leave anyway: back or forward.
    Who only waits for gates helps nobody.
    """
    if version.stabilization is None or world.suspended or version.digest != world.record.routing.traffic:
        return False
    switch = world.record.routing.switch
    is_left = world.switch_kind is SwitchKind.ROLLBACK or (switch is not None and not switch.withdrawn)
    return world.incoming is None or not is_left


def stabilization_ends(world: World, stabilization: Stabilization) -> datetime:
    """Return when time alone ends the probation of a version, with success or failure; pods are late in no
    suspension.
    """
    since = world.waits_since(stabilization.since) if stabilization.unready else stabilization.since
    return since + timedelta(seconds=world.spec.progress_deadline_seconds)


def metadata_for(world: World, version: Version) -> PodMetadata:
    """Return the metadata that the pods of a version should carry now, with the stand-ins that keep them out of a
    Service that is still to be taken over.
    """
    role, held = _of_its_role(world, version), placeholder_labels(world, version)
    return replace(role, labels=tuple(sorted({**dict(role.labels), **dict(held)}.items()))) if held else role


def _of_its_role(world: World, version: Version) -> PodMetadata:
    """Return the metadata of a version's role; none once it is neither live nor on its way there.

    The first version gets the metadata of the active version at once, as in Argo Rollouts.
    """
    strategy, is_first = world.spec.strategy, not world.record.routing.traffic
    if version.digest == world.record.routing.traffic:
        return strategy.active_metadata
    if version.stage is not Stage.CANDIDATE or version.retiring:
        return NO_METADATA
    return strategy.active_metadata if is_first else strategy.preview_metadata

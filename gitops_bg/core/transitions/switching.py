"""Steps that move live traffic in the record: deciding a switch, settling a switch that reached the Service, finding
where traffic is if the record does not say, and choosing what Services select.

A switch is written to the record before the Service, and becomes true only when the Service shows it. So every switch
ends as exactly one ledger entry, whatever crashes in between (I4).

A targetPort that only another version has would leave a Service without endpoints (DESIGN §3, §4.2). So the ports of
live traffic belong to the promoted version: they move with the selector, in one write, and back with it. The preview
shows the newest candidate, once its pods are ready.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gitops_bg.core.checks.adoption import may_take_over, moves_no_more, services_to_take_over
from gitops_bg.core.checks.gates import gates_before_first, gates_before_switch, gates_of_begun_switch
from gitops_bg.core.checks.pods import reaches_only
from gitops_bg.core.checks.ports import derived_ports, ports_of, promoted_ports
from gitops_bg.core.checks.subject import has_passed_analysis, has_passed_hooks, is_closed
from gitops_bg.core.checks.versions import goes_back_still
from gitops_bg.core.delivery.analyses import await_verdict
from gitops_bg.core.delivery.gates import all_open, record_overridden_policies
from gitops_bg.core.delivery.holds import put_hold
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.hooks import HookType
from gitops_bg.core.model.observed import ServiceView
from gitops_bg.core.model.record import Event, Record, Switch, SwitchKind
from gitops_bg.core.model.spec import PreviewSwitch
from gitops_bg.core.model.statements import Cause
from gitops_bg.core.model.version import ServicePorts, Stabilization, Stage, StageEvent, Version, short, stage_after
from gitops_bg.core.transitions.adoption import adopted_before
from gitops_bg.core.transitions.decisions import ask_who_merged, overrule_retry
from gitops_bg.core.transitions.verdicts import acting_app
from gitops_bg.core.transitions.versions import PAST_DIGESTS, retain, retire
from gitops_bg.core.world import World


def record_endpoints_synced(world: World) -> World:
    """Record when the endpoints of the active Service were first exactly the pods of the active version.

    A Service moves in one write, its EndpointSlices a little later. The version that traffic left keeps its pods until
    the slices of the active Service hold exactly the new ones, and ``drainSeconds`` longer, but no longer than
    ``progressDeadlineSeconds``: otherwise a foreign address in the slices would prevent every scale-down.
    """
    active = world.active
    if active is None or active.routed_at or not _is_routed(world, active):
        return world
    return world.with_version(replace(active, routed_at=world.now))


def _is_routed(world: World, active: Version) -> bool:
    """Return whether the endpoints of every active Service are exactly its pods."""
    reached = (reaches_only(world, view, active) for _, view in world.active_services)
    return world.is_selected_by_all(active.digest) and all(reached)


# --- which version live traffic goes to, where the record is new (docs/decisions/0022, 0084) ---
# Nothing serves by a selector alone (DESIGN §4.6): a Service of ours must lead to pods that Git knows. But as long as
# one does, the next switch is no first deployment, whatever has become of the other Services.

Versions = tuple[Version, ...]


def found_serving(world: World) -> Version | None:
    """Return the version that the Services of ours show, of those with pods that the ledger says served; or one that
    only main names, where every active Service shows it.

    A missing Service follows the others, one of somebody else's says nothing. Where Services are still to be taken over
    the first switch goes on to what it was begun for.
    """
    served = tuple(each for each in _with_pods(world) if each.digest in world.record.routing.activations)
    serving = _shown_by_active(world, served) or _named_and_shown_by_all(world) or _shown_by_former(world, served)
    if serving and services_to_take_over(world) and serving.digest == world.desired_digest:
        return None
    return serving


def _with_pods(world: World) -> Versions:
    return tuple(each for each in world.record.versions if world.replica_set(each.digest) is not None)


def _shown_by_active(world: World, served: Versions) -> Version | None:
    """Return the version that they show. Where they disagree, traffic stays with pods that are there (I1); then it goes
    where the lost record had it; else back, never forward.
    """

    def doubt(version: Version) -> tuple[bool, bool, int]:
        there = world.available(version.digest) > 0
        return not there, version.digest != _serving_in_ledger(world), _place(world, version)

    shown = _shown(served, (view for _, view in world.active_services if view is not None))
    return min(shown, key=doubt, default=None)


def _named_and_shown_by_all(world: World) -> Version | None:
    """Return what main names and the ledger does not know: an unfinished first switch looks like it, unless all have
    moved.
    """
    if any(view is None or not view.ours for _, view in world.active_services):
        return None
    named = (each for each in _with_pods(world) if each.digest == world.primary_digest)
    return next((each for each in named if world.is_selected_by_all(each.digest)), None)


def _shown_by_former(world: World, served: Versions) -> Version | None:
    """Return the version where only Services under former names lead anywhere. A preview Service that was renamed may
    be among them, so what the ledger says serves counts more than what they show.
    """
    shown = _shown(served, world.observed.former_services)
    if not shown or services_to_take_over(world):
        return None
    remembered = (each for each in served if each.digest == _serving_in_ledger(world))
    return next(remembered, None) or min(shown, key=lambda each: _place(world, each))


def _shown(versions: Versions, views: Iterable[ServiceView]) -> Versions:
    selected = {view.digest for view in views if view.ours}
    return tuple(each for each in versions if short(each.digest) in selected)


def _place(world: World, version: Version) -> int:
    return world.record.routing.activations.index(version.digest)


def _serving_in_ledger(world: World) -> str:
    memory = world.desired.memory
    return memory.serving if memory else ""


# --- what the Services show ---

EVENT_OF = {
    SwitchKind.FIRST: Event.DEPLOYED,
    SwitchKind.PROMOTION: Event.PROMOTED,
    SwitchKind.ROLLBACK: Event.ROLLED_BACK,
}


def settle_traffic(world: World) -> World:
    """Take what the Services show for true: a switch that was decided, the end of one that was withdrawn, and that the
    endpoints have followed.
    """
    return record_endpoints_synced(_end_withdrawn(_settle_switch(world)))


def _settle_switch(world: World) -> World:
    """Make the decided switch true once every active Service selects its version; one that goes back, once every one
    does that carries traffic of ours.
    """
    switch = world.record.routing.switch
    if switch is None or not _has_moved(world, switch):
        return world
    to, origin = world.record.version(switch.to_digest), world.record.version(switch.from_digest)
    if to is None:
        return world
    world = world.with_version(_activated(world, to, switch.switch_kind, switch.pods))
    if origin and origin.digest != to.digest:
        world = world.with_version(_left(world, origin))
        if switch.switch_kind is SwitchKind.ROLLBACK and not world.record.objection(origin.digest):
            world = put_hold(world, origin.digest, cause=Cause.ROLLED_BACK, reason=switch.reason, by=switch.by)
    world = world.with_record(_moved(world.record, to.digest, switch.switch_kind))
    if origin and switch.switch_kind is SwitchKind.PROMOTION:  # First deployments and rollbacks are not analysed.
        world = await_verdict(world, to.digest, origin.digest, acting_app)
    world = ask_who_merged(world, switch, to)
    return world.with_ledger_entry(
        EVENT_OF[switch.switch_kind], to=to, origin=origin, commit=switch.commit, by=switch.by, reason=switch.reason
    )


def _has_moved(world: World, switch: Switch) -> bool:
    """Return whether live traffic goes where a switch leads.

    Forward, all Services move or none, so one that is missing or not ours is still to come. Back, it holds up nothing:
    it leads to no pod of what was left.
    """
    if switch.switch_kind is not SwitchKind.ROLLBACK:
        return world.is_selected_by_all(switch.to_digest)
    views = [view for _, view in world.active_services if view is not None]
    there = [view for view in views if view.digest == short(switch.to_digest)]
    astray = any(view.ours or view.digest for view in views if view not in there)
    return not astray and any(view.ours for view in there)


def _end_withdrawn(world: World) -> World:
    """End a withdrawn switch once each Service that could still accept a write of it carries the mark.

    Until then it may come true: a write that succeeds before the mark is a movement that the record knows, with its
    ledger entry. An agent that has read the record since the withdrawal begins no write, and a Service with the mark
    refuses writes begun before (decision 20).
    """
    switch, mark = world.record.routing.switch, world.record.withdrawn
    if switch is None or not switch.withdrawn:
        return world
    written = (view for _, view in world.active_services if view and (view.ours or may_take_over(world, view)))
    if any(view.withdrawn != mark for view in written):
        return world
    return world.with_part(replace(world.record.routing, switch=None))


def recover_traffic(world: World) -> World:
    """Begin a new record with live traffic where it is (`found_serving`).

    No traffic moves: the ledger gets no entry, and what it says against the serving version stays. Active Services that
    are missing or lead elsewhere follow as any foreign change is repaired.
    """
    if world.record.routing.traffic or world.record.routing.switch:
        return world
    serving = found_serving(world)
    if serving is None:
        return world
    record, world = world.record, world.with_version(_activated(world, serving, SwitchKind.FIRST))
    moved = _moved(world.record, serving.digest, SwitchKind.FIRST)
    adopted = adopted_before(world)
    return world.with_record(replace(moved, statements=record.statements, adopted=adopted))


def _activated(world: World, version: Version, switch_kind: SwitchKind, decided_with: int = 0) -> Version:
    """Return the version as it serves. It has to keep the pods with which the switch was decided: it may have lost them
    since, while nobody looked.
    """
    pods = max(decided_with, world.available(version.digest))
    stabilization = Stabilization(pods, world.now) if switch_kind is SwitchKind.PROMOTION else None
    kept = retain(world, version)
    return replace(
        kept,
        stage=stage_after(kept.stage, StageEvent.TRAFFIC_CAME),
        activated_at=world.now,
        routed_at=None,
        arrived=1 + max(one.arrived for one in world.record.versions),
        left_at=None,
        waiting_since=None,
        stabilization=stabilization,
        unproven=False,
        failure="",
    )


def _moved(record: Record, digest: str, switch_kind: SwitchKind) -> Record:
    """Note that traffic has arrived: clear what speaks against the version, and make a promoted version the newest."""
    record, order = record.without_objection(digest), record.routing.activations
    if switch_kind is SwitchKind.PROMOTION or digest not in order:
        order = (*(one for one in order if one != digest), digest)
    spare = max(0, len(order) - PAST_DIGESTS)
    known = tuple(one for place, one in enumerate(order) if place >= spare or record.version(one))
    return record.with_part(replace(record.routing, traffic=digest, switch=None, activations=known))


def _left(world: World, version: Version) -> Version:
    unproven = world.unproven and version.digest == world.record.routing.traffic
    stage = stage_after(version.stage, StageEvent.TRAFFIC_LEFT)
    return replace(retire(world, version), stage=stage, left_at=world.now, stabilization=None, unproven=unproven)


# --- deciding a switch ---


def decide_switch(world: World) -> World:
    """Decide to move traffic if it is not where it should be and every gate for it is open."""
    coming = None if moves_no_more(world) else world.incoming
    if coming is None and not moves_no_more(world):
        coming = _first_deployment(world)
    if coming is None:
        return _without_switch(world)
    if world.switch_kind is SwitchKind.ROLLBACK and (active := world.active):
        reason, by = _rollback_reason(world), _decided_by(world)[1]
        waits = world.record.override.awaits if world.record.override else None
        if world.desired.primary and not world.record.override:
            world = overrule_retry(world, active.digest, world.desired.primary.changed_by)
        world = put_hold(world, active.digest, cause=_cause(world), reason=reason, by=by, awaits=waits)
    world = _want(world, coming)
    gates = gates_of_begun_switch if _has_begun(world, coming) else gates_before_switch
    if all_open(gates(world, coming)):
        return _with_switch(world, coming)
    return world if goes_back_still(world) else _without_switch(world)


def _has_begun(world: World, coming: Version) -> bool:
    """Return whether some of several active Services have moved already: then the switch goes on, as long as there are
    pods to go to.

    Where there are none, or the switch is no longer wanted, the moved Services move back.
    """
    decided = world.record.routing.switch
    goes_on = decided is not None and not decided.withdrawn and decided.to_digest == coming.digest
    return goes_on and world.is_selected(coming.digest)


def _first_deployment(world: World) -> Version | None:
    """Return the candidate, where nothing serves yet and main refuses even the first commit (DESIGN §4.6)."""
    offered = world.observed.git.promotion
    candidate = world.candidate
    if world.record.routing.traffic or world.desired.primary is not Missing.ABSENT or candidate is None:
        return None
    if not world.observed.git.main_refused or not offered or offered.digest != candidate.digest:
        return None
    return candidate if all_open(gates_before_first(world, candidate)) else None


def _want(world: World, coming: Version) -> World:
    kept = retain(world, coming)
    return world if kept == coming else world.with_version(kept)


def _without_switch(world: World) -> World:
    """Withdraw the switch.

    Another process may still carry it out: it is over once its writes can only fail (`settle_traffic`).
    """
    record = world.record
    if record.routing.switch is None or record.routing.switch.withdrawn:
        return world
    switch = replace(record.routing.switch, withdrawn=True)
    return world.with_part(replace(record.routing, switch=switch, withdrawals=record.routing.withdrawals + 1))


def _with_switch(world: World, coming: Version) -> World:
    decided = world.record.routing.switch
    if decided and (decided.from_digest, decided.to_digest) == (world.record.routing.traffic, coming.digest):
        return world
    if decided:  # To another version: a write of that switch must not come in between.
        return _without_switch(world)
    commit, by, reason = _decided_by(world)
    origin, kind, pods = world.record.routing.traffic, world.switch_kind, world.available(coming.digest)
    switch = Switch(origin, coming.digest, kind, world.now, commit, by, reason, pods=pods)
    if kind is SwitchKind.PROMOTION:
        world = record_overridden_policies(world, acting_app(world), coming.digest)
    return world.with_part(replace(world.record.routing, switch=switch))


def _cause(world: World) -> Cause:
    return world.record.override.cause if world.record.override else Cause.ROLLED_BACK


def _rollback_reason(world: World) -> str:
    commit, _, reason = _decided_by(world)
    return reason or f"rolled back by {commit[:10]}"


def _decided_by(world: World) -> tuple[str, str, str]:
    """Commit, person and reason of the movement that is due."""
    override, primary = world.record.override, world.desired.primary
    if override:
        return "", override.by, override.reason
    if primary and world.desired_digest == world.primary_digest:
        return primary.changed_by.commit, primary.changed_by.author, primary.changed_by.subject
    if world.named:
        return "", "", "primary.yaml named it when it was read last"
    return world.desired.commit, "", "first deployment"


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
    """Yield the Services that the record points to a version, or is about to."""
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
    if newest is not None and is_closed(world, newest):
        return world.record.routing.traffic  # It gets no pods.
    if newest and _may_show(world, newest):
        return newest.digest
    shown = world.record.version(world.record.routing.preview)
    shown = None if shown is not None and is_closed(world, shown) else shown
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

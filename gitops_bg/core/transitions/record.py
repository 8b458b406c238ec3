"""The steps that keep the record itself: restored from Git's memory, without times in the future, with what the app's
folder said last, and with the list of rollouts.

A file that nobody can read now says nothing: what it said before holds. What left Git is remembered as long as it may
be live, for otherwise nobody would delete it, or report it. Where the folder cannot be read whole, nothing has left it.

The list of rollouts reads what the steps before it decided, so that no end of a rollout can be missed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

from gitops_bg.core.checks.auxiliary import may_be_live
from gitops_bg.core.checks.gates import gates_to_show
from gitops_bg.core.checks.onboarding import is_stranded, successor
from gitops_bg.core.checks.phase import is_to_go
from gitops_bg.core.checks.pods import without_traffic
from gitops_bg.core.checks.versions import next_color, reached
from gitops_bg.core.delivery.ledger import acknowledge_ledger, begun, recalled
from gitops_bg.core.foreign_json import tag_of
from gitops_bg.core.model.analysis import AnalysisStage
from gitops_bg.core.model.auxiliary import ROUTES, Autoscaler, AuxiliaryObject
from gitops_bg.core.model.decision import ASKS_PEOPLE
from gitops_bg.core.model.desired import LedgerMemory
from gitops_bg.core.model.digest import is_computed_here, is_genuine, is_whole, same_content
from gitops_bg.core.model.observed import ReplicaSetView, ServiceView
from gitops_bg.core.model.record import Event, FormerService, LastRead, Rollout, RolloutOutcome, SwitchKind
from gitops_bg.core.model.spec import DeletionPolicy
from gitops_bg.core.model.statements import Says
from gitops_bg.core.model.version import UNKNOWN, Source, Stage, StageEvent, Version, short, stage_after
from gitops_bg.core.world import World

_Part = TypeVar("_Part")

AS_RECORDED: Mapping[str, str] = {
    "Source.date": "a commit says it, by the clock of its author",
    "Restart.at": "a person chooses it",
    "Restart.youngest": "the cluster says it, by its own clock",
    "OperatorState.restarted": "a person chose it",
    "MetricRun.measurements": "only shown: the next one counts from `last_at`",
    "Analyses.past": "only shown",
    "Record.ledger": "an entry stays as it was noted: Git may have it",
    "GroupRecord.ledger": "likewise",
}
"""The fields whose times stay as they are, each with its reason."""


def clamp_future_timestamps(world: World) -> World:
    """Return the same world, in which no wait counts from a future time."""
    record = by_now(world.record, world.now)
    return world if record is world.record else world.with_record(record)


def by_now(part: _Part, now: datetime) -> _Part:
    """Return a record, or a part of one, with each time that is still to come set to now; itself where there is none.

    The order of times stays, as far as they still differ.
    """
    return _corrected(part, now) if _is_ahead(part, now) else part


def _is_ahead(part: Any, now: datetime) -> bool:
    """Return whether any time is still to come: asked in each pass, so without a copy of anything."""
    times, parts = _times_of(part.__class__)
    for name in times:
        at = getattr(part, name)
        if at is not None and at > now:
            return True
    for name in parts:
        for one in _each(getattr(part, name)):
            if _is_ahead(one, now):
                return True
    return False


def _corrected(part: Any, now: datetime) -> Any:
    times, parts = _times_of(part.__class__)
    changes: dict[str, Any] = {name: min(at, now) for name in times if (at := getattr(part, name)) is not None}
    for name in parts:
        before = getattr(part, name)
        after = tuple(by_now(one, now) for one in _each(before))
        changes[name] = after if isinstance(before, tuple) else next(iter(after), None)
    return replace(part, **changes)


def _each(value: Any) -> tuple[Any, ...]:
    """Return the parts in a field: several, one, or none."""
    if isinstance(value, tuple):
        return value
    return () if value is None else (value,)


@cache
def _times_of(kind: type) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fields of a part of a record that are times, and those that hold parts with times."""
    hints = get_type_hints(kind)
    names = [each.name for each in fields(kind) if f"{kind.__name__}.{each.name}" not in AS_RECORDED]
    times = tuple(name for name in names if hints[name] is datetime or datetime in get_args(hints[name]))
    parts = tuple(name for name in names if any(any(_times_of(part)) for part in _parts_of(hints[name])))
    return times, parts


def _parts_of(hint: Any) -> Iterator[type]:
    if is_dataclass(hint) and isinstance(hint, type):
        yield hint
    for inner in get_args(hint):
        yield from _parts_of(inner)


ENDINGS = {
    DeletionPolicy.ORPHAN: "deletionPolicy: orphan: its objects stay as they are, and serve, and are nobody's of ours",
    DeletionPolicy.REVERT_TO_TARGET: "deletionPolicy: revertToTarget: live traffic goes where it went before the app",
}
"""What the ledger tells of the end of an app, by its policy, beside that it is deleted."""


def record_departure(world: World) -> World:
    """Note one entry when the folder of an app has left main; where it is to go, once nothing speaks against that."""
    if world.desired.in_git or not world.desired.knowledge.counts or world.record.orphaned:
        return world
    policy, stranded = world.spec.deletion_policy, is_stranded(world)
    leaves = (policy is not DeletionPolicy.KEEP or world.moved) and not stranded
    if leaves and not is_to_go(world):
        return world
    world = world.with_record(replace(world.record, orphaned=True))
    if is_to_go(world):
        reason = ENDINGS.get(policy, "")
        reason = f"it is the app {successor(world)} now, which has its Services" if world.moved else reason
        return world.with_ledger_entry(Event.DELETED, origin=world.active, commit=world.desired.commit, reason=reason)
    why = f"it was to be the app {successor(world)}" if stranded else "without deletionPolicy: delete"
    reason = f"the app's folder has left main{', ' if stranded else ' '}{why}; it keeps serving"
    return world.with_ledger_entry(Event.ORPHANED, to=world.active, commit=world.desired.commit, reason=reason)


def remember_last_read(world: World) -> World:
    """Remember what can be read now; of what cannot, what was remembered holds."""
    auxiliary_objects = _auxiliary_objects(world)
    return world.with_part(
        LastRead(
            replicas=_replicas(world),
            auxiliary_objects=auxiliary_objects,
            autoscaler=_autoscaler(world, auxiliary_objects),
            former_services=_former_services(world),
            moved_to=_moved_to(world),
        )
    )


def _replicas(world: World) -> int | None:
    """Return the size that the target asks for; an autoscaler in its place asks for none."""
    before, target = world.record.last_read.replicas, world.target
    return before if not target or target.replicas is None else target.replicas


def _auxiliary_objects(world: World) -> tuple[AuxiliaryObject, ...]:
    """Return what Git names, and what it named before and may be live. A route that is found where the record is new
    was named before.
    """
    desired, known, views = world.desired, world.record.last_read.auxiliary_objects, world.observed.auxiliary_objects
    if not (desired.auxiliary_objects or known or views):
        return ()
    routes = {view.auxiliary_object for view in views if view.auxiliary_object.kind in ROUTES}
    left = routes.union(known).difference(desired.auxiliary_objects)
    staying = (one for one in left if not desired.whole or may_be_live(world.auxiliary_object(one)))
    return tuple(sorted((*desired.auxiliary_objects, *staying)))


def _autoscaler(world: World, auxiliary_objects: tuple[AuxiliaryObject, ...]) -> Autoscaler | None:
    """Return what sizes the live version: the one in Git; one that left it counts until its copy is deleted."""
    before = world.record.last_read.autoscaler
    return world.desired.autoscaler or (before if before and before.copy in auxiliary_objects else None)


def _moved_to(world: World) -> str:
    """Return the new name of the app: what main said once counts until the folder is back, for an app whose Services
    nobody has taken over yet must not leave by its policy because that line is gone.
    """
    said, before = world.desired.moved_to, world.record.last_read.moved_to
    if not (said or before) or world.in_main_for_sure:
        return ""
    return said or before if world.left_main else before


def _former_services(world: World) -> tuple[FormerService, ...]:
    """Return each Service of ours that Git no longer names, and since when, until it is deleted or named again; of one
    that is to show the preview, until it has followed long enough.

    Clients still use the old name of a Service that carried live traffic until ``app.yaml`` named others. So it moves
    with live traffic as long as its manifest is in Git, or those that ``app.yaml`` names instead carry none, and for a
    whole ``scaleDownDelaySeconds`` afterwards: also one that ``app.yaml`` names for the preview now, which shows no
    candidate before. A former preview Service carried nothing, and is only reported. The agent deletes none.
    """
    strategy, views = world.spec.strategy, world.observed.former_services
    if not views:
        return ()
    known = {each.name: each for each in world.record.last_read.former_services}
    theirs = (view for view in views if view.ours and view.name not in strategy.active_services)
    there = sorted(theirs, key=lambda view: view.name)
    noted = (_dated(world, known.get(view.name) or _first_seen(world, view), view) for view in there)
    return tuple(each for each in noted if each.name != strategy.preview_service or world.follows(each))


def _first_seen(world: World, view: ServiceView) -> FormerService:
    is_preview = view.name == world.observed.former_preview
    return FormerService(view.name, world.now if is_preview else None, preview=is_preview)


def _dated(world: World, former: FormerService, view: ServiceView) -> FormerService:
    """Set since when a Service only has to be followed for a while: it has left Git, and its successors carry
    traffic.
    """
    if former.preview:
        return former
    is_preview = former.name == world.spec.strategy.preview_service
    if not is_preview and any(each.service == former.name for each in world.desired.ports):
        return replace(former, left_at=None)
    waits = bool(without_traffic(world))
    if former.left_at:
        still_carries = waits and view.digest == short(world.record.routing.traffic)
        return replace(former, left_at=None) if still_carries else former
    return former if waits or not world.desired.whole else replace(former, left_at=world.now)


def restore_record(world: World) -> World:
    """Forget the entries that have reached the state branch, and correct times that are still to come; fill a new
    record with what the ledger and the cluster know.
    """
    return _remembered(clamp_future_timestamps(acknowledge_ledger(world)))


def _remembered(world: World) -> World:
    """Begin a new record: take numbers, holds and past digests from the ledger, and existing ReplicaSets.

    Where Git has not been read yet, the ledger is read as soon as it has.
    """
    if world.record.epoch:
        return _recalled(world)
    record = begun(world.record, world.observed.app_uid, world.spec.retry, world.observed.requests)
    world = _recalled(world.with_record(record))
    for view in sorted(world.observed.replica_sets, key=lambda each: each.number):
        world = _restore_version(world, view)
    return world


def _recalled(world: World) -> World:
    """Add what the ledger knows, once it can be read; what the record knows itself takes precedence."""
    record, memory = world.record, world.desired.memory or LedgerMemory()
    if not record.unrecalled or not world.desired.seen:
        return world
    record = recalled(record, memory)
    known = tuple(digest for digest in memory.active_digests if digest not in record.routing.activations)
    record = replace(
        record,
        last_version=max(record.last_version, memory.last_version),
        routing=replace(record.routing, activations=(*known, *record.routing.activations)),
        git=replace(record.git, primary_by=record.git.primary_by or memory.primary_by),
        proving=replace(record.proving, proven=record.proving.proven or memory.proven),
        contract=record.contract or memory.contract,
        versions=tuple(_served(world, each) if each.digest in known else each for each in record.versions),
    )
    return world.with_record(record)


def _served(world: World, version: Version) -> Version:
    """Return the version as one that served before: it was given a place before anybody could read the ledger."""
    return version if version.was_active else replace(version, activated_at=world.now, left_at=world.now)


def _restore_version(world: World, view: ReplicaSetView) -> World:
    """Give a ReplicaSet that outlived its record a version again: a retired one, unless Git still names it.

    It has a rollout of its own: what somebody asks of one rollout counts for no other version.
    """
    record = world.record
    usable = view.ours and not view.deleting and view.snapshot.text and view.number and _is_certain(world, view)
    if not usable or record.version(view.snapshot.digest) or record.numbered(view.number):
        return world
    served = view.snapshot.digest in record.routing.activations
    version = Version(
        number=view.number,
        snapshot=view.snapshot,
        color=view.color or next_color(world),
        stage=stage_after(UNKNOWN, StageEvent.FOUND_AGAIN if served else StageEvent.FOUND),
        source=_source(world, view.snapshot.digest),
        rollout=record.rollout + 1,
        rollout_started_at=world.now,
        waiting_since=world.now,
        activated_at=world.now if served else None,
        left_at=world.now if served else None,
        tag=tag_of(view.snapshot.text),
        prepared=view.replicas > 0,  # none has pods before its Jobs have succeeded
    )
    record = replace(record, rollout=version.rollout, last_version=max(record.last_version, view.number))
    return world.with_record(record.with_version(version))


def _is_certain(world: World, view: ReplicaSetView) -> bool:
    """Return whether a ReplicaSet is of the version that it names: its digest is that of its snapshot. One with a
    prefix of another release cannot be compared; then Git must name the same content. A short digest names no version.
    """
    if not is_whole(view.snapshot.digest):
        return False
    if is_computed_here(view.snapshot.digest):
        return is_genuine(view.snapshot)
    documents = (world.desired.primary, world.desired.target)
    return any(same_content(view.snapshot, one.snapshot) for one in documents if one)


def _source(world: World, digest: str) -> Source:
    """Return the commit that brought a snapshot, where main still names it."""
    documents = (world.desired.primary, world.desired.target)
    return next((one.source for one in documents if one and one.snapshot.digest == digest), Source(commit=""))


MOST_ROLLOUTS = 5
"""How many rollouts a record keeps; the ledger has all of them."""


def update_rollouts(world: World) -> World:
    """Bring the list up to date with the versions of the record."""
    known = world.record.rollouts
    begun = tuple(_begun(version) for version in _newly_begun(world))
    rollouts = tuple(_updated(world, rollout) for rollout in (*known, *begun))[-MOST_ROLLOUTS:]
    return world if rollouts == known else world.with_record(replace(world.record, rollouts=rollouts))


def _newly_begun(world: World) -> list[Version]:
    """Return versions in a rollout that the list lacks; a new list begins with the versions wanted now."""
    book = world.record.rollouts
    last = book[-1].number if book else 0
    begun = {
        version.rollout: version
        for version in world.record.versions
        if version.rollout > last
        and not _was_found_serving(version)
        and (book or (not version.retiring and version.stage in (Stage.CANDIDATE, Stage.ACTIVE)))
    }
    return [begun[number] for number in sorted(begun)]


def _was_found_serving(version: Version) -> bool:
    """Return whether a version served when its rollout began: its record was lost, and nobody promoted it since."""
    return version.stage is Stage.ACTIVE and version.activated_at == version.rollout_started_at


def _begun(version: Version) -> Rollout:
    return Rollout(version.rollout, version.number, version.digest, version.rollout_started_at)


def _updated(world: World, rollout: Rollout) -> Rollout:
    if rollout.outcome is not None:
        return reached(world, _left(world, rollout)) if rollout.outcome.good else rollout
    if not rollout.hurried and _is_hurried(world, rollout):
        rollout = replace(rollout, hurried=True)
    rollout = reached(world, rollout)
    outcome = _outcome(world, rollout)
    rollout = _with_waiting(world, rollout, outcome is None and _waits_for_people(world))
    if outcome is None:
        return rollout
    return reached(world, replace(rollout, outcome=outcome, finished_at=_finished_at(world, rollout)))


def _finished_at(world: World, rollout: Rollout) -> datetime:
    """Return when a rollout ended: now, or, without an analysis after promotion, when traffic moved to its version."""
    active, run = world.active, world.record.run(AnalysisStage.POST)
    judged = rollout.hurried or (run is not None and run.rollout == rollout.number)
    if active is None or active.rollout != rollout.number or judged:
        return world.now
    return active.activated_at or world.now


def _left(world: World, rollout: Rollout) -> Rollout:
    """Change the outcome of a promoted rollout that was rolled back later."""
    version = world.record.version(rollout.digest)
    if version is None or version.rollout != rollout.number or not _was_rolled_back(world, version):
        return rollout
    return replace(rollout, outcome=RolloutOutcome.ROLLED_BACK, finished_at=version.left_at)


def _outcome(world: World, rollout: Rollout) -> RolloutOutcome | None:
    """Return how a rollout ended; None while it is under way."""
    version = world.record.version(rollout.digest)
    if version is None or version.rollout != rollout.number:
        return RolloutOutcome.SUPERSEDED
    if version.digest == world.record.routing.traffic:
        promoted = RolloutOutcome.FAST_PROMOTED if rollout.hurried else RolloutOutcome.PROMOTED
        return None if _is_judged(world, rollout) or _is_left(world) else promoted
    if _was_rolled_back(world, version) and version.activated_at and version.activated_at >= rollout.started_at:
        return RolloutOutcome.ROLLED_BACK
    if world.record.held(version.digest):
        return RolloutOutcome.ABORTED
    if not version.retiring and version.stage is Stage.CANDIDATE:
        return None
    return RolloutOutcome.CANCELLED if _is_set_back(world, version) else RolloutOutcome.SUPERSEDED


def _is_set_back(world: World, version: Version) -> bool:
    """Return whether the target names the serving version, or another version that existed before this one."""
    wanted = world.record.version(world.target_digest)
    return world.target_digest == world.record.routing.traffic or (
        wanted is not None and wanted.number < version.number
    )


def _was_rolled_back(world: World, version: Version) -> bool:
    """Return whether traffic left the version with a hold that was put while it served, and that nobody answered."""
    objection = world.record.objection(version.digest)
    if objection is None or objection.lifted not in (None, Says.PASSED_OVER):
        return False
    if version.activated_at is None or version.left_at is None:
        return False
    return version.activated_at <= objection.since <= version.left_at


def _is_hurried(world: World, rollout: Rollout) -> bool:
    """Return whether somebody has just asked for `promote --full`: an entry of this pass has not reached Git yet."""
    return any(entry.event is Event.SKIPPED and entry.rollout == rollout.number for entry in world.record.ledger)


def _is_judged(world: World, rollout: Rollout) -> bool:
    """Return whether an analysis after promotion may still roll it back."""
    run = world.record.run(AnalysisStage.POST)
    return run is not None and run.rollout == rollout.number and run.open


def _is_left(world: World) -> bool:
    """Return whether traffic is going back: the outcome is known once it has arrived."""
    return world.switch_kind is SwitchKind.ROLLBACK


def _waits_for_people(world: World) -> bool:
    shut = {gate.kind for gate in gates_to_show(world) if not gate.open}
    return world.suspended or (bool(shut) and shut <= ASKS_PEOPLE)


def _with_waiting(world: World, rollout: Rollout, waits: bool) -> Rollout:
    if waits is (rollout.waiting_since is not None):
        return rollout
    if rollout.waiting_since is None:
        return replace(rollout, waiting_since=world.now)
    waited = rollout.waited_seconds + round((world.now - rollout.waiting_since).total_seconds())
    return replace(rollout, waiting_since=None, waited_seconds=waited)

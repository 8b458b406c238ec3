"""The step that keeps the list of rollouts: when each reached what, how long it waited for people, how it ended.

It reads what the steps before it decided, so that no end of a rollout can be missed here. Decides nothing.
"""

from dataclasses import replace
from datetime import datetime

from gitops_bg.core.checks.gates import gates_to_show
from gitops_bg.core.checks.milestones import reached
from gitops_bg.core.model.analysis.metrics import AnalysisStage
from gitops_bg.core.model.decision import ASKS_PEOPLE
from gitops_bg.core.model.record import Event, Rollout, RolloutOutcome, SwitchKind
from gitops_bg.core.model.statements import Says
from gitops_bg.core.model.version import Stage, Version
from gitops_bg.core.world import World

MOST_ROLLOUTS = 5
"""How many rollouts a record keeps; the ledger has all of them."""


def update_rollouts(world: World) -> World:
    """Bring the list up to date with the versions of the record."""
    known = world.record.rollouts
    begun = tuple(_begun(version) for version in _newly_begun(world))
    rollouts = tuple(_updated(world, rollout) for rollout in (*known, *begun))[-MOST_ROLLOUTS:]
    return world if rollouts == known else world.with_record(replace(world.record, rollouts=rollouts))


def _newly_begun(world: World) -> list[Version]:
    """Versions in a rollout that the list lacks; a new list begins with the versions wanted now."""
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
    """Whether a version served when its rollout began: its record was lost, and nobody promoted it since."""
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
    """When a rollout ended: now, or, without an analysis after promotion, when traffic moved to its version."""
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
    """How a rollout ended; None while it is under way."""
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
    """Whether the target names the serving version, or another version that existed before this one."""
    wanted = world.record.version(world.target_digest)
    return world.target_digest == world.record.routing.traffic or (
        wanted is not None and wanted.number < version.number
    )


def _was_rolled_back(world: World, version: Version) -> bool:
    """Whether traffic left the version with a hold that was put while it served, and that nobody answered."""
    objection = world.record.objection(version.digest)
    if objection is None or objection.lifted not in (None, Says.PASSED_OVER):
        return False
    if version.activated_at is None or version.left_at is None:
        return False
    return version.activated_at <= objection.since <= version.left_at


def _is_hurried(world: World, rollout: Rollout) -> bool:
    """Whether somebody has just asked for `promote --full`: an entry of this pass has not reached Git yet."""
    return any(entry.event is Event.SKIPPED and entry.rollout == rollout.number for entry in world.record.ledger)


def _is_judged(world: World, rollout: Rollout) -> bool:
    """Whether an analysis after promotion may still roll it back."""
    run = world.record.run(AnalysisStage.POST)
    return run is not None and run.rollout == rollout.number and run.open


def _is_left(world: World) -> bool:
    """Whether traffic is going back: the outcome is known once it has arrived."""
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

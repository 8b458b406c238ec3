"""When time alone changes the decision: the earliest end of any wait."""

from collections.abc import Iterator
from datetime import datetime

from gitops_bg.core.checks.availability import is_in_flight, progress_deadline
from gitops_bg.core.checks.draining import arrived_at, drained_at, former_moments, may_still_serve
from gitops_bg.core.checks.gates import gates_before_commit, gates_to_show
from gitops_bg.core.checks.hook_timing import consulting_moments, telling_moments
from gitops_bg.core.checks.restart import recheck_at
from gitops_bg.core.checks.stabilization import stabilization_ends
from gitops_bg.core.model.analysis_runs import moments
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.metrics import AnalysisStage
from gitops_bg.core.world import World


def wake_at(world: World, gates: tuple[GateResult, ...] | None = None) -> datetime | None:
    """The next moment, after ``now``, at which to decide again; None where only an event can change anything.

    Who has worked out `gates_to_show` already gives them.
    """
    shown = gates_to_show(world) if gates is None else gates
    return min((moment for moment in _moments(world, shown) if moment > world.now), default=None)


def _moments(world: World, shown: tuple[GateResult, ...]) -> Iterator[datetime]:
    if world.spec.suspend and world.spec.suspend.until:
        yield world.spec.suspend.until
    if world.spec.strategy.hooks:
        yield from consulting_moments(world)
        yield from telling_moments(world)
    yield from _of_analyses(world)
    yield from former_moments(world)
    if world.suspended:
        return
    ends = stabilization_ends(world, world.active) if world.active else None
    if ends:
        yield ends
    drained = drained_at(world)
    if drained and any(may_still_serve(world, version) for version in world.record.versions if version.retiring):
        yield drained
    recheck = recheck_at(world)
    if recheck:
        yield recheck
    yield from (gate.until for gate in (*shown, *_gates_behind(world)) if gate.until)
    for version in world.record.versions:
        if version.scale_down_at:
            yield version.scale_down_at
        deadline = progress_deadline(world, version)
        if deadline and not version.failure and is_in_flight(world, version):
            yield deadline


def _of_analyses(world: World) -> Iterator[datetime]:
    for run in world.record.analyses.runs:
        if run.stage is AnalysisStage.POST or not world.suspended:
            yield from moments(run)
    judged = world.record.run(AnalysisStage.POST)
    arrived = arrived_at(world) if judged and not judged.started_at else None
    if arrived:
        yield arrived


def _gates_behind(world: World) -> tuple[GateResult, ...]:
    """Those of a candidate that waits behind a version on its way."""
    behind = world.candidate if world.incoming else None
    return gates_before_commit(world, behind) if behind else ()

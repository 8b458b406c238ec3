"""The runs that are over: how many are remembered, and how little of each. Decides nothing about versions or traffic.

The limits are those of `spec.analysis` (argo-rollouts.md §1.3): the newest are kept, good and other ones
apart; the last run of each stage is in ``Record.analyses.runs`` and beyond any limit. A record is one object of the
cluster, which takes about 1 MiB: of a run that is over only verdict, counts and the last answers stay.
"""

from dataclasses import replace

from gitops_bg.core.model.analysis_runs import AnalysisRun, MetricRun, terminated
from gitops_bg.core.model.metrics import AnalysisPhase
from gitops_bg.core.world import World

MOST_CHARACTERS = 64 * 1024
"""Of all remembered runs together; the oldest beyond it are forgotten, whatever the limits say."""

_FRAME = 250
"""Characters of a run, or of a metric of it, beside its texts."""


def remember(world: World, run: AnalysisRun) -> World:
    """Put a run that makes room into the history; one that still measured ends so. One that never began leaves none."""
    if run.started_at is None:
        return world
    past = _light(terminated(run, world.now) if run.running else run)
    return world.with_part(replace(world.record.analyses, past=(*world.record.analyses.past, past)))


def forget_runs(world: World) -> World:
    """Forget the oldest runs beyond the limits, also after these were lowered, and those of versions that are gone."""
    room = {True: world.spec.successful_run_history_limit, False: world.spec.unsuccessful_run_history_limit}
    characters, kept = MOST_CHARACTERS, []
    for run in reversed(world.record.analyses.past):
        good = run.phase is AnalysisPhase.SUCCESSFUL
        characters -= _size(run)
        if world.record.version(run.digest) is None or room[good] <= 0 or characters < 0:
            continue
        room[good] -= 1
        kept.append(run)
    past = tuple(reversed(kept))
    return world if past == world.record.analyses.past else world.with_part(replace(world.record.analyses, past=past))


def _light(run: AnalysisRun) -> AnalysisRun:
    return replace(run, metrics=tuple(_without_question(one) for one in run.metrics))


def _without_question(one: MetricRun) -> MetricRun:
    metric = replace(one.metric, query="{}", success="", failure="")
    return replace(one, metric=metric, measurements=one.measurements[-1:])


def _size(run: AnalysisRun) -> int:
    words = [word for pair in (*run.labels, *run.annotations) for word in pair]
    for one in run.metrics:
        words += [one.metric.name, *(text for last in one.measurements for text in (last.value, last.message))]
    return sum(map(len, words)) + _FRAME * (1 + len(run.metrics))

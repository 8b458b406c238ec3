"""The runs that are over: how many are remembered, and how much of each. Decides nothing about versions or traffic.

The limits are those of `spec.analysis` (argo-rollouts.md §1.3): the newest successful and the newest other runs are
kept; the last run of each stage is in ``Record.analyses.runs``, without a limit. A record is one object of the cluster,
which takes about 1 MiB: only verdict, counts and the last answers of an ended run stay.
"""

from dataclasses import replace

from gitops_bg.core.model.analysis_runs import AnalysisRun, MetricRun, terminated
from gitops_bg.core.model.metrics import AnalysisPhase
from gitops_bg.core.world import World

MOST_CHARACTERS = 64 * 1024
"""The most characters of all remembered runs together; the oldest beyond it are forgotten, whatever the limits say."""

_FRAME = 250
"""Characters of a run, or of one of its metrics, in addition to its texts."""


def remember(world: World, run: AnalysisRun) -> World:
    """Move a replaced run into the history, ended if it was still measuring. A run that never began leaves nothing."""
    if run.started_at is None:
        return world
    past = _light(terminated(run, world.now) if run.running else run)
    return world.with_part(replace(world.record.analyses, past=(*world.record.analyses.past, past)))


def forget_runs(world: World) -> World:
    """Forget the oldest runs beyond the limits, also after the limits were lowered, and runs of forgotten versions."""
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

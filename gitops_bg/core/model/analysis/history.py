"""The analysis runs that a record remembers: the last of each stage, and those before. Pure; judges nothing.

The limits are those of `spec.analysis` (argo-rollouts.md §1.3): the newest successful and the newest other runs are
kept; the last run of each stage has no limit. A record is one object of the cluster, which takes about 1 MiB: only
verdict, counts and the last answers of an ended run stay.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from gitops_bg.core.model.analysis.metrics import AnalysisPhase, AnalysisStage
from gitops_bg.core.model.analysis.runs import AnalysisRun, MetricRun, terminated

MOST_CHARACTERS = 64 * 1024
"""The most characters of all past runs together; the oldest beyond it are forgotten, whatever the limits say."""

MOST_RUNS = 5
"""How many past runs that ended well are kept by default, and as many others."""

_FRAME = 250
"""Characters of a run, or of one of its metrics, in addition to its texts."""


@dataclass(frozen=True, slots=True)
class Analyses:
    """The analysis runs."""

    runs: tuple[AnalysisRun, ...] = ()
    """The last run of each stage."""
    past: tuple[AnalysisRun, ...] = ()
    """The runs that these replaced, oldest first, without queries and with the last answers only."""

    def run(self, stage: AnalysisStage) -> AnalysisRun | None:
        """The last run of a stage, or None."""
        return next((run for run in self.runs if run.stage is stage), None)

    def newest(self) -> AnalysisRun | None:
        """The last run of all, or None; of one rollout that after promotion."""
        return max(self.runs, key=lambda one: (one.rollout, one.stage is AnalysisStage.POST), default=None)

    def next_attempt(self, stage: AnalysisStage, rollout: int) -> int:
        """The attempt of a run that begins now: one more than those that are known of its stage and rollout."""
        runs = (run for run in (*self.runs, *self.past) if (run.stage, run.rollout) == (stage, rollout))
        return 1 + max((run.attempt for run in runs), default=0)

    def with_run(self, run: AnalysisRun, now: datetime) -> "Analyses":
        """These with a run as the last of its stage; the one that it replaces is a past one then."""
        last = self.run(run.stage)
        others = tuple(one for one in self.runs if one.stage is not run.stage)
        replaced = last is not None and (last.rollout, last.attempt) != (run.rollout, run.attempt)
        past = self._with_past(last, now) if last is not None and replaced else self.past
        return Analyses((*others, run), past)

    def without_run(self, run: AnalysisRun, now: datetime) -> "Analyses":
        """These with a run among the past ones."""
        return Analyses(tuple(one for one in self.runs if one != run), self._with_past(run, now))

    def within(self, good: int, others: int, is_known: Callable[[AnalysisRun], bool] = lambda _: True) -> "Analyses":
        """These without the oldest past runs beyond the limits, also after they were lowered, and without those of
        which nobody knows the version any more.
        """
        room = {True: good, False: others}
        characters, kept = MOST_CHARACTERS, []
        for run in reversed(self.past):
            is_good = run.phase is AnalysisPhase.SUCCESSFUL
            characters -= _size(run)
            if not is_known(run) or room[is_good] <= 0 or characters < 0:
                continue
            room[is_good] -= 1
            kept.append(run)
        past = tuple(reversed(kept))
        return self if past == self.past else replace(self, past=past)

    def _with_past(self, run: AnalysisRun, now: datetime) -> tuple[AnalysisRun, ...]:
        if run.started_at is None:
            return self.past
        return (*self.past, _light(terminated(run, now) if run.running else run))


class RunRecord(Protocol):
    """A record with analysis runs: that of an app, or of a release group."""

    @property
    def epoch(self) -> str:
        """What tells its measurements from those of a record that was lost."""
        ...

    @property
    def analyses(self) -> Analyses:
        """Its runs."""
        ...


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

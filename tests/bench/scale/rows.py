"""The rows of `scale`: the same figures with 1, 10, 100 … apps, and what one app more takes of memory.

One stage for each number, and one agent on it. The change is always that of one and the same app.
"""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from tests.bench.measure import CHANGE_MS, COLD_START_S, IDLE_MS, MEMORY_MIB, Measurements
from tests.bench.rows import Row
from tests.bench.scale.held import PARTS
from tests.bench.stage import Size, Stage, watching

KEY = "scale"
COLD, COLD_CPU, MEMORY = "cold start", "… CPU of the agent", "… memory of the agent"
IDLE = "idle tick: CPU of the agent"
CREATED, CHANGE = "one change: commit seen → candidate", "… CPU of the agent for it"
ONE_APP = "memory of one app more"
_FIRST, _STEP = 1, 10
GROWTH = 1.5
"""The cost of a change counts as independent of the other apps up to this factor; the rest is noise."""
_BUDGET_OF = 10_000
"""The number of apps that the budget of memory is for."""


class Make(Protocol):
    """Makes a stage of a size."""

    def __call__(self, size: Size) -> AbstractContextManager[Stage]: ...


@dataclass(frozen=True)
class _Figures:
    """What was measured with a number of apps; KiB of what the agent holds, by part."""

    apps: int
    values: Mapping[str, float]
    held: Mapping[str, float]


def numbers(most: int) -> list[int]:
    """How many apps there are, one time after the other.

    >>> numbers(1_000), numbers(24), numbers(1)
    ([1, 10, 100, 1000], [1, 10, 24], [1])
    """
    found = [_FIRST]
    while found[-1] * _STEP < most:
        found.append(found[-1] * _STEP)
    return [*found, most] if most > found[-1] else found


def measure_scale(make: Make, size: Size) -> Iterator[Row]:
    """All rows, up to as many apps as ``size`` says."""
    figures = []
    for apps in numbers(size.apps):
        figures.append(_measure(make, dataclasses.replace(size, apps=apps, auto=0)))
        yield from _rows_of(figures[-1], figures[0])
    for fewer, more in pairwise(figures[-2:]):
        yield from _memory_rows(fewer, more)


def _measure(make: Make, size: Size) -> _Figures:
    with make(size) as stage:
        begun = time.monotonic()
        with stage.agent() as agent, watching(stage) as seen:
            measurements = Measurements(stage, size, agent, seen)
            took, tick = measurements.start(begun), measurements.ticks()
            (app,) = stage.unchanged(1)
            measurements.one_change(app, "1.1.0")  # the first one reads code that later ones have
            changes = [measurements.one_change(app, f"1.1.{number}") for number in range(1, size.changes + 1)]
            held = agent.ask("held")
    created, cpu = (statistics.median(each) for each in zip(*changes, strict=True))
    values = {COLD: took.seconds, COLD_CPU: took.cpu, MEMORY: took.resident}
    return _Figures(size.apps, {**values, IDLE: tick.cpu, CREATED: created, CHANGE: cpu}, held)


def _rows_of(figures: _Figures, first: _Figures) -> Iterator[Row]:
    units = {COLD: "s", COLD_CPU: "s", MEMORY: "MiB", IDLE: "ms", CREATED: "ms", CHANGE: "ms"}
    budgets = {COLD: COLD_START_S, COLD_CPU: COLD_START_S, MEMORY: MEMORY_MIB, IDLE: IDLE_MS, CREATED: CHANGE_MS}
    budgets[CHANGE] = GROWTH * first.values[CHANGE]
    for work, value in figures.values.items():
        yield _row(work, value, units[work], budgets[work], figures.apps)


def _memory_rows(fewer: _Figures, more: _Figures) -> Iterator[Row]:
    between = more.apps - fewer.apps
    resident = (more.values[MEMORY] - fewer.values[MEMORY]) * 1024 / between
    detail = f"resident, from {fewer.apps:,} to {more.apps:,} apps"
    yield _row(ONE_APP, resident, "KiB", MEMORY_MIB * 1024 / _BUDGET_OF, more.apps, detail)
    for part in PARTS:
        grown = (more.held[part.name] - fewer.held[part.name]) / between
        yield _row(f"… {part.name}", grown, "KiB", part.budget, more.apps, part.why)


def _row(work: str, value: float, unit: str, budget: float, apps: int, detail: str = "") -> Row:
    return Row(KEY, work, value, unit, budget, "sandbox", apps, detail)

"""`python -m tests.bench.soak`: days of a busy repository within an hour; nothing may grow but the history.

Each round is a quarter of a simulated day: some apps get a new image in one commit, go live by themselves, and the
agent's clock goes on by six hours, so that all that waits for time ends. A round is over once nothing is left to do.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from tests.bench.apps import MODELS, BenchApp
from tests.bench.channel import Child
from tests.bench.page import machine, markdown_table, write_block
from tests.bench.stage import Size, Stage, sandbox_stage

ROUND = 6 * 3600.0
"""Simulated seconds of a round."""
_CHANGED = 60
"""How many apps each round changes, or half of the busy ones."""
_BUSY = 120
"""How many apps change at all, again and again. What is remembered of an app is bounded: ten old ReplicaSets, twenty
entries of the ledger. Memory grows until every busy app has changed as often, so that has to be soon.
"""
_NOTHING = {"memory": 4.0, "descriptors": 4, "threads": 4, "packs": 8}
"""By how much the use of each may grow in the last third, in its unit: it goes up and down."""
_MOST = {"mirror": 500.0}
"""What is never more than that in the last third. The share of the mirror rises until packs are joined, then drops; the
larger they are, the rarer that is, so an hour shows no slope of it.
"""
_YEAR = 365 * 86_400 / ROUND
"""Rounds."""
_PAGE = Path(__file__).parents[2] / "docs" / "reference" / "reliability.md"
_COLUMNS = ("Used by the agent", "First half", "Last third", "… at most", "Grows in a year by", "")
_UNITS = {
    "memory": "MiB",
    "descriptors": "",
    "threads": "",
    "packs": "",
    "mirror": "% of new history, well packed",
}


@dataclass(frozen=True)
class Sample:
    """What the agent uses after a round."""

    round: int
    seconds: float
    """How long the round took."""
    used: dict[str, float]


@dataclass(frozen=True)
class Verdict:
    """One resource: its medians in the first half and in the last third, and its growth in each round of that.

    Until then what is bounded fills: caches, old ReplicaSets, entries of the ledger. The slope is that of Theil and
    Sen, the median of those between all pairs: a peak does not move it, a leak does.
    """

    name: str
    medians: tuple[float, float]
    most: float
    """The highest of the last third."""
    slope: float
    rounds: int

    @property
    def is_flat(self) -> bool:
        """Whether the last third grew by nothing, or stayed below its bound."""
        if self.name in _MOST:
            return self.most <= _MOST[self.name]
        return self.slope * self.rounds <= _NOTHING[self.name]


def verdicts(samples: Sequence[Sample]) -> list[Verdict]:
    """Judge all resources. Needs four samples."""
    first, last = samples[: len(samples) // 2], samples[-max(2, len(samples) // 3) :]

    def verdict(name: str) -> Verdict:
        slope = median((b.used[name] - a.used[name]) / (b.round - a.round) for a, b in itertools.combinations(last, 2))
        early, late = (median(each.used[name] for each in part) for part in (first, last))
        return Verdict(name, (early, late), max(each.used[name] for each in last), slope, len(last))

    return [verdict(name) for name in _UNITS]


def soak(stage: Stage, minutes: float, console: Console, *, trace: bool = False) -> list[Sample]:
    """Play rounds for so many minutes, at least six; ``trace`` shows what grew, and falsifies the rest."""
    chance = random.Random(20)
    samples: list[Sample] = []
    busy = stage.apps[:_BUSY]
    tags = dict.fromkeys(busy, 0)
    with stage.agent(remembers_less=True) as agent:
        agent.ask("start")
        agent.ask("idle")
        mirror, history = agent.ask("resources")["mirror"], _kib_of_history(stage)
        until = time.monotonic() + minutes * 60
        while time.monotonic() < until or len(samples) < 6:
            began = time.monotonic()
            changed = chance.sample(busy, min(_CHANGED, len(busy) // 2))
            for app in changed:
                tags[app] += 1
            _round(stage, agent, {app: f"2.0.{tags[app]}" for app in changed})
            used = agent.ask("resources")
            used["mirror"] = 100 * (used["mirror"] - mirror) / (_kib_of_history(stage) - history)
            samples.append(Sample(len(samples) + 1, time.monotonic() - began, used))
            if len(samples) % 20 == 0:
                console.print(f"round {len(samples)}: {used}", style="dim")
                if trace:
                    console.print(*agent.ask("grown", most=25), sep="\n", soft_wrap=True)
    return samples


def _round(stage: Stage, agent: Child, tags: dict[BenchApp, str]) -> None:
    files = {path: text for app, tag in tags.items() for path, text in app.target(tag).items()}
    stage.remote.commit(f"{len(tags)} new images", files)
    agent.ask("wake")
    agent.ask("idle")
    agent.ask("advance", seconds=ROUND)
    agent.ask("idle")


def _kib_of_history(stage: Stage) -> float:
    """What the history itself needs: it grows with what happens, here and in every clone."""
    return stage.remote.packed_kib()


def report(samples: Sequence[Sample], apps: int, console: Console) -> bool:
    """Print the figures; return whether all is flat."""
    found = verdicts(samples)
    console.print(_heading(samples, apps))
    table = Table(*_COLUMNS)
    for each in found:
        table.add_row(*_cells(each))
    console.print(table)
    return all(each.is_flat for each in found)


def write_docs(samples: Sequence[Sample], apps: int, page: Path = _PAGE) -> None:
    """Put the same into the page."""
    rows = list(map(_cells, verdicts(samples)))
    write_block(page, "soak", [f"{machine()}; {_heading(samples, apps)}", "", *markdown_table(_COLUMNS, rows)])


def _heading(samples: Sequence[Sample], apps: int) -> str:
    days, took = len(samples) * ROUND / 86_400, sum(each.seconds for each in samples)
    return f"{apps:,} apps, {len(samples)} rounds: {days:g} simulated days in {took / 60:.0f} minutes"


def _cells(verdict: Verdict) -> tuple[str, ...]:
    unit = f" ({_UNITS[verdict.name]})" if _UNITS[verdict.name] else ""
    early, late, most, growth = (f"{value:,.0f}" for value in (*verdict.medians, verdict.most, verdict.slope * _YEAR))
    if verdict.name not in _MOST:
        return verdict.name + unit, early, late, most, growth, "flat" if verdict.is_flat else "GROWS"
    bound = f"bound: {_MOST[verdict.name]:,.0f}"
    return verdict.name + unit, early, late, most, bound, "below it" if verdict.is_flat else "ABOVE IT"


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak and report; 1 where something grows, or an app is not healthy at the end."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.soak", description=__doc__)
    parser.add_argument("--apps", type=int, default=1_000)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--write-docs", action="store_true", help="put the table into docs/reference/reliability.md")
    parser.add_argument("--trace", action="store_true", help="show every 20 rounds which lines hold more memory; slow")
    asked = parser.parse_args(arguments)
    if asked.trace:
        os.environ["PYTHONTRACEMALLOC"] = "1"
    console = Console(width=120)
    size = Size(apps=asked.apps, auto=asked.apps)
    with sandbox_stage(size) as stage:
        samples = soak(stage, asked.minutes, console, trace=asked.trace)
        healthy = stage.healthy() - len(MODELS)
    is_flat = report(samples, asked.apps, console)
    if asked.write_docs:
        write_docs(samples, asked.apps)
    console.print(f"{healthy:,} apps are healthy at the end, and told the ledger everything")
    return 0 if is_flat and healthy == asked.apps else 1


if __name__ == "__main__":
    sys.exit(main())

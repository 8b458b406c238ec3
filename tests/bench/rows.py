"""The rows of DESIGN §8: what each is called, its budget, and what was measured. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

KEYS = (
    *("cold-start", "idle", "change", "cycle", "switch", "revert", "thousand", "restart"),
    *("decide", "forge", "command-line", "dashboard", "environments", "streams", "unchanged", "scale"),
)
"""What `--only` takes."""


@dataclass(frozen=True)
class Row:
    """One measured figure. ``budget`` is the most it may be; ``cluster`` is empty where none takes part."""

    key: str
    work: str
    value: float
    unit: str
    budget: float
    cluster: str = ""
    apps: int = 0
    detail: str = ""

    @property
    def met(self) -> bool:
        """Whether the budget holds."""
        return self.value <= self.budget

    @property
    def ratio(self) -> float | None:
        """The part of the budget that was used; None where the budget is nothing at all."""
        return self.value / self.budget if self.budget else None


def percentile(values: Sequence[float], percent: int) -> float:
    """The smallest value that so many percent do not pass.

    >>> percentile([3, 1, 2], 99)
    3
    """
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def spread(values: Sequence[float], unit: str = "ms") -> str:
    """How many there were and where they lie, in words."""
    low, high = min(values), max(values)
    middle = statistics.median(values)
    return f"{len(values)} times: {low:.3g} to {high:.3g}, median {middle:.3g} {unit}"

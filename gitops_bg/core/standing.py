"""What is the matter with an app, or a release group, comes from a table of situations: the first that holds counts.

The tables are `core.checks.situations` for apps, and `core.status.group_situations` for groups.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from gitops_bg.core.model.conditions import Phase

W = TypeVar("W")


@dataclass(frozen=True, slots=True)
class Situation(Generic[W]):
    """One row. ``condition``: the type of the condition that says what it means; empty: nothing is to be said.

    ``says``: a sentence about a world; empty where the situation does not hold.
    """

    phase: Phase
    condition: str
    says: Callable[[W], str]


@dataclass(frozen=True, slots=True)
class Standing:
    """The situation that counts: the phase, the sentence, and the condition that says who must act."""

    phase: Phase
    message: str
    condition: str


def first_that_holds(situations: Iterable[Situation[W]], world: W) -> Standing:
    """What is the matter, by a table from the most urgent situation to the calmest; the last row always holds."""
    found = ((row, row.says(world)) for row in situations)
    return next(Standing(row.phase, said, row.condition) for row, said in found if said)

"""A world of an app or a release group, as far as the steps about its record and what Git said need it: no more.

What hooks, analyses and operators ask needs a `Subject` beside it (`core.delivery.subject`).
"""

from dataclasses import replace
from datetime import datetime
from typing import Protocol, Self, TypeVar

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.git.main import MainRead
from gitops_bg.core.model.record import Delivery, Event
from gitops_bg.core.model.spec import Retry, Suspension
from gitops_bg.core.model.version import Source, SubjectKind


class DesiredByMain(Protocol):
    """What main says, of either kind."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The mistakes in its files."""
        ...

    @property
    def main(self) -> MainRead:
        """Main as it was read."""
        ...

    @property
    def commit(self) -> str:
        """The commit of main that says it."""
        ...


class Describes(Protocol):
    """What its file says, of either kind."""

    @property
    def suspend(self) -> Suspension | None:
        """The suspension that the file asks for, also one that is over."""
        ...

    @property
    def retry(self) -> Retry | None:
        """What is asked to be tried again, answered or not."""
        ...


class DeliveryWorld(Protocol):
    """One app or release group at one moment."""

    @property
    def kind(self) -> SubjectKind:
        """Whether it is an app or a release group."""
        ...

    @property
    def record(self) -> Delivery:
        """What it remembers."""
        ...

    @property
    def desired(self) -> DesiredByMain:
        """What main says."""
        ...

    @property
    def spec(self) -> Describes:
        """What its file says."""
        ...

    @property
    def now(self) -> datetime:
        """UTC."""
        ...

    @property
    def suspended(self) -> bool:
        """Whether it is suspended now."""
        ...

    @property
    def resumed_at(self) -> datetime | None:
        """When the last suspension ended."""
        ...

    @property
    def suspended_by(self) -> Source:
        """The commit that suspended it, or ended that; without a commit where nobody can tell."""
        ...

    @property
    def is_in_main(self) -> bool:
        """Whether main has its folder."""
        ...

    @property
    def ledger_at(self) -> tuple[str, int] | None:
        """The last entry that Git has of it, by epoch and number; None where nobody has looked."""
        ...

    @property
    def history(self) -> tuple[str, str]:
        """The commit that main has lost, and the one that the ledger was told of; empty: none."""
        ...

    def with_history(self, lost: str, told: str) -> Self:
        """The world with that in its record."""
        ...

    def with_ledger_entry_of(
        self, event: Event, digest: str = "", *, reason: str = "", by: str = "", commit: str = ""
    ) -> Self:
        """The world with one more ledger entry, about a version or about none; ``commit``: that of main which asked for
        it.
        """
        ...


W = TypeVar("W", bound=DeliveryWorld)


def with_record(world: W, record: Delivery) -> W:
    """The same world with another record: this very world where it is its own."""
    return world if record == world.record else replace(world, record=record)  # type: ignore[type-var]

"""A world of an app or a release group, as far as the steps about its record and what Git said need it: no more.

A world never changes, so a question that steps ask again and again is answered once for each. What hooks, analyses and
operators ask needs a `Subject` beside it (`core.delivery.subject`).
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

from gitops_bg.core.model.actions import WithdrawPromotion
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.main import MainRead
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
        """Return the world with that in its record."""
        ...

    def with_ledger_entry_of(
        self, event: Event, digest: str = "", *, reason: str = "", by: str = "", commit: str = ""
    ) -> Self:
        """Return the world with one more ledger entry, about a version or about none; ``commit``: that of main which
        asked for it.
        """
        ...


W = TypeVar("W", bound=DeliveryWorld)


def with_record(world: W, record: Delivery) -> W:
    """Return the same world with another record: this very world where it is its own."""
    return world if record == world.record else replace(world, record=record)  # type: ignore[type-var]


MERGED = WithdrawPromotion("main has it")
UNWANTED = WithdrawPromotion("its version is not wanted any more")


def problems_of(world: DeliveryWorld) -> str:
    """Return the mistakes in its files; empty where there is none."""
    return "; ".join(map(str, world.desired.problems))


def why_suspended(world: DeliveryWorld) -> str:
    """Return who has suspended it, and why; empty where it is not suspended."""
    suspend = world.spec.suspend
    return f"{suspend.by or 'somebody'}: {suspend.reason}" if world.suspended and suspend else ""


def may_tidy(world: DeliveryWorld) -> bool:
    """Return whether a branch that nothing asks for may go: not while it is suspended, or nobody can read what it asks
    for.
    """
    return not (world.suspended or world.desired.problems)


class KeepsAnswers(Protocol):
    """What never changes, and keeps what was answered about it."""

    @property
    def known(self) -> dict[object, Any]:
        """The answers so far, each with what was asked about."""


P = ParamSpec("P")
T = TypeVar("T")
Q = TypeVar("Q", bound=KeepsAnswers)


def answered_once(question: Callable[Concatenate[Q, P], T], /) -> Callable[Concatenate[Q, P], T]:
    """Cache a question for each world and its arguments: steps ask the same questions again and again.

    A world never changes; another record makes another world. Arguments are compared by identity (hashing a version
    costs more than most answers), and kept with the answer, so that no other object can get the same identity.
    """

    @wraps(question)
    def answer(world: Q, /, *about: P.args, **none: P.kwargs) -> T:
        key = (question, *map(id, about)) if about else question
        known = world.known.get(key)
        if known is None:
            known = world.known[key] = (about, question(world, *about, **none))
        found: T = known[1]
        return found

    return answer

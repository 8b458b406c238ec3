"""What is measured of each contender, whoever it is: the actions of a user, and when they had their effect.

An effect is there when a watch of another client shows it. All have the same apps: one pod each, ready as soon as it is
made; the old version stays warm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol

from tests.bench.apps import BenchApp

SENDERS = 8


class Moments(NamedTuple):
    """Of one action, in seconds of `time.monotonic()`."""

    asked: float
    """When the user began to ask for it."""
    there: float
    """When it had its effect."""
    woken: float | None = None
    """When the contender was told that there is something new, where that is told to it."""


class Sizes(NamedTuple):
    """How much a contender is given to do."""

    cycles: int
    releases: int
    crowd: int

    def part(self, share: int) -> Sizes:
        """So many times less for one app, at least once; the crowd is as large for all."""
        return Sizes(-(-self.cycles // share), -(-self.releases // share), self.crowd)


class Contender(Protocol):
    """One that brings a new version of an app live when its user asks for it."""

    name: str
    user: str
    """Its name in the audit log."""
    cycles: int
    """How many times an app is taken through a cycle."""
    releases: int
    """How many releases the first app of the crowd gets, each of which is taken back, while people use it."""
    crowd: Sequence[BenchApp]
    """The apps that change at once, and go live by themselves."""

    @property
    def pid(self) -> int:
        """Its process."""

    def deploy(self) -> None:
        """Bring the apps of the cycles to their first version."""

    def app(self, number: int) -> BenchApp:
        """The app of a cycle."""

    def pause(self, action: str, part: float) -> None:
        """Where it looks only now and then whether its user wants this: wait for this part of the time between."""

    def change(self, app: BenchApp, tag: str) -> Moments:
        """A new image; there when the ReplicaSet of the candidate is asked for pods."""

    def await_offer(self, app: BenchApp, tag: str) -> None:
        """Wait until nothing but its user's word is missing to go live."""

    def promote(self, app: BenchApp, tag: str) -> Moments:
        """Say that word; there when live traffic goes to the new version."""

    def roll_back(self, app: BenchApp) -> Moments:
        """Back to the first version, also of an app of the crowd; there when live traffic goes to it."""

    def rest(self, app: BenchApp) -> None:
        """Wait until nothing is left to do for an app."""

    def deploy_crowd(self) -> None:
        """Bring the crowd to its first version."""

    def release(self, app: BenchApp, tag: str) -> Moments:
        """A new image for an app of the crowd; there when live traffic goes to it."""

    def change_crowd(self, tag: str) -> tuple[Moments, str]:
        """New images for all of the crowd; there when live traffic of the last goes to it. And a note, or nothing."""


def at_once(work: Callable[[BenchApp], object], apps: Iterable[BenchApp]) -> None:
    """Send the requests of users about many apps, some at a time."""
    with ThreadPoolExecutor(SENDERS) as senders:
        list(senders.map(work, apps))

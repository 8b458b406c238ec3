"""Who begins next where places are few: subjects take turns, and none takes more than its share. Starts nothing."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from gitops_bg.core.model.version import AppOrGroup


class Turns:
    """The turns of subjects that have something waiting. ``share``: the most places that one of them may take.

    >>> turns = Turns(share=1)
    >>> for app in ("a", "b"): turns.join(app)
    >>> turns.next(waiting=lambda _: True, running=lambda _: 0), turns.next(lambda _: True, lambda _: 0)
    ('a', 'b')
    >>> turns.next(waiting=lambda _: True, running=lambda app: int(app == "a"))
    'b'
    """

    def __init__(self, share: int) -> None:
        self._share = share
        self._order: dict[AppOrGroup, None] = {}

    def join(self, subject: AppOrGroup) -> None:
        """Give a subject turns, after those that have some already."""
        self._order.setdefault(subject)

    def next(self, waiting: Callable[[AppOrGroup], bool], running: Callable[[AppOrGroup], int]) -> AppOrGroup | None:
        """Return the first in turn with something waiting that may use one more place; its next turn comes after all
        others.
        """
        for subject in list(self._order):
            if not waiting(subject):
                del self._order[subject]
            elif running(subject) < self._share:
                del self._order[subject]
                self._order[subject] = None
                return subject
        return None


class Slots:
    """At most ``size`` tasks of one event loop at once, and ``share`` of one subject; the others wait in turn."""

    def __init__(self, size: int, share: int) -> None:
        self._free = size
        self._turns = Turns(share)
        self._waiting: dict[AppOrGroup, deque[asyncio.Future[None]]] = {}
        self._running: Counter[AppOrGroup] = Counter()

    @asynccontextmanager
    async def place_for(self, subject: AppOrGroup) -> AsyncIterator[None]:
        """Wait for a place, and keep it for the length of the context."""
        mine = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(subject, deque()).append(mine)
        self._turns.join(subject)
        self._give()
        try:
            await mine
        except asyncio.CancelledError:
            if mine.cancelled():
                self._drop(subject, mine)
            else:
                self._leave(subject)
            raise
        try:
            yield
        finally:
            self._leave(subject)

    def _give(self) -> None:
        """Give the free places to those in turn."""
        while self._free and (subject := self._turns.next(self._waiting.__contains__, self._running.__getitem__)):
            mine = self._waiting[subject][0]
            self._drop(subject, mine)
            if not mine.cancelled():  # Its task has not seen yet that it was ended.
                self._free -= 1
                self._running[subject] += 1
                mine.set_result(None)

    def _drop(self, subject: AppOrGroup, mine: asyncio.Future[None]) -> None:
        waiting = self._waiting.get(subject)
        if waiting is not None and mine in waiting:
            waiting.remove(mine)
            if not waiting:
                del self._waiting[subject]

    def _leave(self, subject: AppOrGroup) -> None:
        self._free += 1
        self._running[subject] -= 1
        if not self._running[subject]:
            del self._running[subject]
        self._give()

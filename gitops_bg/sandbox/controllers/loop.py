"""What all controllers share: one thread with a queue without duplicates and a heap of timers, and indexes by which
they find what a change concerns. It must not poll.

A controller gets told of changes inside the store's lock and may only note them (`notice`); it acts in `reconcile`, on
the loop's thread, one key at a time.
"""

from __future__ import annotations

import heapq
import logging
import time
from collections import defaultdict
from collections.abc import Hashable, Mapping
from itertools import count
from threading import Condition, Thread
from typing import Protocol

from gitops_bg.sandbox.http.watches import WatchEvent
from gitops_bg.sandbox.objects.kinds import ResourceKey
from gitops_bg.sandbox.objects.store import Store

# --- objects by label, and selectors by the objects they match, found without looking at all of them ---
# They must be used inside the store's lock only.

Pair = tuple[str, str, str]
"""Namespace, label, value."""


class LabelIndex:
    """Names of labelled objects, by namespace and label pair."""

    def __init__(self) -> None:
        self._by_pair: defaultdict[Pair, set[str]] = defaultdict(set)

    def add(self, namespace: str, name: str, labels: Mapping[str, str]) -> None:
        """Enter an object."""
        for pair in labels.items():
            self._by_pair[(namespace, *pair)].add(name)

    def discard(self, namespace: str, name: str, labels: Mapping[str, str]) -> None:
        """Take an object out, by the labels it was entered with."""
        for pair in labels.items():
            key = (namespace, *pair)
            names = self._by_pair.get(key, set())
            names.discard(name)
            if not names:
                self._by_pair.pop(key, None)

    def select(self, namespace: str, wanted: Mapping[str, str]) -> set[str]:
        """Return the names of the objects that have all wanted labels."""
        sets = [self._by_pair.get((namespace, *pair), set()) for pair in wanted.items()]
        sets.sort(key=len)
        return set.intersection(*sets) if sets else set()


class SelectorIndex:
    """Names of objects that select by label, each filed under the rarest pair of its selector."""

    def __init__(self) -> None:
        self._by_pair: defaultdict[Pair, dict[str, Mapping[str, str]]] = defaultdict(dict)
        self._filed: dict[tuple[str, str], Pair] = {}

    def add(self, namespace: str, name: str, selector: Mapping[str, str]) -> None:
        """Enter a selector, in place of an earlier one of that name; an empty one selects nothing."""
        self.discard(namespace, name)
        if not selector:
            return
        pairs = [(namespace, *pair) for pair in selector.items()]
        rarest = min(pairs, key=lambda pair: len(self._by_pair.get(pair, ())))
        self._by_pair[rarest][name] = selector
        self._filed[namespace, name] = rarest

    def discard(self, namespace: str, name: str) -> None:
        """Take a selector out."""
        pair = self._filed.pop((namespace, name), None)
        if pair is not None:
            del self._by_pair[pair][name]
            if not self._by_pair[pair]:
                del self._by_pair[pair]

    def matching(self, namespace: str, labels: Mapping[str, str]) -> set[str]:
        """Return the names of the selectors that an object with these labels matches."""
        found = set()
        for pair in labels.items():
            for name, selector in self._by_pair.get((namespace, *pair), {}).items():
                if selector.items() <= labels.items():
                    found.add(name)
        return found


# --- the loop ---

_log = logging.getLogger(__name__)


class Controller(Protocol):
    """What the loop drives."""

    def notice(self, resource: ResourceKey, change: WatchEvent) -> None:
        """Note a change: update indexes, queue keys; must be quick and write nothing."""

    def reconcile(self, key: Hashable) -> None:
        """Bring the world for one key to its wanted state."""


Entry = tuple[Controller, Hashable]


class Loop:
    """Drives the controllers of one sandbox."""

    def __init__(self, store: Store) -> None:
        self._controllers: list[Controller] = []
        self._queue: dict[Entry, None] = {}
        self._timers: list[tuple[float, int, Entry]] = []
        self._numbers = count()
        self._news = Condition()
        self._stopping = False
        self._busy = False
        self._thread: Thread | None = None
        store.listeners.append(self._notify)

    def add(self, controller: Controller) -> None:
        """Let a controller take part."""
        self._controllers.append(controller)

    def _notify(self, resource: ResourceKey, change: WatchEvent) -> None:
        for controller in self._controllers:
            controller.notice(resource, change)

    def put(self, controller: Controller, key: Hashable, after: float = 0.0) -> None:
        """Ask for `reconcile(key)` now or `after` some seconds."""
        entry = (controller, key)
        with self._news:
            if after > 0:
                heapq.heappush(self._timers, (time.monotonic() + after, next(self._numbers), entry))
            else:
                self._queue[entry] = None
            self._news.notify()

    def start(self) -> None:
        """Start the thread."""
        self._stopping = False
        self._thread = Thread(target=self._run, name="sandbox-controllers", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the step it is in."""
        with self._news:
            self._stopping = True
            self._news.notify()
        if self._thread:
            self._thread.join()
        self._thread = None

    def is_idle(self) -> bool:
        """Return whether nothing is queued or under way; timers may still be running."""
        with self._news:
            return not self._queue and not self._busy

    def _run(self) -> None:
        while (entry := self._next_entry()) is not None:
            controller, key = entry
            try:
                controller.reconcile(key)
            except Exception:
                _log.exception("%s failed on %s", type(controller).__name__, key)
                self.put(controller, key, after=1.0)

    def _next_entry(self) -> Entry | None:
        with self._news:
            self._busy = False
            while not self._stopping:
                self._release_timers()
                if self._queue:
                    entry = next(iter(self._queue))
                    del self._queue[entry]
                    self._busy = True
                    return entry
                left = self._timers[0][0] - time.monotonic() if self._timers else None
                self._news.wait(left)
            return None

    def _release_timers(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            self._queue[heapq.heappop(self._timers)[2]] = None

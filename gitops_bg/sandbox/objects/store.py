"""The objects and their history: the etcd of the sandbox. It must not know what an object means.

One counter numbers all writes (`metadata.resourceVersion`). An object that was stored is never changed
again: whoever wants another one copies it first. So readers need no lock, and its JSON is made once.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import RLock

from gitops_bg.sandbox.http.errors import expired
from gitops_bg.sandbox.http.watches import ADDED, DELETED, MODIFIED, Watch, WatchEvent
from gitops_bg.sandbox.objects.kinds import ResourceKey
from gitops_bg.sandbox.objects.objects import Manifest, Stored, key_of
from gitops_bg.sandbox.objects.selectors import Matcher

ObjectKey = tuple[str, str]


@dataclass
class Table:
    """All objects of one resource type, in key order as etcd has them."""

    objects: dict[ObjectKey, Stored] = field(default_factory=dict)
    order: list[ObjectKey] = field(default_factory=list)
    history: deque[WatchEvent] = field(default_factory=deque)
    forgotten: int = 0
    watches: list[Watch] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Backup:
    """The objects of one moment, and its version."""

    version: int
    objects: dict[ResourceKey, dict[ObjectKey, Stored]]


Listener = Callable[[ResourceKey, WatchEvent], None]


class Store:
    """All objects of the cluster; `lock` makes a read and the write that follows one step."""

    def __init__(self, history: int = 5_000) -> None:
        self.lock = RLock()
        self.version = 1
        self.listeners: list[Listener] = []
        self._history = history
        self._closed = False
        self._oldest_page = 0
        self._tables: defaultdict[ResourceKey, Table] = defaultdict(Table)

    def begin(self, resource: ResourceKey) -> None:
        """Start the history of a new resource type: a watch from before it is a 410."""
        table = self._tables[resource]
        if not table.forgotten:
            table.forgotten = self.version

    def get(self, resource: ResourceKey, key: ObjectKey) -> Stored | None:
        """Return one object, or None."""
        return self._tables[resource].objects.get(key)

    def count(self, resource: ResourceKey) -> int:
        """Return how many objects of a type there are."""
        return len(self._tables[resource].objects)

    def put(self, resource: ResourceKey, obj: Manifest) -> Stored:
        """Store `obj` under the next resourceVersion; the caller gives the dict away."""
        with self.lock:
            table, key = self._tables[resource], key_of(obj)
            previous = table.objects.get(key)
            stored = self._number(obj)
            table.objects[key] = stored
            if previous is None:
                insort(table.order, key)
            self._publish(resource, WatchEvent(MODIFIED if previous else ADDED, stored, previous))
            return stored

    def remove(self, resource: ResourceKey, key: ObjectKey) -> Stored:
        """Delete an object; its last state gets the resourceVersion of the deletion, as in etcd."""
        with self.lock:
            table = self._tables[resource]
            previous = table.objects.pop(key)
            del table.order[bisect_left(table.order, key)]
            last = dict(previous.obj, metadata=dict(previous.obj["metadata"]))
            stored = self._number(last)
            self._publish(resource, WatchEvent(DELETED, stored, previous))
            return stored

    def _number(self, obj: Manifest) -> Stored:
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        return Stored(obj, self.version)

    def _publish(self, resource: ResourceKey, change: WatchEvent) -> None:
        table = self._tables[resource]
        table.history.append(change)
        if len(table.history) > self._history:
            table.forgotten = table.history.popleft().current.version
        for watch in table.watches:
            watch.offer(change)
        for listener in self.listeners:
            listener(resource, change)

    def all(self, resource: ResourceKey, namespace: str = "") -> list[Stored]:
        """Return the objects of a type in one namespace, or in all for the empty string."""
        with self.lock:
            return list(self.after(resource, namespace, None))

    def after(self, resource: ResourceKey, namespace: str, start: ObjectKey | None) -> Iterator[Stored]:
        """Yield objects in key order beyond `start`; the caller holds the lock."""
        table = self._tables[resource]
        begin = bisect_left(table.order, (namespace, "")) if namespace else 0
        if start is not None:
            begin = max(begin, bisect_left(table.order, (start[0], start[1] + "\0")))
        for index in range(begin, len(table.order)):
            key = table.order[index]
            if namespace and key[0] != namespace:
                return
            yield table.objects[key]

    def count_after(self, resource: ResourceKey, namespace: str, start: ObjectKey) -> int:
        """Return how many objects come after `start`; the caller holds the lock."""
        order = self._tables[resource].order
        end = bisect_left(order, (namespace + "\0", "")) if namespace else len(order)
        return end - bisect_left(order, (start[0], start[1] + "\0"))

    def check_page(self, version: int) -> None:
        """Raise 410 when a continue token of this version has expired."""
        if version < self._oldest_page:
            raise expired(
                "The provided continue parameter is too old to display a consistent list result. "
                "You can start a new list without the continue parameter."
            )

    def watch(self, resource: ResourceKey, namespace: str, matches: Matcher | None, since: int | None) -> Watch:
        """Start a watch after version `since`, or with everything there is for None; raise 410 if too old."""
        with self.lock:
            table = self._tables[resource]
            watch = Watch(namespace, matches, since or 0)
            if since is None:
                for stored in self.after(resource, namespace, None):
                    watch.offer(WatchEvent(ADDED, stored, None))
            elif since < table.forgotten:
                raise expired(f"too old resource version: {since} ({table.forgotten})")
            else:
                self._replay(table, since, watch)
            table.watches.append(watch)
            if self._closed:
                watch.end()
            return watch

    @staticmethod
    def _replay(table: Table, since: int, watch: Watch) -> None:
        missed = []
        for change in reversed(table.history):
            if change.current.version <= since:
                break
            missed.append(change)
        for change in reversed(missed):
            watch.offer(change)

    def unwatch(self, resource: ResourceKey, watch: Watch) -> None:
        """Forget a watch that has ended."""
        with self.lock:
            watches = self._tables[resource].watches
            if watch in watches:
                watches.remove(watch)

    def end_watches(self) -> None:
        """End every open watch, as a restarting API server does."""
        with self.lock:
            for table in self._tables.values():
                for watch in table.watches:
                    watch.end()

    def open(self) -> None:
        """Let watches last."""
        self._closed = False

    def close(self) -> None:
        """End every watch, and those that still come as soon as they have begun."""
        with self.lock:
            self._closed = True
            self.end_watches()

    def backup(self) -> Backup:
        """Return what `etcdctl snapshot save` keeps: every object, and the version."""
        with self.lock:
            objects = {resource: dict(table.objects) for resource, table in self._tables.items()}
            return Backup(self.version, objects)

    def restore(self, backup: Backup) -> None:
        """Restore the cluster of a backup, including its version; watches end, as with a restarted API server."""
        with self.lock:
            self.version = backup.version
            self._oldest_page = 0
            for resource, table in self._tables.items():
                before, table.objects = table.objects, dict(backup.objects.get(resource, {}))
                table.order = sorted(table.objects)
                table.history.clear()
                table.forgotten = self.version
                self._notify(resource, before, table.objects)
            self.end_watches()

    def _notify(self, resource: ResourceKey, before: dict[ObjectKey, Stored], after: dict[ObjectKey, Stored]) -> None:
        """Notify controllers of every difference: they restart with the API server."""
        gone = [WatchEvent(DELETED, stored, stored) for key, stored in before.items() if key not in after]
        there = [
            WatchEvent(MODIFIED if key in before else ADDED, stored, before.get(key))
            for key, stored in after.items()
            if before.get(key) is not stored
        ]
        for change in (*gone, *there):
            for listener in self.listeners:
                listener(resource, change)

    def forget_history(self) -> None:
        """Compact: every resume from an earlier version, and every continue token, gets a 410."""
        with self.lock:
            self.version += 1
            self._oldest_page = self.version
            for table in self._tables.values():
                table.history.clear()
                table.forgotten = self.version

"""One cache per kind: what exists now by the watch, by name and by app. Asks the server nothing.

The cache tells which apps changed and feeds `observe`; before a write that moves traffic, the executor reads live
(pitfalls.md §1.3).
"""

import logging
import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from gitops_bg.cluster.api.errors import Forbidden
from gitops_bg.cluster.api.kinds import Object, name_of
from gitops_bg.cluster.observation.states import Meta, State, meta_of
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, InternalError, Transient, guarded
from gitops_bg.core.model.version import AppOrGroup

S = TypeVar("S", bound=State)
K = TypeVar("K", bound=AppOrGroup)
_LOG = logging.getLogger(__name__)
_TOMBSTONES = 1024


@dataclass(slots=True)
class _Slot(Generic[S]):
    state: S
    round: int
    """The list that last contained the object."""
    awaited: str = ""
    """The version of our own write, until the watch reaches it; older events are skipped."""


@dataclass(frozen=True, slots=True)
class _Unread:
    """An object whose reading hit a bug. Unknown is not absent: a read of it, or of its app, raises that error."""

    meta: Meta
    round: int
    error: InternalError


class Unlisted(Transient):
    """A first list is not complete yet, and nothing is wrong with it."""


class Informer(Generic[S, K]):
    """The states of one kind. ``index`` maps a state to its app, or release group; ``on_change`` is called with that.

    ``on_return`` is called when the cluster was restored to an earlier state. For a kind that the agent
    ``can_do_without``, a refused list delays nothing: the cache is `blind` there. Thread-safe; ``on_change`` is called
    without the lock held.
    """

    def __init__(
        self,
        reduce: Callable[[Object, S | None], S],
        index: Callable[[S], K],
        on_change: Callable[[K], None],
        *,
        can_do_without: bool = False,
        on_return: Callable[[], None] = lambda: None,
    ) -> None:
        self.can_do_without = can_do_without
        self._on_return = on_return
        self._reduce = reduce
        self._index = index
        self._on_change = on_change
        self._lock = threading.Lock()
        self._slots: dict[tuple[str, str], _Slot[S]] = {}
        self._by_app: dict[K, tuple[str, ...]] = {}
        """The sorted names of the objects of each app: few, and a set would take four times the memory."""
        self._deleted: OrderedDict[str, None] = OrderedDict()
        self._unread: dict[tuple[str, str], _Unread] = {}
        self._scopes: list[Scope[S]] = []

    def scope(self, namespace: str) -> "Scope[S]":
        """Return the sink for the watch of one namespace (empty: all)."""
        scope = Scope(self, namespace)
        self._scopes.append(scope)
        return scope

    def unknown(self, namespace: str) -> GitopsBgError | None:
        """Return why the cache may lack what is in a namespace (empty: in all of them); None: it lacks nothing."""
        found = (scope.unknown() for scope in self._scopes if scope.namespace in {"", namespace})
        return next(filter(None, found), None)

    def blind(self, namespace: str) -> bool:
        """Return whether the server refuses to list what is in a namespace, so that a missing object may exist."""
        scopes = (scope for scope in self._scopes if scope.namespace in {"", namespace})
        return any(scope.refused for scope in scopes)

    def refusal(self, namespace: str) -> GitopsBgError | None:
        """Return why the cache is `blind` in a namespace; None where it is not."""
        scopes = (scope for scope in self._scopes if scope.namespace in {"", namespace} and scope.refused)
        return next((scope.refused for scope in scopes), None)

    def troubles(self) -> list[GitopsBgError]:
        """Return why watches receive nothing at present, for kinds that the agent cannot do without."""
        errors = [scope.error for scope in self._scopes if scope.error is not None]
        return [error for error in errors if not (self.can_do_without and isinstance(error, Forbidden))]

    def get(self, namespace: str, name: str) -> S | None:
        """Return the state of one object."""
        self._refuse_unread(lambda unread: (unread.meta.namespace, unread.meta.name) == (namespace, name))
        slot = self._slots.get((namespace, name))
        return None if slot is None else slot.state

    def of(self, app: K) -> tuple[S, ...]:
        """Return the states of an app, by name. Raises `InternalError` where one of them could not be read."""
        with self._lock:
            self._refuse_unread(lambda unread: self._owner(unread) == app)
            return tuple(self._slots[app.namespace, name].state for name in self._by_app.get(app, ()))

    def all(self) -> list[S]:
        """Return all states."""
        with self._lock:
            return [slot.state for slot in self._slots.values()]

    def version(self, namespace: str, name: str) -> str:
        """Return the cached ``resourceVersion`` of an object, empty where there is none; ask before a write."""
        slot = self._slots.get((namespace, name))
        return slot.state.meta.version if slot is not None else ""

    def remember(self, body: Object, instead_of: str) -> None:
        """Store the response to our own write at once; ``instead_of`` is what `version` returned before the write.

        Versions are opaque: the response is newer than the cached state if the watch brought nothing meanwhile, or
        nothing of its generation; otherwise the watch will bring it soon. Were it forgotten, the next pass would write
        it again, onto what is no longer there.

        Calls ``on_change`` only for an app that lost the object by it; the writer knows, and the watch tells nothing
        new.
        """
        metadata = body["metadata"]
        with self._lock:
            slot = self._slots.get(name_of(body))
            held = slot.state.meta.version if slot else ""
            version = metadata["resourceVersion"]
            is_newer = held == instead_of or (slot is not None and _has_newer_spec(slot, body))
            if not is_newer or held == version or metadata["uid"] in self._deleted:
                return
            before, after = self._put(body, slot.round if slot else self._round(), awaited=version)
            loser = self._index(before) if before is not None else None
            keeps = loser in (None, self._index(after))
        if loser is not None and not keeps:
            self._on_change(loser)

    def forget(self, namespace: str, name: str, uid: str) -> None:
        """Note that the agent deleted an object, before the watch reports it."""
        with self._lock:
            slot = self._slots.get((namespace, name))
            if slot is not None and slot.state.meta.uid == uid:
                self._drop((namespace, name))

    def put(self, body: Object, round: int) -> None:
        """Store an object from the watch, or from list number ``round``."""
        owner: K | None = None
        with self._lock:
            slot = self._slots.get(name_of(body))
            if slot is not None and slot.awaited and _is_older(slot, body):
                return
            try:
                with guarded(f"reading {'/'.join(name_of(body))}"):
                    before, after = self._put(body, round)
                    self._unread.pop(name_of(body), None)
            except InternalError as error:
                owner = self._cannot_read(body, round, error)
                before = after = None
        if owner is not None:
            self._on_change(owner)
        self._notify(before, after)

    def remove(self, body: Object) -> None:
        """Remove a deleted object; skip an event about an earlier object of that name."""
        key, uid = name_of(body), body["metadata"]["uid"]
        with self._lock:
            slot = self._slots.get(key)
            self._bury(uid)
            self._unread.pop(key, None)
            if slot is None or slot.state.meta.uid != uid:
                return
            gone = self._drop(key)
        self._notify(gone, None)

    def sweep(self, namespace: str, round: int) -> None:
        """Remove every object that list number ``round`` did not contain."""
        with self._lock:
            keys = [key for key, slot in self._slots.items() if slot.round < round and namespace in {"", key[0]}]
            gone = [self._drop(key) for key in keys]
            for key in [key for key, each in self._unread.items() if each.round < round and namespace in {"", key[0]}]:
                del self._unread[key]
        for state in gone:
            self._notify(state, None)

    def expect_nothing(self, namespace: str) -> None:
        """Await no own writes any more: a new list starts, and earlier events may never come."""
        with self._lock:
            for key, slot in self._slots.items():
                if namespace in {"", key[0]}:
                    slot.awaited = ""

    def forget_the_past(self) -> None:
        """Forget deletions: the cluster was restored to an earlier state, and deleted objects may exist again."""
        with self._lock:
            self._deleted.clear()
        self._on_return()

    def _round(self) -> int:
        return max((scope.round for scope in self._scopes), default=0)

    def _put(self, body: Object, round: int, awaited: str = "") -> tuple[S | None, S]:
        key = name_of(body)
        slot = self._slots.get(key)
        before = slot.state if slot else None
        after = self._reduce(body, before)
        if before is not None:
            self._unlist(before)
        self._slots[key] = _Slot(after, round, awaited)
        app = self._index(after)
        self._by_app[app] = _with(self._by_app.get(app, ()), after.meta.name)
        return before, after

    def _cannot_read(self, body: Object, round: int, error: InternalError) -> K | None:
        """Keep an object whose reading hit a bug, and log it once; return its app, as far as it is known."""
        try:
            meta = meta_of(body)
        except Exception:
            namespace, name = name_of(body)
            meta = Meta(namespace, name, "", "")
        unread = _Unread(meta, round, error)
        known, self._unread[name_of(body)] = self._unread.get(name_of(body)), unread
        if known is None or str(known.error) != str(error):
            _LOG.error("%s", error, exc_info=error.__cause__)
        return self._owner(unread)

    def _owner(self, unread: _Unread) -> K | None:
        try:
            return self._index(cast(S, unread))
        except AttributeError:  # its owner would be in what could not be read
            return None

    def _refuse_unread(self, concerned: Callable[[_Unread], bool]) -> None:
        found = next((unread.error for unread in list(self._unread.values()) if concerned(unread)), None)
        if found is not None:
            raise InternalError(str(found)) from found.__cause__

    def _drop(self, key: tuple[str, str]) -> S:
        state = self._slots.pop(key).state
        self._unlist(state)
        self._bury(state.meta.uid)
        return state

    def _unlist(self, state: S) -> None:
        app = self._index(state)
        left = tuple(name for name in self._by_app[app] if name != state.meta.name)
        if left:
            self._by_app[app] = left
        else:
            del self._by_app[app]

    def _bury(self, uid: str) -> None:
        self._deleted[uid] = None
        if len(self._deleted) > _TOMBSTONES:
            self._deleted.popitem(last=False)

    def _notify(self, before: S | None, after: S | None) -> None:
        if before == after:
            return
        for app in {self._index(state) for state in (before, after) if state is not None}:
            self._on_change(app)


class Scope(Generic[S]):
    """What one watch writes to a cache: a `watch.Sink`."""

    def __init__(self, cache: Informer[S, Any], namespace: str) -> None:
        self._cache = cache
        self.namespace = namespace
        self.round = 0
        self.synced = threading.Event()
        self.error: GitopsBgError | None = None
        self.refused: Forbidden | None = None
        """The server refuses to show what is there, until a list is complete again: other errors change nothing."""

    def unknown(self) -> GitopsBgError | None:
        """Return why the cache may lack what is in this namespace; None: it lacks nothing.

        A namespace whose rights were taken away, or that is gone with them, is unknown again; where there is but one
        scope for all, what is known of it grows old instead.
        """
        if not self.synced.is_set():
            where = f"namespace {self.namespace}" if self.namespace else "the cluster"
            return self.error or Unlisted(f"{where} is not listed yet")
        return self.refused if self.namespace and not self._cache.can_do_without else None

    def begin(self) -> None:
        """Begin a list."""
        self.round += 1
        self._cache.expect_nothing(self.namespace)

    def put(self, body: Object) -> None:
        """Take an object in its present state."""
        self._cache.put(body, self.round)

    def end(self) -> None:
        """End the list."""
        self._cache.sweep(self.namespace, self.round)
        self.refused = None
        self.synced.set()

    def remove(self, body: Object) -> None:
        """Remove an object that was deleted, or lost our labels."""
        self._cache.remove(body)

    def went_back(self) -> None:
        """Note that the cluster was restored to an earlier state."""
        self._cache.forget_the_past()

    def trouble(self, error: GitopsBgError | None) -> None:
        """Note why the watch receives nothing at present, or None."""
        self.error = error
        self.refused = error if isinstance(error, Forbidden) else self.refused
        if self._cache.can_do_without and isinstance(error, Forbidden):
            self.synced.set()


def _with(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Return sorted names with one more."""
    at = bisect_left(names, name)
    return names if names[at : at + 1] == (name,) else (*names[:at], name, *names[at:])


def _is_older(slot: _Slot[S], body: Object) -> bool:
    """Return whether an event is older than our own write, which the watch has not reached yet."""
    metadata = body["metadata"]
    return bool(metadata["uid"] == slot.state.meta.uid and metadata["resourceVersion"] != slot.awaited)


def _has_newer_spec(slot: _Slot[S], body: Object) -> bool:
    """Return whether an object is of a later generation than what is cached; each change of the spec begins another
    one.

    https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/
    """
    metadata, known = body["metadata"], slot.state.meta
    return bool(metadata["uid"] == known.uid and metadata.get("generation", 0) > known.generation)

"""Writes that the caches see at once: `client`'s verbs, each response passed to a `reader.WriteThrough`.

Each returns what happened to its object, for the change set.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import Kind, Object, name_of
from gitops_bg.cluster.execution.anchors import Anchors
from gitops_bg.cluster.observation.reader import WriteThrough
from gitops_bg.core.model.change_set import Change, ChangeSetEntry


@dataclass(frozen=True, slots=True)
class Written:
    """The server's response to a write, and what the write did."""

    body: Object
    entry: ChangeSetEntry


def entry_of(kind: Kind, body: Object, change: Change) -> ChangeSetEntry:
    """The change set entry of an object."""
    return ChangeSetEntry(kind.name, *name_of(body), change)


def entry_between(kind: Kind, before: Object | None, after: Object) -> ChangeSetEntry:
    """The change set entry of an object between two reads; ``before`` None: there was none."""
    return entry_of(kind, after, _change(before["metadata"]["resourceVersion"], after) if before else Change.CREATED)


def _change(before: str, after: Object) -> Change:
    """What a write did to an object of version ``before``: without a change, the server keeps the version."""
    return Change.UNCHANGED if after["metadata"].get("resourceVersion") == before else Change.CONFIGURED


class Writer:
    """The verbs that write, and the live read before them."""

    def __init__(self, client: Client, memory: WriteThrough) -> None:
        self._client = client
        self.anchors = Anchors(client)
        self._memory = memory

    def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """One object in its present state, never from a cache."""
        return self._client.get(kind, namespace, name)

    def apply(self, kind: Kind, body: Object, live: Object | None, *, force: bool | None = None) -> Written:
        """Server-side apply, see `Client.apply`; objects that should outlive their controller get the second owner.

        ``live`` is the object as it was read just before. None: there was none, and no foreign field is taken over.
        """
        anchored, by_force = self.anchors.anchored(kind, body), live is not None if force is None else force
        answer = self._remembered(kind, name_of(body), lambda: self._client.apply(kind, anchored, force=by_force))
        return Written(answer, entry_between(kind, live, answer))

    def json_patch(self, kind: Kind, namespace: str, name: str, operations: Sequence[Object]) -> Written:
        """JSON patch, see `Client.json_patch`."""
        held = self._memory.version(kind, namespace, name)
        write = lambda: self._client.json_patch(kind, namespace, name, operations)  # noqa: E731
        answer = self._remembered(kind, (namespace, name), write)
        return Written(answer, entry_of(kind, answer, _change(held, answer)))

    def merge_patch(self, kind: Kind, namespace: str, name: str, body: Object) -> Object:
        """JSON merge patch, see `Client.merge_patch`."""
        write = lambda: self._client.merge_patch(kind, namespace, name, body)  # noqa: E731
        return self._remembered(kind, (namespace, name), write)

    def patch_status(self, kind: Kind, namespace: str, name: str, body: Object) -> Object:
        """JSON merge patch of the status, see `Client.patch_status`."""
        write = lambda: self._client.patch_status(kind, namespace, name, body)  # noqa: E731
        return self._remembered(kind, (namespace, name), write)

    def put_status(self, kind: Kind, body: Object) -> Object:
        """PUT of the status, see `Client.put_status`."""
        return self._remembered(kind, name_of(body), lambda: self._client.put_status(kind, body))

    def delete(self, kind: Kind, body: Object) -> ChangeSetEntry:
        """Delete exactly the object that was read."""
        metadata, (namespace, name) = body["metadata"], name_of(body)
        self._client.delete(kind, namespace, name, metadata["uid"])
        if not metadata.get("finalizers"):
            self._memory.forget(kind, namespace, name, metadata["uid"])
        return entry_of(kind, body, Change.DELETED)

    def _remembered(self, kind: Kind, what: tuple[str, str], write: Callable[[], Object]) -> Object:
        held = self._memory.version(kind, *what)
        answer = write()
        self._memory.remember(kind, answer, held)
        return answer

"""Writes that the caches see at once: `client`'s verbs, each response passed to a `reader.WriteThrough`.

Each returns what happened to its object, for the change set.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import APPS, Kind, Object, name_of
from gitops_bg.cluster.execution.anchors import Anchors
from gitops_bg.cluster.execution.intents import Intents
from gitops_bg.cluster.manifests.patches import removals
from gitops_bg.cluster.observation.field_paths import ChangedField
from gitops_bg.cluster.observation.reader import WriteThrough
from gitops_bg.core import names
from gitops_bg.core.model.drift import Change, ChangeSetEntry, Drift


@dataclass(frozen=True, slots=True)
class Written:
    """The server's response to a write, and what the write did."""

    body: Object
    entry: ChangeSetEntry


def entry_of(kind: Kind, body: Object, change: Change, drift: Drift | None = None) -> ChangeSetEntry:
    """The change set entry of an object."""
    return ChangeSetEntry(kind.name, *name_of(body), change, drift)


def entry_between(kind: Kind, before: Object | None, after: Object, drift: Drift | None = None) -> ChangeSetEntry:
    """The change set entry of an object between two reads; ``before`` None: there was none."""
    change = _change(before["metadata"]["resourceVersion"], after) if before else Change.CREATED
    return entry_of(kind, after, change, drift)


def _change(before: str, after: Object) -> Change:
    """What a write did to an object of version ``before``: without a change, the server keeps the version."""
    return Change.UNCHANGED if after["metadata"].get("resourceVersion") == before else Change.CONFIGURED


class Writer:
    """The verbs that write, and the live read before them."""

    def __init__(self, client: Client, memory: WriteThrough) -> None:
        self._client = client
        self.anchors = Anchors(client, memory.holds_app)
        self.intents = Intents()
        self._memory = memory

    def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """One object in its present state, never from a cache."""
        return self._client.get(kind, namespace, name)

    def apply(self, kind: Kind, body: Object, live: Object | None, *, force: bool | None = None) -> Written:
        """Server-side apply, see `Client.apply`; objects that should outlive their controller get the second owner.

        ``live`` is the object as it was read just before: what others added to it goes. None: there was
        none, and no foreign field is taken over.
        """
        anchored, by_force = self.anchors.anchored(kind, body), live is not None if force is None else force
        drift = self.drift(kind, live, body)
        if change := removals(live, anchored):
            self.json_patch(kind, *name_of(body), change)
        answer = self._remembered(kind, name_of(body), lambda: self._client.apply(kind, anchored, force=by_force))
        self.applied(kind, body, answer)
        return Written(answer, entry_between(kind, live, answer, drift))

    def drift(self, kind: Kind, live: Object | None, body: Object) -> Drift | None:
        """What somebody else changed of an object of ours, as it was read just before, see `Intents.drift`."""
        return self.intents.drift(kind, live, self.anchors.anchored(kind, body))

    def applied(self, kind: Kind, body: Object, answer: Object) -> None:
        """Note what was applied, where that was no `apply`, or more than one write."""
        self.intents.applied(kind, self.anchors.anchored(kind, body), answer)

    def json_patch(self, kind: Kind, namespace: str, name: str, operations: Sequence[Object]) -> Written:
        """JSON patch, see `Client.json_patch`."""
        held = self._memory.version(kind, namespace, name)
        write = lambda: self._client.json_patch(kind, namespace, name, operations)  # noqa: E731
        answer = self._remembered(kind, (namespace, name), write)
        return Written(answer, entry_of(kind, answer, _change(held, answer)))

    def write_field(
        self, kind: Kind, live: Object, field: ChangedField, operations: Sequence[Object]
    ) -> ChangeSetEntry:
        """JSON patch of one field of an object that was read just before, and more in the same write."""
        drift = self.intents.drift_of(kind, live, field)
        return replace(self.write_known(kind, *name_of(live), field, operations), drift=drift)

    def write_known(
        self, kind: Kind, namespace: str, name: str, field: ChangedField, operations: Sequence[Object]
    ) -> ChangeSetEntry:
        """As `write_field`, of an object that the caches show: nobody else is known to have changed the field."""
        entry = self.json_patch(kind, namespace, name, operations).entry
        self.intents.wrote(kind, namespace, name, field)
        return entry

    def merge_patch(self, kind: Kind, namespace: str, name: str, body: Object) -> Object:
        """JSON merge patch, see `Client.merge_patch`."""
        write = lambda: self._client.merge_patch(kind, namespace, name, body)  # noqa: E731
        return self._remembered(kind, (namespace, name), write)

    def patch_status(self, kind: Kind, namespace: str, name: str, body: Object) -> Object:
        """JSON merge patch of the status, see `Client.patch_status`."""
        write = lambda: self._client.patch_status(kind, namespace, name, body)  # noqa: E731
        return self._remembered(kind, (namespace, name), write)

    def save_status(self, kind: Kind, namespace: str, name: str, version: str, status: Object) -> Object:
        """Replace the status, see `Client.save_status`."""
        write = lambda: self._client.save_status(kind, namespace, name, version, status)  # noqa: E731
        return self._remembered(kind, (namespace, name), write)

    def delete(self, kind: Kind, body: Object) -> ChangeSetEntry:
        """Delete exactly the object that was read."""
        metadata, (namespace, name) = body["metadata"], name_of(body)
        self._client.delete(kind, namespace, name, metadata["uid"])
        self.intents.forget(kind, namespace, name)
        if kind == APPS:
            self.intents.forget_app(namespace, (metadata.get("labels") or {}).get(names.APP, ""))
        if not metadata.get("finalizers"):
            self._memory.forget(kind, namespace, name, metadata["uid"])
        return entry_of(kind, body, Change.DELETED)

    def _remembered(self, kind: Kind, what: tuple[str, str], write: Callable[[], Object]) -> Object:
        held = self._memory.version(kind, *what)
        answer = write()
        self._memory.remember(kind, answer, held)
        return answer

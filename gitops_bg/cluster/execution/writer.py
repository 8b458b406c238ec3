"""Writes that the caches see at once, with the checks before them: `client`'s verbs, each response passed to a
`reader.WriteThrough`. Each returns what happened to its object, for the change set.

- Before a write the object exists and is ours, and no other decision was saved since (`Guards`).
- What was applied last is remembered (`Intents`): an object that differs from it was changed by somebody else; so was
  one whose fields another manager owns, and not we as well. After a restart only the second is known.
- The namespace is a second owner of what traffic depends on (`Anchors`). Kubernetes deletes objects without a remaining
  owner; an object with another owner only loses the reference, whatever the propagation policy. So deleting the
  BlueGreenDeployment by hand deletes none of it: the agent creates the object anew and adopts the rest again. Before a
  deletion by `deletionPolicy: delete`, the agent removes the second owner (docs/decisions/0022).
"""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

from cachetools import LRUCache

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.errors import Forbidden, ForeignObject
from gitops_bg.cluster.api.kinds import (
    APPS,
    CONFIG_MAPS,
    GRPC_ROUTES,
    HTTP_ROUTES,
    NAMESPACES,
    SECRETS,
    SERVICES,
    WORKLOADS,
    Kind,
    Object,
    name_of,
)
from gitops_bg.cluster.manifests.patches import removals
from gitops_bg.cluster.observation.additions import changed_fields
from gitops_bg.cluster.observation.drift import ChangedField, is_ours, managers_of
from gitops_bg.cluster.observation.ownership import UNOWNED, Ownership, app_owner_of, owner_of
from gitops_bg.cluster.observation.project import app_state
from gitops_bg.cluster.observation.reader import Reader, WriteThrough
from gitops_bg.cluster.observation.states import meta_of
from gitops_bg.core import names
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import WorldChanged
from gitops_bg.core.model.drift import ADMISSION, Change, ChangeSetEntry, Drift
from gitops_bg.core.model.version import AppKey

ANCHORED = frozenset(
    kind.name for kind in (*WORKLOADS.values(), SERVICES, CONFIG_MAPS, SECRETS, HTTP_ROUTES, GRPC_ROUTES)
)
"""The kinds that stay, by name. Autoscalers and budgets are recreated in a moment, and no pod depends on them."""

_log = logging.getLogger(__name__)


class Anchors:
    """The uids of namespaces, each read once, and again after the namespace was recreated. Thread-safe.

    A recreated namespace contains no object of the former one. So a uid that was read for one app holds for another one
    as long as the first is still there: ``is_there`` says whether a cache has an app's object of this uid.
    """

    def __init__(self, client: Client, is_there: Callable[[AppKey, str], bool]) -> None:
        self._client = client
        self._is_there = is_there
        self._lock = Lock()
        self._read_for: dict[tuple[AppKey, str], str] = {}
        self._latest: dict[str, tuple[AppKey, str]] = {}
        """By namespace the app, with its uid, for which it was read the last time."""

    def uid(self, app: AppKey, app_uid: str) -> str:
        """Return the uid of an app's namespace; empty where the agent may not read it, or the app has no object yet."""
        if not app_uid:
            return ""
        with self._lock:
            known = self._read_for.get((app, app_uid))
            other = self._latest.get(app.namespace)
        if known is None and other is not None and self._is_there(*other):
            known = self._read_for.get(other)
        if known is None:
            known = self._read(app.namespace)
            with self._lock:
                self._read_for[app, app_uid] = known
                self._latest[app.namespace] = (app, app_uid)
        return known

    def _read(self, namespace: str) -> str:
        try:
            found = self._client.get(NAMESPACES, "", namespace)
        except Forbidden as error:
            _log.warning(
                "a deletion of a BlueGreenDeployment in %s would take its pods along: the agent needs the right to get "
                "namespaces (deploy/rbac.yaml): %s",
                namespace,
                error,
            )
            return ""
        return str(found["metadata"]["uid"]) if found else ""

    def anchored(self, kind: Kind, body: Object) -> Object:
        """Return a manifest of ours with the namespace as second owner."""
        metadata = body["metadata"]
        owners = metadata.get("ownerReferences")
        if kind.name not in ANCHORED or not owners:
            return body
        uid = self.uid(AppKey(metadata["namespace"], owners[0]["name"]), owners[0]["uid"])
        if not uid:
            return body
        anchor = {
            "apiVersion": NAMESPACES.api_version,
            "kind": NAMESPACES.name,
            "name": metadata["namespace"],
            "uid": uid,
        }
        return {**body, "metadata": {**metadata, "ownerReferences": [*owners, anchor]}}


def let_go(live: Object) -> list[Object]:
    """Return the patch that leaves an object to its controller alone, so that it is deleted with that; empty where
    nothing changes.
    """
    owners: list[Mapping[str, object]] = live["metadata"].get("ownerReferences") or []
    kept = [owner for owner in owners if owner.get("controller")]
    if len(kept) == len(owners):
        return []
    version = live["metadata"]["resourceVersion"]
    return [
        {"op": "test", "path": "/metadata/resourceVersion", "value": version},
        {"op": "add", "path": "/metadata/ownerReferences", "value": kept},
    ]


_MOST = 10_000
"""Objects that are remembered: those that were written, or looked up, last."""

_Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class _Applied:
    intent: int
    """A hash of it."""
    refused: frozenset[str] = frozenset()
    """The fields that the API server stored differently at once."""
    app: str = ""
    """The label of its app."""


class Intents:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._applied: LRUCache[_Key, _Applied] = LRUCache(_MOST)

    def drift(self, kind: Kind, live: Object | None, manifest: Object) -> Drift | None:
        """Return what somebody else changed of an object that is about to be applied; None where nobody did."""
        known = self._known(_key(kind, *name_of(manifest)))
        if live is None:
            return Drift() if known else None
        return _drift(live, changed_fields(live, manifest), known, _intent_of(manifest))

    def drift_of(self, kind: Kind, live: Object, field: ChangedField) -> Drift | None:
        """Return the same for one field that is written by itself."""
        known = self._known(_key(kind, *name_of(live), field.field))
        if field.found == field.wanted or (known is not None and known.intent == _hash(field.found)):
            return None
        return _drift(live, (field,), known, _hash(field.wanted))

    def repeats(self, kind: Kind, namespace: str, name: str, field: ChangedField) -> bool:
        """Return whether the last write to this field was the same."""
        known = self._known(_key(kind, namespace, name, field.field))
        return known is not None and known.intent == _hash(field.wanted)

    def is_ours(self, kind: Kind, namespace: str, name: str, field: ChangedField, others: Collection[str]) -> bool:
        """Return whether what was found in this field is as this process wrote it; where it wrote nothing yet, whether
        no ``others`` own it.
        """
        known = self._known(_key(kind, namespace, name, field.field))
        return not others if known is None else known.intent == _hash(field.found)

    def applied(self, kind: Kind, manifest: Object, answer: Object) -> None:
        """Note what was applied, and what the server made of it."""
        stored = frozenset(each.field for each in changed_fields(answer, manifest))
        applied = _Applied(_intent_of(manifest), stored, manifest["metadata"].get("labels", {}).get(names.APP, ""))
        with self._lock:
            self._applied[_key(kind, *name_of(manifest))] = applied

    def wrote(self, kind: Kind, namespace: str, name: str, field: ChangedField) -> None:
        """Note what was written to one field. A Service is not as it was applied any more; the size of a ReplicaSet is
        no part of what is.
        """
        whole = _key(kind, namespace, name)
        self.applied_field(kind, namespace, name, field)
        with self._lock:
            if kind == SERVICES and whole in self._applied:
                self._applied[whole] = replace(self._applied[whole], intent=0)

    def applied_field(self, kind: Kind, namespace: str, name: str, field: ChangedField) -> None:
        """Note what was written to one field together with others."""
        with self._lock:
            self._applied[_key(kind, namespace, name, field.field)] = _Applied(_hash(field.wanted))

    def forget(self, kind: Kind, namespace: str, name: str) -> None:
        """Note that the agent itself deleted an object."""
        with self._lock:
            self._applied.pop(_key(kind, namespace, name), None)

    def forget_app(self, namespace: str, label: str) -> None:
        """Note that the agent itself deleted an app, with all it owns."""
        with self._lock:
            its = [key for key, applied in self._applied.items() if (key[1], applied.app) == (namespace, label)]
            for key in its:
                del self._applied[key]

    def _known(self, key: _Key) -> _Applied | None:
        with self._lock:
            return self._applied.get(key)


def _drift(live: Object, found: Iterable[ChangedField], known: _Applied | None, intent: int) -> Drift | None:
    """Return what of the fields that differ is somebody else's doing."""
    owned = {each.field: managers_of(live, each.path) for each in found}
    if known is None or known.intent != intent:
        theirs = [each for each in found if owned[each.field] and not is_ours(live, each)]
    else:
        theirs = [each for each in found if each.field not in known.refused] or list(found)
    if not theirs:
        return None
    managers = sorted({name for each in theirs for name in owned[each.field]})
    refused = known is not None and all(each.field in known.refused for each in theirs)
    return Drift(tuple(each.change for each in theirs), ", ".join(managers) or (ADMISSION if refused else ""))


def _key(kind: Kind, namespace: str, name: str, field: str = "") -> _Key:
    return kind.name, namespace, name, field


def _intent_of(manifest: Object) -> int:
    """Return a hash of a manifest, without the lock of its write."""
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "resourceVersion"}
    return _hash({**manifest, "metadata": metadata})


def _hash(value: Any) -> int:
    return hash(repr(value))


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The server's response to a write, and what the write did."""

    body: Object
    entry: ChangeSetEntry


def entry_of(kind: Kind, body: Object, change: Change, drift: Drift | None = None) -> ChangeSetEntry:
    """Return the change set entry of an object."""
    return ChangeSetEntry(kind.name, *name_of(body), change, drift)


def entry_between(kind: Kind, before: Object | None, after: Object, drift: Drift | None = None) -> ChangeSetEntry:
    """Return the change set entry of an object between two reads; ``before`` None: there was none."""
    change = _change(before["metadata"]["resourceVersion"], after) if before else Change.CREATED
    return entry_of(kind, after, change, drift)


def _change(before: str, after: Object) -> Change:
    """Return what a write did to an object of version ``before``: without a change, the server keeps the version."""
    return Change.UNCHANGED if after["metadata"].get("resourceVersion") == before else Change.CONFIGURED


class Writer:
    """The verbs that write, and the live read before them."""

    def __init__(self, client: Client, memory: WriteThrough) -> None:
        self._client = client
        self.anchors = Anchors(client, memory.holds_app)
        self.intents = Intents()
        self._memory = memory

    def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """Return one object in its present state, never from a cache."""
        return self._client.get(kind, namespace, name)

    def apply(self, kind: Kind, body: Object, live: Object | None, *, force: bool | None = None) -> WriteResult:
        """Apply server-side, see `Client.apply`; objects that should outlive their controller get the second owner.

        ``live`` is the object as it was read just before: what others added to it goes. None: there was
        none, and no foreign field is taken over.
        """
        anchored, by_force = self.anchors.anchored(kind, body), live is not None if force is None else force
        drift = self.drift(kind, live, body)
        if change := removals(live, anchored):
            self.json_patch(kind, *name_of(body), change)
        answer = self._remembered(kind, name_of(body), lambda: self._client.apply(kind, anchored, force=by_force))
        self.applied(kind, body, answer)
        return WriteResult(answer, entry_between(kind, live, answer, drift))

    def drift(self, kind: Kind, live: Object | None, body: Object) -> Drift | None:
        """Return what somebody else changed of an object of ours, as it was read just before, see `Intents.drift`."""
        return self.intents.drift(kind, live, self.anchors.anchored(kind, body))

    def applied(self, kind: Kind, body: Object, answer: Object) -> None:
        """Note what was applied, where that was no `apply`, or more than one write."""
        self.intents.applied(kind, self.anchors.anchored(kind, body), answer)

    def json_patch(self, kind: Kind, namespace: str, name: str, operations: Sequence[Object]) -> WriteResult:
        """Send a JSON patch, see `Client.json_patch`."""
        held = self._memory.version(kind, namespace, name)
        write = lambda: self._client.json_patch(kind, namespace, name, operations)  # noqa: E731
        answer = self._remembered(kind, (namespace, name), write)
        return WriteResult(answer, entry_of(kind, answer, _change(held, answer)))

    def write_field(
        self, kind: Kind, live: Object, field: ChangedField, operations: Sequence[Object]
    ) -> ChangeSetEntry:
        """Send a JSON patch of one field of an object that was read just before, and more in the same write."""
        drift = self.intents.drift_of(kind, live, field)
        return replace(self.write_known(kind, *name_of(live), field, operations), drift=drift)

    def write_known(
        self, kind: Kind, namespace: str, name: str, field: ChangedField, operations: Sequence[Object]
    ) -> ChangeSetEntry:
        """Do as `write_field`, of an object that the caches show: nobody else is known to have changed the field."""
        entry = self.json_patch(kind, namespace, name, operations).entry
        self.intents.wrote(kind, namespace, name, field)
        return entry

    def merge_patch(self, kind: Kind, namespace: str, name: str, body: Object) -> Object:
        """Send a JSON merge patch, see `Client.merge_patch`."""
        write = lambda: self._client.merge_patch(kind, namespace, name, body)  # noqa: E731
        return self._remembered(kind, (namespace, name), write)

    def patch_status(self, kind: Kind, namespace: str, name: str, body: Object) -> Object:
        """Send a JSON merge patch of the status, see `Client.patch_status`."""
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


class Guards:
    """The safeguards that all parts of the executor share. Thread-safe."""

    def __init__(self, reader: Reader, memory: WriteThrough, writer: Writer, us: Ownership = UNOWNED) -> None:
        self._reader = reader
        self._memory = memory
        self._writer = writer
        self._us = us

    def own(self, kind: Kind, app: AppKey, name: str) -> Object | None:
        """Return the object in its present state, None where there is none. Raises `ForeignObject` where it is not
        ours.
        """
        body = self._writer.get(kind, app.namespace, name)
        if body is None:
            return None
        if not self._memory.version(kind, app.namespace, name):
            self._memory.found(kind, app, name)
        owner = self._owner_of(kind, app, body)
        if owner:
            raise ForeignObject(owner)
        return body

    def _owner_of(self, kind: Kind, app: AppKey, body: Object) -> str:
        if kind == APPS:
            return app_owner_of(app_state(body), app, self._us)
        return owner_of(kind, meta_of(body), app)

    def existing(self, kind: Kind, app: AppKey, name: str) -> Object:
        """Do as `own`; raises `WorldChanged` where there is none."""
        body = self.own(kind, app, name)
        if body is None:
            raise WorldChanged(f"{kind.called(app.namespace, name)} is gone")
        return body

    def uid(self, app: AppKey) -> str:
        """Return the uid of the BlueGreenDeployment. Raises `WorldChanged` where there is none."""
        state = self._reader.app(app)
        if state is None:
            raise WorldChanged(f"{APPS.called(app.namespace, app.name)} is gone")
        return state.meta.uid

    def refuse_if_overtaken(self, app: AppKey, decided_on: str) -> None:
        """Raise `WorldChanged` where the BlueGreenDeployment is at another version; with an empty one,
        check nothing.
        """
        if not decided_on:
            return
        live = self._writer.get(APPS, app.namespace, app.name)
        if live is None or live["metadata"]["resourceVersion"] != decided_on:
            raise WorldChanged(f"{APPS.called(app.namespace, app.name)} is not what this was decided on")


def refuse_if_deleting(kind: Kind, body: Object) -> None:
    """Raise `WorldChanged` where an object is being deleted."""
    if "deletionTimestamp" in body["metadata"]:
        raise WorldChanged(f"{kind.name} {body['metadata']['name']} is still being deleted")

"""Garbage collector and namespace controller: what goes when its owner or namespace goes.

It must delete nothing that another living owner holds. Rules: kubernetes.io "Garbage Collection",
kubernetes `pkg/controller/garbagecollector`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from functools import partial

from gitops_bg.sandbox.controllers.loop import Loop
from gitops_bg.sandbox.http.errors import ApiError
from gitops_bg.sandbox.http.watches import DELETED, WatchEvent
from gitops_bg.sandbox.objects.kinds import NAMESPACES, ResourceKey
from gitops_bg.sandbox.objects.objects import Manifest, key_of
from gitops_bg.sandbox.objects.store import ObjectKey
from gitops_bg.sandbox.verbs.deleting import Deletion, delete
from gitops_bg.sandbox.verbs.writing import Options, Writer

Place = tuple[ResourceKey, ObjectKey]
_OPTIONS = Options(manager="kube-controller-manager")


class Garbage:
    """Follows owner references by uid and namespaces by name."""

    def __init__(self, writer: Writer, loop: Loop) -> None:
        self._writer = writer
        self._store = writer.store
        self._loop = loop
        self._living: dict[str, Place] = {}
        self._dependents: defaultdict[str, set[Place]] = defaultdict(set)
        self._contents: defaultdict[str, set[Place]] = defaultdict(set)

    def notice(self, resource: ResourceKey, change: WatchEvent) -> None:
        """Keep the indexes; queue objects that a deletion, or a new owner reference, may doom."""
        obj = change.current.obj
        place, metadata = (resource, key_of(obj)), obj["metadata"]
        if change.previous is not None:
            self._forget(place, change.previous.obj)
        if change.type == DELETED:
            self._notice_deletion(place, change.previous.obj if change.previous else obj)
            return
        self._living[metadata["uid"]] = place
        if metadata.get("namespace"):
            self._contents[metadata["namespace"]].add(place)
        for owner in metadata.get("ownerReferences") or ():
            self._dependents[owner["uid"]].add(place)
            if owner["uid"] not in self._living:
                self._loop.put(self, place)
        if "deletionTimestamp" in metadata:
            self._loop.put(self, place)

    def _forget(self, place: Place, obj: Manifest) -> None:
        metadata = obj["metadata"]
        for owner in metadata.get("ownerReferences") or ():
            self._dependents[owner["uid"]].discard(place)
            if not self._dependents[owner["uid"]]:
                del self._dependents[owner["uid"]]

    def _notice_deletion(self, place: Place, obj: Manifest) -> None:
        metadata = obj["metadata"]
        self._living.pop(metadata["uid"], None)
        for dependent in self._dependents.get(metadata["uid"], ()):
            self._loop.put(self, dependent)
        for owner in metadata.get("ownerReferences") or ():
            if owner["uid"] in self._living:
                self._wake_if_ending(self._living[owner["uid"]])
        namespace = metadata.get("namespace")
        if namespace:
            self._contents[namespace].discard(place)
            self._wake_if_ending((NAMESPACES, ("", namespace)))

    def _wake_if_ending(self, place: Place) -> None:
        stored = self._store.get(*place)
        if stored and "deletionTimestamp" in stored.obj["metadata"]:
            self._loop.put(self, place)

    def reconcile(self, key: Hashable) -> None:
        """Delete one object without living owners, or help one that is ending to its end."""
        assert isinstance(key, tuple)
        resource, name = key
        stored = self._store.get(resource, name)
        if stored is None:
            return
        metadata = stored.obj["metadata"]
        if "deletionTimestamp" in metadata:
            self._help(key, stored.obj)
        elif metadata.get("ownerReferences"):
            self._judge(key, stored.obj)

    def _judge(self, place: Place, obj: Manifest) -> None:
        """Keep an object with one remaining owner: only the references to the others are removed
        (`attemptToDeleteItem`).
        """
        metadata = obj["metadata"]
        uids = [owner["uid"] for owner in metadata["ownerReferences"]]
        going = {uid for uid in uids if uid not in self._living or self._waits_for_dependents(uid)}
        if len(going) == len(uids):
            in_turn = any(uid in self._living for uid in uids) and metadata["uid"] in self._dependents
            self._delete(place, "Foreground" if in_turn else "")
            return
        for uid in going:
            self._edit(place, partial(_without_owner, uid=uid))

    def _waits_for_dependents(self, uid: str) -> bool:
        stored = self._store.get(*self._living[uid])
        metadata = stored.obj["metadata"] if stored else {}
        return "deletionTimestamp" in metadata and "foregroundDeletion" in (metadata.get("finalizers") or ())

    def _help(self, place: Place, obj: Manifest) -> None:
        finalizers = obj["metadata"].get("finalizers") or []
        if place[0] == NAMESPACES:
            self._empty_namespace(obj)
        elif "orphan" in finalizers:
            self._orphan(place, obj)
        elif "foregroundDeletion" in finalizers:
            self._finish_dependents(place, obj)

    def _empty_namespace(self, namespace: Manifest) -> None:
        name = namespace["metadata"]["name"]
        with self._store.lock:
            contents = list(self._contents.get(name, ()))
        for place in contents:
            self._delete(place)
        if not self._contents.get(name):
            self._contents.pop(name, None)
            self._edit((NAMESPACES, ("", name)), lambda obj: {**obj, "spec": {**obj["spec"], "finalizers": []}})

    def _orphan(self, place: Place, obj: Manifest) -> None:
        uid = obj["metadata"]["uid"]
        with self._store.lock:
            dependents = list(self._dependents.get(uid, ()))
        for dependent in dependents:
            self._edit(dependent, lambda own: _without_owner(own, uid))
        self._edit(place, lambda own: _without_finalizer(own, "orphan"))

    def _finish_dependents(self, place: Place, obj: Manifest) -> None:
        uid = obj["metadata"]["uid"]
        with self._store.lock:
            dependents = list(self._dependents.get(uid, ()))
        for dependent in dependents:
            self.reconcile(dependent)
        with self._store.lock:
            left = [d for d in self._dependents.get(uid, ()) if self._blocks(d, uid)]
        if not left:
            self._edit(place, lambda own: _without_finalizer(own, "foregroundDeletion"))

    def _blocks(self, place: Place, uid: str) -> bool:
        stored = self._store.get(*place)
        owners = stored.obj["metadata"].get("ownerReferences") or () if stored else ()
        return any(owner["uid"] == uid and owner.get("blockOwnerDeletion") for owner in owners)

    def _delete(self, place: Place, propagation: str = "") -> None:
        stored = self._store.get(*place)
        if stored is None or "deletionTimestamp" in stored.obj["metadata"]:
            return
        try:
            delete(self._store, self._writer.kinds.of(place[0]), *place[1], Deletion(propagation=propagation))
        except ApiError as error:
            if error.code != 404:
                raise

    def _edit(self, place: Place, edit: Callable[[Manifest], Manifest]) -> None:
        try:
            self._writer.modify(self._writer.kinds.of(place[0]), *place[1], edit, _OPTIONS)
        except ApiError as error:
            if error.code != 404:
                raise


def _without_owner(obj: Manifest, uid: str) -> Manifest:
    owners = [owner for owner in obj["metadata"].get("ownerReferences") or () if owner["uid"] != uid]
    metadata = {key: value for key, value in obj["metadata"].items() if key != "ownerReferences"}
    return {**obj, "metadata": {**metadata, **({"ownerReferences": owners} if owners else {})}}


def _without_finalizer(obj: Manifest, finalizer: str) -> Manifest:
    left = [name for name in obj["metadata"].get("finalizers") or () if name != finalizer]
    metadata = {key: value for key, value in obj["metadata"].items() if key != "finalizers"}
    return {**obj, "metadata": {**metadata, **({"finalizers": left} if left else {})}}

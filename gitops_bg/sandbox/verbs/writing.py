"""Create, update, patch: every write goes through here, from requests and from controllers alike.

A read-modify-write holds the store's lock, so a patch without a resourceVersion never conflicts, as in
the real server, which retries it. It must not know HTTP. Deletion is in `deleting.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gitops_bg.sandbox.http.errors import (
    ApiError,
    already_exists,
    bad_request,
    cause,
    conflict,
    forbidden,
    invalid,
    not_found,
)
from gitops_bg.sandbox.objects import rules
from gitops_bg.sandbox.objects.kinds import NAMESPACES, Kinds, ServedKind
from gitops_bg.sandbox.objects.objects import Manifest, Stored
from gitops_bg.sandbox.objects.store import Store
from gitops_bg.sandbox.verbs import managers
from gitops_bg.sandbox.verbs.managers import Manager

Edit = Callable[[Manifest], Manifest]
"""Takes the stored object, which it must not change, and returns the wanted one."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a write; the query parameters of the same names."""

    manager: str = "unknown"
    dry_run: bool = False
    strict: bool = False
    force: bool = False
    applies: bool = False
    subresource: str = ""

    def as_manager(self, kind: ServedKind) -> Manager:
        """Return who owns the fields that this write sets."""
        return Manager(self.manager, "Apply" if self.applies else "Update", kind.api_version, self.subresource)


class Writer:
    """Writes objects by the rules of their kinds."""

    def __init__(self, store: Store, kinds: Kinds) -> None:
        self.store = store
        self.kinds = kinds
        self._addresses = rules.Addresses()

    def create(self, kind: ServedKind, namespace: str, body: Manifest, options: Options) -> Stored:
        """Store a new object; raise 404 without its namespace, 409 if it exists, 422 if it is invalid."""
        obj = rules.in_order(kind, body, namespace)
        with self.store.lock:
            self._check_namespace(kind, namespace, obj)
            rules.begin(kind, obj, self._addresses)
            rules.settle(kind, obj, None, options.strict)
            key = (namespace, obj["metadata"]["name"])
            if self.store.get(kind.key, key):
                raise already_exists(kind.qualified, key[1])
            if not options.applies:
                self._track_create(kind, body, obj, options)
            return Stored(obj) if options.dry_run else self.store.put(kind.key, obj)

    @staticmethod
    def _track_create(kind: ServedKind, body: Manifest, obj: Manifest, options: Options) -> None:
        """Give the creator what it sent and what was defaulted, but not what the server assigns by itself."""
        own = {key: part for key, part in obj.items() if not (kind.has_status and key == "status")}
        if isinstance(own.get("spec"), dict):
            assigned = rules.ASSIGNED - (body.get("spec") or {}).keys()
            own["spec"] = {key: part for key, part in own["spec"].items() if key not in assigned}
        managers.track_update(None, own, rules.shape_of(kind), options.as_manager(kind))

    def _check_namespace(self, kind: ServedKind, namespace: str, obj: Manifest) -> None:
        if not kind.namespaced:
            return
        found = self.store.get(NAMESPACES, ("", namespace))
        if found is None:
            raise not_found("namespaces", namespace)
        if "deletionTimestamp" in found.obj["metadata"]:
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise forbidden(kind.qualified, obj["metadata"].get("name", ""), why)

    def modify(self, kind: ServedKind, namespace: str, name: str, edit: Edit, options: Options) -> Stored:
        """Replace an object by what `edit` makes of it; an edit that changes nothing writes nothing."""
        with self.store.lock:
            old = self.store.get(kind.key, (namespace, name))
            if old is None:
                raise not_found(kind.qualified, name)
            new = rules.in_order(kind, edit(served_as(kind, old.obj)), namespace)
            self._check_version(kind, old, new)
            new = rules.carry_over(kind, old.obj, new, options.subresource)
            rules.settle(kind, new, old.obj, options.strict)
            rules.count_generation(kind, old.obj, new)
            if not options.applies:
                managers.track_update(old.obj, new, rules.shape_of(kind), options.as_manager(kind))
            return self._store(kind, old, new, options)

    @staticmethod
    def _check_version(kind: ServedKind, old: Stored, new: Manifest) -> None:
        version = new["metadata"].get("resourceVersion")
        if version and version != old.obj["metadata"]["resourceVersion"]:
            raise conflict(kind.qualified, old.obj["metadata"]["name"])

    def _store(self, kind: ServedKind, old: Stored, new: Manifest, options: Options) -> Stored:
        new["metadata"]["resourceVersion"] = old.obj["metadata"]["resourceVersion"]
        if new == old.obj:
            return old
        if options.dry_run:
            return Stored(new)
        if "deletionTimestamp" in new["metadata"] and _is_released(new):
            return self.store.remove(kind.key, (new["metadata"].get("namespace", ""), new["metadata"]["name"]))
        return self.store.put(kind.key, new)

    def update(
        self, kind: ServedKind, namespace: str, name: str, body: Manifest, options: Options
    ) -> tuple[Stored, bool]:
        """Replace an object (PUT); return it and whether it was created, which few kinds allow."""
        metadata = body.get("metadata") or {}
        exists = self.store.get(kind.key, (namespace, name)) is not None
        if not exists and kind.creates_on_update and not options.subresource:
            return self.create(kind, namespace, body, options), True
        needs_version = kind.needs_version_to_update or kind.is_custom
        if exists and needs_version and not metadata.get("resourceVersion"):
            why = cause("metadata.resourceVersion", "Invalid value: 0x0: must be specified for an update")
            raise invalid(kind.group, kind.kind, name, [why])
        return self.modify(kind, namespace, name, lambda _: body, options), False

    def apply(
        self, kind: ServedKind, namespace: str, name: str, intent: Manifest, options: Options
    ) -> tuple[Stored, bool]:
        """Apply server-side; return the object and whether it was created."""
        shape, manager = rules.shape_of(kind), options.as_manager(kind)
        _check_apply_version(kind, intent)
        intent = _own_part(kind, rules.in_order(kind, intent, namespace), options.subresource)
        if intent["metadata"].get("managedFields"):
            raise bad_request("metadata.managedFields must be nil")
        with self.store.lock:
            if self.store.get(kind.key, (namespace, name)):
                return self.modify(
                    kind, namespace, name,
                    lambda live: _versioned(managers.apply(live, intent, shape, manager, options.force), intent),
                    options,
                ), False  # fmt: skip
            if options.subresource:
                raise not_found(kind.qualified, name)
            if intent["metadata"].get("resourceVersion"):
                raise conflict(kind.qualified, name)
            empty = {**intent, "metadata": {"name": name}}
            seed = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": empty["metadata"]}
            body = managers.apply(seed, intent, shape, manager, options.force)
            return self.create(kind, namespace, body, options), True

    def edit_status(self, kind: ServedKind, obj: Manifest, status: Manifest, manager: str) -> None:
        """Write the status of an object, for controllers; one that has gone meanwhile is left alone."""
        metadata = obj["metadata"]
        options = Options(manager, subresource="status")
        try:
            self.modify(
                kind, metadata.get("namespace", ""), metadata["name"],
                lambda live: {**live, "status": status}, options,
            )  # fmt: skip
        except ApiError as error:
            if error.code != 404:
                raise


def _check_apply_version(kind: ServedKind, intent: Manifest) -> None:
    given = intent.get("apiVersion", "") if isinstance(intent, dict) else ""
    if given != kind.api_version:
        said = f"Specified patch version: {given}, expected: {kind.api_version}"
        raise bad_request(f"Incorrect version specified in apply patch. {said}")


def _own_part(kind: ServedKind, intent: Manifest, subresource: str) -> Manifest:
    """Return what an apply to this subresource may own: the status there, everything else elsewhere."""
    if subresource == "status":
        return {key: value for key, value in intent.items() if key in ("kind", "apiVersion", "metadata", "status")}
    return {key: value for key, value in intent.items() if not (kind.has_status and key == "status")}


def _versioned(merged: Manifest, intent: Manifest) -> Manifest:
    """Add the resourceVersion of an apply, which makes it a compare-and-swap."""
    version = intent["metadata"].get("resourceVersion")
    return {**merged, "metadata": {**merged["metadata"], "resourceVersion": version}} if version else merged


def _is_released(obj: Manifest) -> bool:
    if obj["metadata"].get("finalizers"):
        return False
    if obj["kind"] == "Namespace":
        return not (obj.get("spec") or {}).get("finalizers")
    return obj["kind"] != "Pod" or not obj["metadata"].get("deletionGracePeriodSeconds")


def served_as(kind: ServedKind, obj: Manifest) -> Manifest:
    """Return an object in the version of `kind` (the conversion strategy `None`: only apiVersion differs)."""
    return obj if obj["apiVersion"] == kind.api_version else {**obj, "apiVersion": kind.api_version}

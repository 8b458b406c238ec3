"""Get, list and watch as JSON, and the views of an object: `/scale`, `/binding` and `/log`. It must change nothing, and
keep no state. `/eviction` is in `eviction.py`.
"""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gitops_bg.sandbox.http.calls import Call
from gitops_bg.sandbox.http.errors import ApiError, bad_request, cause, invalid, no_such_path, not_found
from gitops_bg.sandbox.http.watches import Watch, WatchEvent
from gitops_bg.sandbox.objects import selectors
from gitops_bg.sandbox.objects.kinds import Scale as ScalePaths
from gitops_bg.sandbox.objects.kinds import ServedKind
from gitops_bg.sandbox.objects.objects import Manifest, Stored, dig, to_json
from gitops_bg.sandbox.objects.selectors import Matcher
from gitops_bg.sandbox.objects.store import ObjectKey, Store
from gitops_bg.sandbox.verbs.writing import served_as

# --- views of an object ---
# Scale: autoscaling/v1; the paths of a custom type come from its definition.


def served(kind: ServedKind, subresource: str) -> bool:
    """Return whether a type has this subresource."""
    if subresource == "status":
        return kind.has_status
    if subresource == "scale":
        return kind.scale is not None
    if kind.plural == "namespaces":
        return subresource == "finalize"
    return kind.plural == "pods" and subresource in ("binding", "eviction", "log")


def _paths(kind: ServedKind) -> ScalePaths:
    if kind.scale is None:
        raise no_such_path()
    return kind.scale


def scale_of(kind: ServedKind, obj: Manifest) -> Manifest:
    """Return the Scale of an object."""
    paths, metadata = _paths(kind), obj["metadata"]
    selector = dig(obj, paths.selector_path.split("."), "") if paths.selector_path else ""
    text = selectors.as_text(selector) if isinstance(selector, dict) else selector
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    replicas = dig(obj, paths.spec_path.split("."), 0)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in kept if key in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": dig(obj, paths.status_path.split("."), 0), "selector": text},
    }


def scaled(kind: ServedKind, obj: Manifest, scale: Manifest) -> Manifest:
    """Return a copy of `obj` with the replicas, and the resourceVersion as a lock, of a Scale."""
    replicas = dig(scale, ("spec", "replicas"), 0)
    if not isinstance(replicas, int) or replicas < 0:
        why = cause("spec.replicas", f"Invalid value: {replicas}: must be greater than or equal to 0")
        raise invalid("autoscaling", "Scale", obj["metadata"]["name"], [why])
    metadata = dict(obj["metadata"])
    version = dig(scale, ("metadata", "resourceVersion"))
    if version:
        metadata["resourceVersion"] = version
    return _with({**obj, "metadata": metadata}, _paths(kind).spec_path.split("."), replicas)


def _with(obj: Manifest, path: list[str], value: int) -> Manifest:
    if len(path) == 1:
        return {**obj, path[0]: value}
    return {**obj, path[0]: _with(obj.get(path[0]) or {}, path[1:], value)}


def bound(pod: Manifest, binding: Manifest) -> Manifest:
    """Return a copy of a Pod that is bound to the node of a Binding."""
    node = dig(binding, ("target", "name"), "")
    return {**pod, "spec": {**pod["spec"], "nodeName": node}}


# --- get, list and watch ---
# Paging, bookmarks and resourceVersion rules: kubernetes.io "Kubernetes API Concepts".

_HEARTBEAT = 5.0

Encode = Callable[[Stored], bytes]


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list."""

    items: list[Stored]
    version: str
    next_token: str = ""
    remaining: int | None = None

    def metadata(self) -> Manifest:
        """Return the `ListMeta`."""
        meta: Manifest = {"resourceVersion": self.version}
        if self.next_token:
            meta["continue"] = self.next_token
        if self.remaining is not None:
            meta["remainingItemCount"] = self.remaining
        return meta


def get(store: Store, kind: ServedKind, namespace: str, name: str) -> Stored:
    """Return one object; raise 404."""
    found = store.get(kind.key, (namespace, name))
    if found is None:
        raise not_found(kind.qualified, name)
    return found


def encoder(kind: ServedKind) -> Encode:
    """Return how an object is written when it is served as `kind`."""

    def encode(stored: Stored) -> bytes:
        served = served_as(kind, stored.obj)
        return stored.json() if served is stored.obj else to_json(served)

    return encode


def matcher(call: Call) -> Matcher | None:
    """Return the test that the selectors of a request describe; raise 400 on a bad selector."""
    labels = selectors.parse_labels(call.params.get("labelSelector", ""))
    wanted = call.params.get("fieldSelector", "")
    if call.name:
        wanted = f"{wanted},metadata.name={call.name}"
    return selectors.matcher(labels, selectors.parse_fields(wanted, call.plural))


def _number(call: Call, name: str) -> int | None:
    text = call.params.get(name, "")
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise bad_request(f"{name}: Invalid value: {text!r}: must be a number") from None


def _token(version: int, key: ObjectKey) -> str:
    return base64.urlsafe_b64encode(json.dumps([version, *key]).encode()).decode().rstrip("=")


def _read_token(text: str) -> tuple[int, ObjectKey]:
    try:
        version, namespace, name = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error):
        raise bad_request("continue key is not valid") from None
    return int(version), (namespace, name)


def list_page(store: Store, kind: ServedKind, call: Call) -> Page:
    """Return the page of a list that a request asks for; raise 410 for an expired continue token."""
    matches, limit = matcher(call), _number(call, "limit") or 0
    _number(call, "resourceVersion")  # every list here is the newest there is, which any version allows
    start: ObjectKey | None = None
    with store.lock:
        version = store.version
        if call.params.get("continue"):
            version, start = _read_token(call.params["continue"])
            store.check_page(version)
        found: list[Stored] = []
        for stored in store.after(kind.key, call.namespace, start):
            if matches is not None and not matches(stored.obj):
                continue
            if limit and len(found) == limit:
                return _full_page(store, kind, call, found, version)
            found.append(stored)
        return Page(found, str(version))


def _full_page(store: Store, kind: ServedKind, call: Call, found: list[Stored], version: int) -> Page:
    metadata = found[-1].obj["metadata"]
    last = (metadata.get("namespace", ""), metadata["name"])
    remaining = None
    if not call.params.get("labelSelector") and not call.params.get("fieldSelector"):
        remaining = store.count_after(kind.key, call.namespace, last)
    return Page(found, str(version), _token(version, last), remaining)


def list_json(kind: ServedKind, page: Page) -> bytes:
    """Return a list as JSON; items of built-in types carry no kind and apiVersion, as in the real server."""
    head = {"kind": kind.list_name, "apiVersion": kind.api_version, "metadata": page.metadata()}
    encode = encoder(kind)
    items: Iterator[bytes] = map(encode, page.items)
    if not kind.is_custom:
        cut = len(to_json({"kind": kind.kind, "apiVersion": kind.api_version}))
        items = (b"{" + item[cut:] for item in items)
    return b"".join((to_json(head)[:-1], b',"items":[', b",".join(items), b"]}"))


def open_watch(store: Store, kind: ServedKind, call: Call) -> Watch:
    """Start the watch that a request asks for; raise 410 if its resourceVersion is too old."""
    if call.params.get("sendInitialEvents"):
        why = cause(
            "sendInitialEvents",
            "Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
        )
        raise invalid("meta.k8s.io", "ListOptions", "", [why])
    since = _number(call, "resourceVersion")
    return store.watch(kind.key, call.namespace, matcher(call), since or None)


def error_line(error: ApiError) -> bytes:
    """Return the ERROR event that ends a watch."""
    return to_json({"type": "ERROR", "object": error.status()}) + b"\n"


def watch_lines(
    store: Store, kind: ServedKind, call: Call, watch: Watch, encode: Callable[[WatchEvent], bytes]
) -> Iterator[bytes]:
    """Yield the lines of a watch until it times out or is ended; an empty one where nothing happened for a while.

    A client that asked for bookmarks gets one every few seconds, and one at the timeout; none is older than a change
    that was told before it.
    """
    told = 0
    deadline = time.monotonic() + (_number(call, "timeoutSeconds") or 1800)
    wants_bookmarks = call.params.get("allowWatchBookmarks") in ("1", "true")
    next_bookmark = time.monotonic() + _HEARTBEAT
    try:
        while True:
            with store.lock:
                version = store.version
            left = deadline - time.monotonic()
            changes = watch.next_events(max(min(left, _HEARTBEAT), 0))
            if changes is None:
                return
            yield b"".join(_line(change.type, encode(change)) for change in changes)
            told = max([told, *(change.current.version for change in changes)])
            if wants_bookmarks and version >= watch.since and (left <= 0 or time.monotonic() >= next_bookmark):
                next_bookmark = time.monotonic() + _HEARTBEAT
                yield _bookmark(kind, max(version, told))
            if left <= 0:
                return
    finally:
        store.unwatch(kind.key, watch)


def _line(event: str, obj: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (event.encode(), obj)


def _bookmark(kind: ServedKind, version: int) -> bytes:
    metadata: dict[str, Any] = {"resourceVersion": str(version), "creationTimestamp": None}
    obj = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}
    return _line("BOOKMARK", to_json(obj))

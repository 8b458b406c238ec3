"""The verbs of the Kubernetes API, raw JSON in and out. Knows no kind in particular and decides nothing.

Responses that callers act upon become values or errors of their own: absent, conflict, failed test, gone. The reasons:
pitfalls.md §1.1 (why no models) and pitfalls.md §1.4 (why server-side apply). What an API server sends has the least
shape that it promises; anything else is an error of the connection, not a bug, for a proxy, or a server of an
aggregated API, may answer in its place.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.connection import ApiAnswer, Call, Connection, Count, Skew, Stream
from gitops_bg.cluster.api.errors import NotFound, is_absent, is_failed_test, refusal
from gitops_bg.cluster.api.kinds import ENDPOINT_SLICES, ENDPOINT_SLICES_BETA, PODS, Kind, Object, name_of
from gitops_bg.core.errors import Transient, WorldChanged
from gitops_bg.core.foreign_json import NotJson, read_objects
from gitops_bg.core.names import FIELD_MANAGER

BOOKMARK, DELETED, ERROR = "BOOKMARK", "DELETED", "ERROR"
_OF_A_BOOKMARK = ("resourceVersion",)
_OF_A_CHANGE = ("resourceVersion", "name")
_OF_A_DELETION = ("resourceVersion", "name", "uid")
"""What must be known of the object of an event."""


def read_event(line: bytes) -> tuple[str, Object]:
    """Return the type and the object of an event of a watch. Raises `Transient`.

    >>> read_event(b'{"type": "ERROR", "object": {"code": 410}}')
    ('ERROR', {'code': 410})
    """
    try:
        event = read_objects(line)
    except NotJson as error:
        raise Transient(f"the watch sent a line that is not JSON: {error}") from error
    kind, body = (event.get("type"), event.get("object")) if isinstance(event, dict) else (None, None)
    if not isinstance(kind, str) or not isinstance(body, dict):
        raise Transient("the watch sent a line that is no event")
    if kind != ERROR:
        for name in {BOOKMARK: _OF_A_BOOKMARK, DELETED: _OF_A_DELETION}.get(kind, _OF_A_CHANGE):
            _identity(body, name)
    return kind, body


def items_of(page: Object) -> list[Object]:
    """Return the objects of a page of a list. Raises `Transient`.

    >>> items_of({"items": None})
    []
    """
    items = page.get("items") or []
    if not isinstance(items, list):
        raise Transient("the API server sent a list without items")
    for item in items:
        _identity(item, "name")  # the rest is read object by object: a bad one hides none beside it
    return items


def next_of(page: Object) -> str:
    """Return the token that continues a list; empty at its end. Raises `Transient`."""
    metadata = page.get("metadata") or {}
    token = (metadata.get("continue") or "") if isinstance(metadata, dict) else None
    if not isinstance(token, str):
        raise Transient("the API server sent a list that cannot be continued")
    return token


def version_of(body: Object) -> str:
    """Return the ``resourceVersion`` of an object or a list. Raises `Transient`.

    >>> version_of({"metadata": {"resourceVersion": "7"}})
    '7'
    """
    return _identity(body, "resourceVersion")


def _identity(body: Any, name: str) -> str:
    metadata = body.get("metadata") if isinstance(body, dict) else None
    value = metadata.get(name) if isinstance(metadata, dict) else None
    if not isinstance(value, str):
        raise Transient(f"the API server sent an object without metadata.{name}")
    return value


PAGE = 500
"""Objects in one page of a list: reading 20 MB at once would stop all threads for a second (pitfalls.md §1.1)."""

APPLY = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
_MANAGER = {"fieldManager": FIELD_MANAGER}


class Client:
    """One identity at one API server. Thread-safe; `close` it at the end.

    ``may_write`` is called before every write except Events, retries included, and raises where the agent may no longer
    write. ``count`` is called for every request.

    Every method raises `Transient` (network, 429, 5xx), `WorldChanged` (409) or `Refused` (400, 403, 404, 422).
    """

    def __init__(
        self,
        access: Access,
        skew: Skew | None = None,
        may_write: Callable[[], None] = lambda: None,
        count: Count = lambda *_: None,
    ) -> None:
        self._connection = Connection(access, skew, count, self._may_send)
        self._may_write = may_write

    def close(self) -> None:
        """Close every idle connection."""
        self._connection.close()

    def is_asking(self, thread: int) -> bool:
        """Return whether a thread, by its identifier, waits for an answer of the API server."""
        return self._connection.is_asking(thread)

    def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """Return one object in its present state (a quorum read); None where there is none of this name.

        Raises ``ValueError`` without a name: that would list all of them, with other rights.
        """
        if not name:
            raise ValueError(f"get {kind.called(namespace)}: which one?")
        call = Call(f"get {kind.called(namespace, name)}", "GET", kind.path(namespace, name), {})
        answer = self._connection.send(call)
        return None if is_absent(answer.status, answer.data, call.path) else _decoded(call, answer)

    def pages(self, kind: Kind, namespace: str = "", labels: str = "", limit: int = PAGE) -> Iterator[Object]:
        """Yield the pages of a list, each a list object of its own; all at the ``resourceVersion`` of the first.

        Raises `Gone` where the server can no longer continue the list: start again.
        """
        query = {"limit": str(limit)} | ({"labelSelector": labels} if labels else {})
        while True:
            page = self.read(f"list {kind.called(namespace)}", kind.path(namespace), query)
            yield page
            token = next_of(page)
            del page  # a page is large: not two at once
            if not token:
                return
            query["continue"] = token

    def list(self, kind: Kind, namespace: str = "", labels: str = "") -> list[Object]:
        """Return all objects of a kind with these labels; without a namespace, those of all namespaces."""
        return [each for page in self.pages(kind, namespace, labels) for each in items_of(page)]

    def read(self, what: str, path: str, query: Mapping[str, str] | None = None) -> Object:
        """Send a GET for any path; for lists and discovery."""
        call = Call(what, "GET", path, query or {})
        return _decoded(call, self._connection.send(call))

    def serves(self, kind: Kind) -> bool:
        """Return whether the API server serves a kind, in this version of it."""
        try:
            answer = self.read(f"discover {kind.api_version}", kind.path().rpartition("/")[0])
        except NotFound:
            return False
        return any(each.get("name") == kind.plural for each in answer.get("resources") or [])

    def log(self, namespace: str, pod: str, lines: int, *, previous: bool, container: str = "") -> str:
        """Return the last lines of a pod's log, of the container that runs or of the ``previous`` one; a pod with
        several needs the name of one.
        """
        more = {"previous": "true" if previous else "", "container": container}
        query = {"tailLines": str(lines)} | {name: value for name, value in more.items() if value}
        call = Call(f"read the log of {namespace}/{pod}", "GET", f"{PODS.path(namespace, pod)}/log", query)
        answer = self._connection.send(call)
        if answer.status != 200:
            raise refusal(call.what, answer.status, answer.headers, answer.data, call.path)
        return answer.data.decode(errors="replace")

    def watch(self, kind: Kind, namespace: str, labels: str, version: str, seconds: int, silence: float) -> Stream:
        """Open a watch that the server ends after ``seconds``; ``silence`` seconds without a line raise `Silent`.

        https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
        """
        query = {
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(seconds),
        }
        if labels:
            query["labelSelector"] = labels
        call = Call(f"watch {kind.called(namespace)}", "GET", kind.path(namespace), query)
        return self._connection.open(call, silence)

    def create(self, kind: Kind, body: Object) -> Object:
        """POST an object. Raises `WorldChanged` where one of this name exists already."""
        namespace, name = name_of(body)
        return self._write(Call(f"create {kind.called(namespace, name)}", "POST", kind.path(namespace), _MANAGER, body))

    def apply(self, kind: Kind, body: Object, *, force: bool) -> Object:
        """Apply server-side: ``body`` is all that the agent wants of the object; fields it no longer names are given
        up.

        With ``force`` the agent takes over fields of other managers; without it, they raise `WorldChanged`.

        https://kubernetes.io/docs/reference/using-api/server-side-apply/
        """
        query = _MANAGER | {"force": "true" if force else "false"}
        return self._patch("apply", kind, name_of(body), body, APPLY, query)

    def json_patch(self, kind: Kind, namespace: str, name: str, operations: Sequence[Object]) -> Object:
        """Send a JSON patch, all or nothing. Raises `WorldChanged` for a failed ``test`` or a deleted object."""
        what = (namespace, name)
        return self._patch("patch", kind, what, list(operations), JSON_PATCH, _MANAGER)

    def scale(self, kind: Kind, namespace: str, name: str, version: str, replicas: int) -> None:
        """Change how many pods a workload has, through its ``scale``: nothing else can be written there.

        Raises `WorldChanged` where the workload is not at this ``resourceVersion`` any more. The number itself cannot
        be tested: a Scale leaves it out where it is 0.

        https://kubernetes.io/docs/reference/kubernetes-api/autoscaling-resources/scale-v1/
        """
        path = f"{kind.path(namespace, name)}/scale"
        change = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": version},
            {"op": "add", "path": "/spec/replicas", "value": replicas},
        ]
        self._write(Call(f"scale {kind.called(namespace, name)}", "PATCH", path, _MANAGER, change, JSON_PATCH))

    def merge_patch(self, kind: Kind, namespace: str, name: str, body: Object) -> Object:
        """Send a JSON merge patch; null deletes."""
        return self._patch("patch", kind, (namespace, name), body, MERGE_PATCH, _MANAGER)

    def patch_status(self, kind: Kind, namespace: str, name: str, body: Object) -> Object:
        """Send a JSON merge patch of the status; ``metadata.resourceVersion`` of ``body`` is the lock."""
        call = Call(
            f"patch the status of {kind.called(namespace, name)}", "PATCH", f"{kind.path(namespace, name)}/status",
            _MANAGER, body, MERGE_PATCH,
        )  # fmt: skip
        return self._write(call)

    def save_status(self, kind: Kind, namespace: str, name: str, version: str, status: Object) -> Object:
        """Replace the status, and nothing else, of an object at this ``resourceVersion``. Raises `WorldChanged` for a
        stale one.

        By JSON patch: Kubernetes before 1.22 takes a PUT of the status without the spec, which it ignores, as giving up
        the fields of the spec, and no apply takes out of it any more what leaves Git.
        """
        operations = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": version},
            {"op": "add", "path": "/status", "value": status},
        ]
        what, path = f"save the status of {kind.called(namespace, name)}", f"{kind.path(namespace, name)}/status"
        return self._write(Call(what, "PATCH", path, _MANAGER, operations, JSON_PATCH))

    def replace(self, kind: Kind, body: Object) -> Object:
        """PUT an object as a whole; ``metadata.resourceVersion`` is the lock. Raises `WorldChanged` for a stale one."""
        what = name_of(body)
        return self._write(Call(f"replace {kind.called(*what)}", "PUT", kind.path(*what), _MANAGER, body))

    def delete(self, kind: Kind, namespace: str, name: str, uid: str = "", version: str = "") -> None:
        """Delete an object and, in the background, what it owns; an object deleted already is no error.

        With ``uid`` or ``version``: only if it is still that object, else `WorldChanged`.
        """
        conditions = {key: value for key, value in (("uid", uid), ("resourceVersion", version)) if value}
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        body: Object = {**options, "preconditions": conditions} if conditions else {**options}
        call = Call(f"delete {kind.called(namespace, name)}", "DELETE", kind.path(namespace, name), {}, body)
        answer = self._connection.send(call)
        if not is_absent(answer.status, answer.data):
            _decoded(call, answer)

    def evict(self, kind: Kind, eviction: Object) -> None:
        """POST an Eviction of a pod; a pod deleted already is no error.

        A refusal by a disruption budget is a `Transient` (429).
        """
        namespace, name = name_of(eviction)
        path = f"{kind.path(namespace, name)}/eviction"
        call = Call(f"evict {kind.called(namespace, name)}", "POST", path, {}, eviction)
        answer = self._connection.send(call)
        if not is_absent(answer.status, answer.data):
            _decoded(call, answer)

    def _may_send(self, call: Call) -> None:
        """Check `may_write` each time a write is sent; not for Events, which report what was done before."""
        is_event = call.path.endswith("/events") or "/events/" in call.path
        if call.method != "GET" and not is_event:
            self._may_write()

    def _patch(
        self, verb: str, kind: Kind, what: tuple[str, str], body: Any, content_type: str, query: Mapping[str, str]
    ) -> Object:
        sentence = f"{verb} {kind.called(*what)}"
        return self._write(Call(sentence, "PATCH", kind.path(*what), query, body, content_type))

    def _write(self, call: Call) -> Object:
        answer = self._connection.send(call)
        tested = call.content_type == JSON_PATCH and is_failed_test(answer.status, answer.data)
        vanished = call.method in {"PUT", "PATCH"} and is_absent(answer.status, answer.data)
        if tested or (vanished and call.content_type != APPLY):
            raise WorldChanged(f"{call.what}: it is no longer what this was decided on")
        return _decoded(call, answer)


def _decoded(call: Call, answer: ApiAnswer) -> Object:
    if not 200 <= answer.status < 300:
        raise refusal(call.what, answer.status, answer.headers, answer.data, call.path, call.body)
    try:
        decoded = read_objects(answer.data)
    except ValueError as error:
        raise Transient(f"{call.what}: the answer is not JSON: {error}") from error
    if not isinstance(decoded, dict):
        raise Transient(f"{call.what}: the answer is no object")
    return decoded


class EndpointSliceVersion:
    """Called, it returns the kind of EndpointSlices. Raises `Transient` while the server does not respond."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._kind: Kind | None = None

    def __call__(self) -> Kind:
        """Return the kind, asked of the server once and cached."""
        if self._kind is None:
            group = self._client.read("look for EndpointSlices", "/apis/discovery.k8s.io")
            served = {version["groupVersion"] for version in group["versions"]}
            self._kind = ENDPOINT_SLICES if ENDPOINT_SLICES.api_version in served else ENDPOINT_SLICES_BETA
        return self._kind

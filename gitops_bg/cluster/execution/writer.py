"""Writes that the caches learn of at once: `client`'s verbs, each with the answer handed to a `reader.Memory`."""

from collections.abc import Callable, Sequence

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import Kind, Object, name_of
from gitops_bg.cluster.execution.anchors import Anchors
from gitops_bg.cluster.observation.reader import WriteThrough


class Writer:
    """The verbs that change something, and the live read that comes before."""

    def __init__(self, client: Client, memory: WriteThrough) -> None:
        self._client = client
        self.anchors = Anchors(client)
        self._memory = memory

    def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """One object as it is now, never from a cache."""
        return self._client.get(kind, namespace, name)

    def create(self, kind: Kind, body: Object) -> Object:
        """POST, see `Client.create`."""
        return self._remembered(kind, name_of(body), lambda: self._client.create(kind, body))

    def apply(self, kind: Kind, body: Object, *, force: bool) -> Object:
        """Server-side apply, see `Client.apply`; what is to outlive its controller gets its second owner."""
        anchored = self.anchors.anchored(kind, body)
        return self._remembered(kind, name_of(body), lambda: self._client.apply(kind, anchored, force=force))

    def json_patch(self, kind: Kind, namespace: str, name: str, operations: Sequence[Object]) -> Object:
        """JSON patch, see `Client.json_patch`."""
        write = lambda: self._client.json_patch(kind, namespace, name, operations)  # noqa: E731
        return self._remembered(kind, (namespace, name), write)

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

    def delete(self, kind: Kind, body: Object, *, unchanged: bool = False) -> None:
        """Delete exactly the object that was read; with ``unchanged`` only if nobody wrote to it since."""
        metadata, (namespace, name) = body["metadata"], name_of(body)
        version = metadata["resourceVersion"] if unchanged else ""
        self._client.delete(kind, namespace, name, metadata["uid"], version)
        if not metadata.get("finalizers"):
            self._memory.forget(kind, namespace, name, metadata["uid"])

    def _remembered(self, kind: Kind, what: tuple[str, str], write: Callable[[], Object]) -> Object:
        held = self._memory.version(kind, *what)
        answer = write()
        self._memory.remember(kind, answer, held)
        return answer

"""The namespace as a second owner of what traffic depends on, so that deleting the BlueGreenDeployment deletes none of
it.

Kubernetes deletes objects without a remaining owner; an object with another owner only loses the reference, whatever
the propagation policy. So a deletion by hand is drift: the agent creates the object anew and adopts the rest again.
Before a deletion by `deletionPolicy: delete`, the agent removes the second owner (docs/decisions/0022).
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.errors import Forbidden
from gitops_bg.cluster.api.kinds import (
    CONFIG_MAPS,
    GRPC_ROUTES,
    HTTP_ROUTES,
    NAMESPACES,
    SECRETS,
    SERVICES,
    WORKLOADS,
    Kind,
    Object,
)
from gitops_bg.cluster.observation.states import AppState

ANCHORED = frozenset(
    kind.name for kind in (*WORKLOADS.values(), SERVICES, CONFIG_MAPS, SECRETS, HTTP_ROUTES, GRPC_ROUTES)
)
"""The kinds that stay, by name. Autoscalers and budgets are recreated in a moment, and no pod depends on them."""

_log = logging.getLogger(__name__)


class Anchors:
    """The uids of namespaces, each read once for every life of an app's object. Thread-safe.

    One read counts for all apps of the namespace that were known before the first question: while an object exists, its
    namespace was not recreated. ``known_apps`` gives them without asking the server.
    """

    def __init__(self, client: Client, known_apps: Callable[[], Iterable[AppState]] = tuple) -> None:
        self._client = client
        self._known_apps = known_apps
        self._lock = Lock()
        self._known: dict[tuple[str, str], str] = {}
        self._waiting: dict[str, list[str]] | None = None
        """The uids of the apps that were known at the first question, by namespace, until theirs is read."""

    def uid(self, namespace: str, app_uid: str) -> str:
        """The uid of a namespace; empty where the agent may not read it, or has no object there yet.

        A recreated namespace contains no object of the former one, so its uid is read again.
        """
        if not app_uid:
            return ""
        with self._lock:
            known = self._known.get((namespace, app_uid))
            others = self._known_before(namespace) if known is None else ()
        if known is None:
            known = self._read(namespace)
            with self._lock:
                self._note(namespace, [app_uid, *others] if known else [app_uid], known)
        return known

    def _known_before(self, namespace: str) -> Sequence[str]:
        if self._waiting is None:
            self._waiting = defaultdict(list)
            for state in self._known_apps():
                self._waiting[state.meta.namespace].append(state.meta.uid)
        return self._waiting.get(namespace, ())

    def _note(self, namespace: str, apps: Iterable[str], uid: str) -> None:
        for app in apps:
            self._known.setdefault((namespace, app), uid)
        if uid and self._waiting is not None:
            self._waiting.pop(namespace, None)

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
        """A manifest of ours with the namespace as second owner."""
        metadata = body["metadata"]
        owners = metadata.get("ownerReferences")
        if kind.name not in ANCHORED or not owners:
            return body
        uid = self.uid(metadata["namespace"], owners[0]["uid"])
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
    """The patch that leaves an object to its controller alone, so that it is deleted with that; empty where nothing
    changes.
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

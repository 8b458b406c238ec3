"""The namespace as a second owner of what traffic depends on, so that deleting the BlueGreenDeployment deletes none of
it.

Kubernetes deletes objects without a remaining owner; an object with another owner only loses the reference, whatever
the propagation policy. So a deletion by hand is drift: the agent creates the object anew and adopts the rest again.
Before a deletion by `deletionPolicy: delete`, the agent removes the second owner (docs/decisions/0022).
"""

import logging
from collections.abc import Callable, Mapping
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
        """The uid of an app's namespace; empty where the agent may not read it, or the app has no object yet."""
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
        """A manifest of ours with the namespace as second owner."""
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

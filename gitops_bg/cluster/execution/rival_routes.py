"""HTTPRoutes of others in the namespace of an app that has one: seen, and taken away where their owner left main.

One list serves all apps of a namespace for some seconds. A list that the server refuses stops no app.
"""

import math
import time
from collections.abc import Callable
from threading import Lock

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.errors import ForeignObject, NotFound
from gitops_bg.cluster.api.kinds import HTTP_ROUTES, Object
from gitops_bg.cluster.groups.routes import rival_of
from gitops_bg.core.errors import InternalError, Refused, Transient
from gitops_bg.core.model.auxiliary import RivalRoute

FRESH_SECONDS = 5.0
"""The age of a list that suffices."""


class RivalRoutes:
    """Lists them. Thread-safe. ``clock`` counts seconds from any moment."""

    def __init__(self, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._lock = Lock()
        self._known: dict[str, tuple[float, tuple[RivalRoute, ...]]] = {}

    def of(self, namespace: str) -> tuple[RivalRoute, ...]:
        """All HTTPRoutes of a namespace, in the order of their names; a failed list leaves what was known before."""
        began = self._clock()
        with self._lock:
            asked, known = self._known.get(namespace, (-math.inf, ()))
        if began - asked < FRESH_SECONDS:
            return known
        try:
            return self.now(namespace)
        except InternalError:
            raise
        except (Refused, Transient):
            with self._lock:
                self._known[namespace] = (began, known)
        return known

    def now(self, namespace: str) -> tuple[RivalRoute, ...]:
        """All HTTPRoutes of a namespace, listed now; none where the cluster lacks the kind. Raises the errors of the
        cluster: whoever ends by what is there must know it.
        """
        began = self._clock()
        try:
            found = tuple(rival_of(each) for each in sorted(self._client.list(HTTP_ROUTES, namespace), key=_name))
        except NotFound:
            found = ()
        with self._lock:
            self._known[namespace] = (began, found)
        return found

    def delete(self, namespace: str, name: str, owner: str) -> Object | None:
        """As `delete_of_owner`; the next list is a new one."""
        with self._lock:
            self._known.pop(namespace, None)
        return delete_of_owner(self._client, namespace, name, owner)


def delete_of_owner(client: Client, namespace: str, name: str, owner: str) -> Object | None:
    """Delete an HTTPRoute as long as it is that of an owner (`RivalRoute.owner`), and return it; None where it is gone.

    Raises `ForeignObject` where it is somebody else's by now.
    """
    live = client.get(HTTP_ROUTES, namespace, name)
    if live is None:
        return None
    if (whose := rival_of(live).owner) != owner:
        raise ForeignObject(f"{HTTP_ROUTES.called(namespace, name)} is of {whose}, and not of {owner} any more")
    client.delete(HTTP_ROUTES, namespace, name, live["metadata"]["uid"])
    return live


def _name(body: Object) -> str:
    return str(body["metadata"]["name"])

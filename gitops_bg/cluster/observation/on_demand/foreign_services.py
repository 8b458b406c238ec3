"""The Services of a namespace that nobody handed to the agent: whoever made them, they may select pods of an app.

One list serves all apps of a namespace for a while. A list that the server refuses stops no app.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import NOT_OURS, SERVICES, Object
from gitops_bg.cluster.observation.states import pairs
from gitops_bg.core import names
from gitops_bg.core.errors import InternalError, Refused, Transient
from gitops_bg.core.model.observed import ServiceView

FRESH_SECONDS = 1.0
"""The age of a list that suffices where the pods of an app depend on it."""
RECENT_SECONDS = 30.0
"""The age of a list that suffices where it is only said what such a Service selects."""

_OF_ONE_VERSION = frozenset({names.DIGEST, names.VERSION, names.COLOR})
"""Whoever selects by one of these labels has chosen between the versions of an app."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What is known of the Services of a namespace."""

    services: tuple[ServiceView, ...] | None = None
    """The newest that are known; None where they never were."""
    trouble: Refused | Transient | None = None
    """Why the last list failed."""


class ForeignServices:
    """Lists them. Thread-safe. ``clock`` counts seconds from any moment."""

    def __init__(self, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._lock = Lock()
        self._known: dict[str, tuple[float, Listed]] = {}

    def of(self, namespace: str, within_seconds: float) -> Listed:
        """Those with a selector that does not tell versions apart, and that nobody agreed may have every version.

        No older than ``within_seconds``; a failed list counts as one, too, and leaves what was known before.
        """
        began = self._clock()
        with self._lock:
            asked, known = self._known.get(namespace, (-math.inf, Listed()))
            if began - asked < within_seconds:
                return known
        try:
            found = Listed(tuple(_views(self._client.list(SERVICES, namespace, NOT_OURS))))
        except InternalError:
            raise
        except (Refused, Transient) as error:
            found = Listed(known.services, error)
        with self._lock:
            if began >= self._known.get(namespace, (began, None))[0]:
                self._known[namespace] = (began, found)
        return found


def _views(bodies: list[Object]) -> Iterator[ServiceView]:
    for body in bodies:
        spec, annotations = body.get("spec") or {}, body["metadata"].get("annotations") or {}
        selector = spec.get("selector") or {}
        chosen = spec.get("type") == "ExternalName" or not _OF_ONE_VERSION.isdisjoint(selector)
        if selector and not chosen and annotations.get(names.ALL_VERSIONS) != "true":
            yield ServiceView(body["metadata"]["name"], "", pairs(selector), ours=False)

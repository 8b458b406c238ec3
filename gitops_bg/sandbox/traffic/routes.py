"""The endpoints of a Service as nodes know them: the EndpointSlices, with a delay. It must look at no pod.

Real kube-proxies learn of a change after the API server, each in its own time; until then new connections go to the
former endpoints.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque

from gitops_bg.sandbox.http.watches import DELETED, Change
from gitops_bg.sandbox.objects.kinds import SLICES, ResourceKey
from gitops_bg.sandbox.objects.objects import Manifest, key_of, labels_of
from gitops_bg.sandbox.objects.store import ObjectKey

_Known = tuple[float, tuple[str, ...]]


class LateRoutes:
    """The ready pods of each Service as they were `delay` seconds ago."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._history: defaultdict[ObjectKey, deque[_Known]] = defaultdict(deque)

    def notice(self, resource: ResourceKey, change: Change) -> None:
        """Remember what a slice says, and since when."""
        if resource != SLICES:
            return
        found = change.current.obj
        service = (key_of(found)[0], labels_of(found).get("kubernetes.io/service-name", ""))
        pods = () if change.type == DELETED else tuple(_ready(found))
        self._history[service].append((time.monotonic(), pods))

    def pods_of(self, service: ObjectKey) -> tuple[str, ...]:
        """Return the names of the pods that new connections go to now."""
        history, moment = self._history[service], time.monotonic() - self._delay
        while len(history) > 1 and history[1][0] <= moment:
            history.popleft()
        return history[0][1] if history and history[0][0] <= moment else ()


def _ready(slice_: Manifest) -> list[str]:
    """The ready pods of a slice; none where its ports lead nowhere: no connection gets an answer then."""
    return [
        each["targetRef"]["name"] for each in slice_["endpoints"] if each["conditions"]["ready"] and slice_["ports"]
    ]

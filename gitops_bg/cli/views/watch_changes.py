"""Notices changes of our objects in a cluster, for verbs that keep showing or wait. Interprets nothing."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gitops_bg.cli.views.pods import pod_labels
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.connection import Access
from gitops_bg.cluster.api.kinds import PODS, Object
from gitops_bg.cluster.api.watch import Watch
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.errors import GitopsBgError, Transient
from gitops_bg.core.model.version import AppKey

_SYNC_SECONDS = 30.0

Wait = Callable[[float | None], bool]
"""Wait for the next change, at most so many seconds; return whether there was one."""


@contextmanager
def changes(access: Access, namespace: str = "", pods_of: AppKey | None = None) -> Iterator[Wait]:
    """Watch a namespace (empty: all), and the pods of an app. The result waits for the next change."""
    changed = threading.Event()
    cluster = Cluster.watching(access, lambda _app: changed.set(), [namespace] if namespace else [])
    try:
        cluster.start()
        if not cluster.wait(_SYNC_SECONDS):
            raise next(iter(cluster.troubles()), Transient("the cluster did not list its objects in time"))
        changed.set()

        def wait(seconds: float | None) -> bool:
            news = changed.wait(seconds)
            changed.clear()
            return news

        with _pods(cluster.client, pods_of, changed):
            yield wait
    finally:
        cluster.stop()


@contextmanager
def _pods(client: Client, app: AppKey | None, changed: threading.Event) -> Iterator[None]:
    """Watch the pods of an app also; if we may not, continue without them."""
    if app is None:
        yield
        return
    watch = Watch(client, lambda: PODS, app.namespace, pod_labels(app), _Bell(changed))
    watch.start()
    try:
        yield
    finally:
        watch.stop()


class _Bell:
    """Rings for every event of a watch."""

    def __init__(self, changed: threading.Event) -> None:
        self._changed = changed

    def begin(self) -> None:
        """Do nothing: `end` rings."""

    def put(self, body: Object) -> None:  # noqa: ARG002
        """Ring: an object is new or different."""
        self._changed.set()

    def end(self) -> None:
        """Ring: the list is complete."""
        self._changed.set()

    def remove(self, body: Object) -> None:  # noqa: ARG002
        """Ring: an object is gone."""
        self._changed.set()

    def trouble(self, error: GitopsBgError | None) -> None:
        """Do nothing: the next event rings."""

    def went_back(self) -> None:
        """Do nothing: everything is listed anew, which rings."""


def until(fulfilled: Callable[[], bool], wait: Wait, seconds: float) -> bool:
    """Check the condition after each change; return False if ``seconds`` pass first."""
    deadline = time.monotonic() + seconds
    while True:
        news = wait(max(0.0, deadline - time.monotonic()))
        if fulfilled():
            return True
        if not news:
            return False

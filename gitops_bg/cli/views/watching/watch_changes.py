"""Notices changes of our objects in a cluster, for verbs that keep showing or wait. Interprets nothing."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from gitops_bg.agent.runtime.signals import wait_interruptibly
from gitops_bg.cli.views.pods import pod_labels
from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import PODS, RELEASE_GROUPS, Kind, Object
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
        # If we may not watch the pods, it continues without them.
        pods = _watching(cluster.client, PODS, pods_of.namespace, pod_labels(pods_of), changed) if pods_of else None
        with pods or nullcontext():
            yield _wait_for(changed)
    finally:
        cluster.stop()


@contextmanager
def group_changes(access: Access, namespace: str = "") -> Iterator[Wait]:
    """Watch the release groups of a namespace (empty: all). The first wait ends at once: what is there is news."""
    changed, client = threading.Event(), Client(access)
    changed.set()
    try:
        with _watching(client, RELEASE_GROUPS, namespace, "", changed):
            yield _wait_for(changed)
    finally:
        client.close()


def _wait_for(changed: threading.Event) -> Wait:
    def wait(seconds: float | None) -> bool:
        news = wait_interruptibly(changed, seconds)
        changed.clear()
        return news

    return wait


@contextmanager
def _watching(client: Client, kind: Kind, namespace: str, labels: str, changed: threading.Event) -> Iterator[None]:
    watch = Watch(client, lambda: kind, namespace, labels, _Bell(changed))
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

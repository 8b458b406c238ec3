"""Notices changes of our objects in a cluster, for verbs that keep showing or wait. Interprets nothing."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from gitops_bg.agent.runtime.signals import wait_interruptibly
from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import PODS, RELEASE_GROUPS, Kind, Object
from gitops_bg.cluster.api.watch import Watch
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.errors import GitopsBgError, Transient

_SYNC_SECONDS = 30.0

Wait = Callable[[float | None], bool]
"""Wait for the next change, at most so many seconds; return whether there was one."""


@contextmanager
def changes(access: Access, namespace: str = "", pods: str = "", *, groups: bool = False) -> Iterator[Wait]:
    """Watch the apps of a namespace (empty: all), the pods with these labels (empty: none), and release groups. The
    result waits for the next change; its first wait ends at once, as what is there is news.
    """
    changed = threading.Event()
    cluster = Cluster.watching(access, lambda _app: changed.set(), [namespace] if namespace else [])
    try:
        cluster.start()
        if not cluster.wait(_SYNC_SECONDS):
            raise next(iter(cluster.troubles()), Transient("the cluster did not list its objects in time"))
        changed.set()
        # What we may not watch is left out: it continues without.
        more = [(PODS, pods)] if pods else []
        more += [(RELEASE_GROUPS, "")] if groups else []
        with ExitStack() as watches:
            for kind, labels in more:
                watches.enter_context(_watching(cluster.client, kind, namespace, labels, changed))
            yield _wait_for(changed)
    finally:
        cluster.stop()


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

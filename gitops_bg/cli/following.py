"""Says when something of ours changed in a cluster, for verbs that go on showing or wait. Interprets nothing."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gitops_bg.cluster.cluster import Cluster
from gitops_bg.cluster.connection import Access
from gitops_bg.core.errors import Transient

_SYNC_SECONDS = 30.0


@contextmanager
def changes(access: Access, namespace: str = "") -> Iterator[Callable[[float | None], bool]]:
    """Watch a namespace (empty: all). What comes out waits for the next change, at most so many seconds."""
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

        yield wait
    finally:
        cluster.stop()


def until(fulfilled: Callable[[], bool], wait: Callable[[float | None], bool], seconds: float) -> bool:
    """Ask after each change whether it is so; False where ``seconds`` passed first."""
    deadline = time.monotonic() + seconds
    while True:
        news = wait(max(0.0, deadline - time.monotonic()))
        if fulfilled():
            return True
        if not news:
            return False

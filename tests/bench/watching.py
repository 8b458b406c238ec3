"""When something was seen in the cluster: watches on threads, each event with the moment it arrived.

The moment is the one at which a client of the API server can know, measured outside of the agent.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import urllib3

from gitops_bg.core import names
from gitops_bg.core.model.version import short
from tests.bench.apps import BenchApp
from tests.fixtures.repos import texts
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import collection
from tests.support.cluster.rawapi import Json, RawApi, Watch

_OURS = f"{names.MANAGED_BY}={names.MANAGER}"
_HOURS = 3600.0
_KINDS = (("apps/v1", "ReplicaSet"), ("v1", "Service"))


class Seen(NamedTuple):
    """One event: when, of which kind, and the object."""

    at: float
    kind: str
    object: Json

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.object["metadata"]["namespace"], self.object["metadata"]["name"]

    @property
    def image(self) -> str:
        """The first image of its pods."""
        return image_of(self.object)

    @property
    def digest(self) -> str:
        """The short digest it selects."""
        selector = self.object["spec"].get("selector") or {}
        return str(selector.get("matchLabels", selector).get(names.DIGEST, ""))


class Watching:
    """Watches the agent's ReplicaSets and Services, or what is named, from now on. Use as a context manager."""

    def __init__(
        self, cluster: RawApi | TestCluster, kinds: Sequence[tuple[str, str]] = _KINDS, labels: str = _OURS
    ) -> None:
        self._cluster = cluster
        self._labels = labels
        self._news = threading.Condition()
        self._seen: list[Seen] = []
        self._watches: list[Watch] = []
        self._open = threading.Semaphore(0)
        self._threads = [
            threading.Thread(target=self._follow, args=(kind, collection(version, kind)), daemon=True)
            for version, kind in kinds
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        for _ in self._threads:
            if not self._open.acquire(timeout=60):
                raise RuntimeError("the cluster cannot be watched")
        return self

    def __exit__(self, *error: object) -> None:
        for watch in self._watches:
            with contextlib.suppress(Exception):
                watch.stop()
        for thread in self._threads:
            thread.join(timeout=10)

    def forget(self) -> None:
        """Forget what was seen so far."""
        with self._news:
            self._seen.clear()

    def first(self, wanted: Callable[[Seen], bool], timeout: float = 60) -> float:
        """When something was seen first, since `forget`; waits for it."""
        return self.each(wanted, 1, timeout)[0]

    def each(self, wanted: Callable[[Seen], bool], count: int, timeout: float = 60) -> list[float]:
        """When so many different objects were seen like this, each for the first time; waits for all of them."""
        found: dict[tuple[str, str], float] = {}
        looked = 0
        deadline = time.monotonic() + timeout
        with self._news:
            while True:
                for seen in self._seen[looked:]:
                    if seen.key not in found and wanted(seen):
                        found[seen.key] = seen.at
                looked = len(self._seen)
                if len(found) >= count:
                    return sorted(found.values())
                if not self._news.wait(deadline - time.monotonic()):
                    raise TimeoutError(f"{len(found)} of {count} within {timeout:g} s")

    def _follow(self, kind: str, path: str) -> None:
        version = self._cluster.get(path, labelSelector=self._labels, limit="1")["metadata"]["resourceVersion"]
        with (
            contextlib.suppress(urllib3.exceptions.HTTPError, OSError),
            self._cluster.watch(path, seconds=_HOURS, resourceVersion=version, labelSelector=self._labels) as watch,
        ):
            self._watches.append(watch)
            self._open.release()
            for event in watch:
                with self._news:
                    self._seen.append(Seen(time.monotonic(), kind, event["object"]))
                    self._news.notify_all()


def image_of(workload: Json) -> str:
    """The first image of the pods of a ReplicaSet or a Deployment."""
    return str(workload["spec"]["template"]["spec"]["containers"][0]["image"])


def replicas(seen: Seen) -> int:
    """The pods that a ReplicaSet has."""
    return int(seen.object.get("status", {}).get("replicas", 0))


def replica_set_of(app: BenchApp, tag: str) -> Callable[[Seen], bool]:
    """The ReplicaSet of a version."""
    wanted = short(texts.digest(app.name, tag))
    return lambda seen: seen.kind == "ReplicaSet" and seen.digest == wanted


def asked_for_pods(app: BenchApp, tag: str) -> Callable[[Seen], bool]:
    """The ReplicaSet of a version, once it is to have pods."""
    is_its = replica_set_of(app, tag)
    return lambda seen: is_its(seen) and seen.object["spec"]["replicas"] > 0


def available(app: BenchApp, tag: str) -> Callable[[Seen], bool]:
    """The ReplicaSet of a version with all its pods, and at least one."""
    is_its = replica_set_of(app, tag)
    return lambda seen: is_its(seen) and has_all(seen)


def has_all(seen: Seen) -> bool:
    """A ReplicaSet with all its pods, and at least one."""
    wanted = seen.object["spec"].get("replicas", 0)
    return 0 < wanted == seen.object.get("status", {}).get("availableReplicas", 0)


def active_service_of(app: BenchApp, tag: str) -> Callable[[Seen], bool]:
    """The active Service where it leads to a version."""
    return _service(app.namespace, app.name, texts.digest(app.name, tag))


def preview_service_of(app: BenchApp, tag: str) -> Callable[[Seen], bool]:
    """The preview Service where it leads to a version."""
    return _service(app.namespace, f"{app.name}-preview", texts.digest(app.name, tag))


def _service(namespace: str, name: str, digest: str) -> Callable[[Seen], bool]:
    wanted = short(digest)
    return lambda seen: seen.kind == "Service" and seen.key == (namespace, name) and seen.digest == wanted

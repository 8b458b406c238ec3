"""What every watcher of a namespace saw: each state of its Services, ReplicaSets and DaemonSets, in the server's order.

Judges moves of live traffic after the fact, by what was true at that moment, not by what is true when asked.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any, NamedTuple, Self

import urllib3

from gitops_bg.core import names
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import collection, replica_sets, services
from tests.support.cluster.rawapi import Json, Watch
from tests.support.readings import version_of
from tests.support.waiting import eventually


class Move(NamedTuple):
    """One change of a Service's selector: short digests, and how many pods of each were available then."""

    origin: str
    to: str
    available_at_origin: int
    available_there: int
    seen_at: float
    """When a watcher heard of it, by ``time.monotonic``."""


class _Pods(NamedTuple):
    """The pods of a version (a short digest) of an app."""

    app: str
    digest: str


_NOTHING = _Pods("", "")


class Sightings:
    """Watches from now on; use as a context manager."""

    def __init__(self, cluster: TestCluster, namespace: str) -> None:
        self._cluster = cluster
        self._seen: list[tuple[int, float, str, Json]] = []
        self._watches: list[Watch] = []
        self._open = threading.Semaphore(0)
        self._paths = (services(namespace), replica_sets(namespace), collection("apps/v1", "DaemonSet", namespace))
        self._threads = [threading.Thread(target=self._follow, args=(path,), daemon=True) for path in self._paths]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        for _ in self._threads:
            assert self._open.acquire(timeout=20)
        return self

    def __exit__(self, *error: object) -> None:
        if error == (None, None, None):
            eventually(self._has_caught_up, what="the watchers saw all there is")
        for watch in self._watches:
            with contextlib.suppress(Exception):
                watch.stop()
        for thread in self._threads:
            thread.join(timeout=10)

    def moves(self, service: str) -> list[Move]:
        """Every change of what the Service selects, oldest first; its creation is none.

        Two apps may have the same version: a change of the app alone is one, too.
        """
        made: list[Move] = []
        current = _NOTHING
        available: dict[_Pods, int] = {}
        for seen_at, kind, event in self._in_order():
            found, selected = event["object"], _selected(event["object"])
            if kind != "services":
                available[selected] = 0 if event["type"] == "DELETED" else version_of(found).available
            elif found["metadata"]["name"] == service and event["type"] != "DELETED" and selected != current:
                if current.digest:
                    pods = available.get(current, 0), available.get(selected, 0)
                    made.append(Move(current.digest, selected.digest, *pods, seen_at))
                current = selected
        return made

    def taken_over_at(self, service: str) -> float:
        """When a watcher first heard that this Service selects a version, by ``time.monotonic``."""
        seen = (
            seen_at
            for seen_at, kind, event in self._in_order()
            if kind == "services"
            and event["object"]["metadata"]["name"] == service
            and _selected(event["object"]).digest
        )
        return next(seen)

    def shrunk_while_selected(self, service: str) -> list[str]:
        """Versions of ours that were scaled down or deleted while this Service selected their pods (I2)."""
        wrong, live = [], _NOTHING
        sizes: dict[_Pods, int] = {}
        for _, kind, event in self._in_order():
            found, selected = event["object"], _selected(event["object"])
            if kind == "services":
                live = selected if found["metadata"]["name"] == service else live
                continue
            size = 0 if event["type"] == "DELETED" else version_of(found).replicas
            if selected.digest and selected == live and size < sizes.get(selected, 0):
                wrong.append(f"{found['metadata']['name']} from {sizes[selected]} to {size}")
            sizes[selected] = size
        return wrong

    def fewest_available(self, digest: str) -> int:
        """The fewest pods of a version (a short digest) that its ReplicaSet ever said were available."""
        found = (event["object"] for _, kind, event in self._in_order() if kind == "replicasets")
        return min(
            each.get("status", {}).get("availableReplicas", 0) for each in found if _selected(each).digest == digest
        )

    def assert_traffic_was_safe(self, service: str, *, is_given_back: bool = False) -> None:
        """I1 and I2, at every moment that was seen. A Service ``is_given_back`` to pods of others: who counts these?"""
        moves = [move for move in self.moves(service) if move.to or not is_given_back]
        bad = [move for move in moves if move.available_there < move.available_at_origin]
        assert not bad, f"traffic moved to fewer available pods: {bad}"
        empty = [move for move in moves if not move.available_there]
        assert not empty, f"traffic moved to no available pod: {empty}"
        shrunk = self.shrunk_while_selected(service)
        assert not shrunk, f"{service} selected what shrank: {shrunk}"

    def _has_caught_up(self) -> bool:
        """Whether the state of each object now was seen: who reads is told before who watches."""
        seen = {
            (kind, event["object"]["metadata"]["name"]): version
            for version, _, kind, event in sorted(self._seen, key=lambda each: each[0])
        }
        return all(
            seen.get((path.rpartition("/")[2], each["metadata"]["name"]), 0) >= int(each["metadata"]["resourceVersion"])
            for path in self._paths
            for each in self._cluster.list(path)
        )

    def _in_order(self) -> list[tuple[float, str, Json]]:
        return [(at, kind, event) for _, at, kind, event in sorted(self._seen, key=lambda each: each[0])]

    def _follow(self, path: str) -> None:
        kind = path.rpartition("/")[2]
        first = self._cluster.get(path)
        for each in first["items"]:
            self._note(kind, {"type": "ADDED", "object": each})
        version = first["metadata"]["resourceVersion"]
        with (
            contextlib.suppress(urllib3.exceptions.HTTPError, OSError),
            self._cluster.watch(path, seconds=300, resourceVersion=version) as watch,
        ):
            self._watches.append(watch)
            self._open.release()
            for event in watch:
                self._note(kind, event)

    def _note(self, kind: str, event: Json) -> None:
        if event["type"] in {"ADDED", "MODIFIED", "DELETED"}:
            self._seen.append((int(event["object"]["metadata"]["resourceVersion"]), time.monotonic(), kind, event))


def _selected(found: dict[str, Any]) -> _Pods:
    selector = found["spec"].get("selector") or {}
    labels = selector.get("matchLabels", selector)
    return _Pods(str(labels.get(names.APP, "")), str(labels.get(names.DIGEST, "")))

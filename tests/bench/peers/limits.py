"""What nobody can be faster than: the requests and the pushes of an action alone, by this process, in the same run."""

from __future__ import annotations

import resource
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.bench.apps import FIRST, BenchApp
from tests.bench.peers.contender import SENDERS, at_once
from tests.bench.stage import Stage
from tests.bench.watching import Watching, has_all
from tests.fixtures.repos import texts
from tests.support.cluster.paths import replica_sets, services
from tests.support.cluster.rawapi import Json

_NAMESPACE = "limits"
_MS = 1000.0


@dataclass(frozen=True)
class Limits:
    """Medians; in ms, where nothing else is said."""

    request: float
    """A write to a Service, until it is answered."""
    switch: float
    """A write to a Service, until a watch shows it."""
    creation: float
    """A new ReplicaSet, until a watch shows it."""
    push: float
    """A `git push` of one file."""
    question: float
    """An `ls-remote` with a `fetch` of what was pushed."""
    crowd: float
    """Seconds for as many users' writes, new ReplicaSets with a ready pod, and switches, until a watch has shown it."""
    crowd_from_git: float
    """The same without the users' writes."""
    cpu_of_writes: float
    """What one new ReplicaSet and two switches take of their client."""
    cpu_of_git: float
    """What `ls-remote` and `fetch` take, three times."""


def measure_limits(stage: Stage, *, times: int, crowd: int) -> Limits:
    """On the stage's cluster and with its remote, while nobody works there."""
    cluster = stage.cluster
    cluster.create("/api/v1/namespaces", {"metadata": {"name": _NAMESPACE}})
    with Watching(cluster, labels="") as seen:
        alone = _Alone(stage, seen)
        requests, switches, creations = alone.writes(times)
        pushes, questions, cpu = alone.git(times)
        return Limits(
            request=statistics.median(requests),
            switch=statistics.median(switches),
            creation=statistics.median(creations),
            push=statistics.median(pushes),
            question=statistics.median(questions),
            crowd=alone.crowd(crowd, "asked"),
            crowd_from_git=alone.crowd(crowd, "fetched"),
            cpu_of_writes=alone.cpu_of_writes,
            cpu_of_git=cpu,
        )


class _Alone:
    def __init__(self, stage: Stage, seen: Watching) -> None:
        self._stage = stage
        self._cluster = stage.cluster
        self._seen = seen
        self.cpu_of_writes = 0.0

    def writes(self, times: int) -> tuple[list[float], list[float], list[float]]:
        """A switch answered, a switch shown, a ReplicaSet shown: ms of each."""
        answered, switched, created = [], [], []
        plain = BenchApp(_NAMESPACE, "plain")
        self._create_service(plain)
        spent = 0.0
        for number in range(times):
            used = time.thread_time()
            began = time.monotonic()
            self._switch(plain, f"n-{number}")
            answered.append((time.monotonic() - began) * _MS)
            spent += 2 * (time.thread_time() - used)
            switched.append((self._shown("plain", f"n-{number}") - began) * _MS)
            app, used = BenchApp(_NAMESPACE, f"plain-{number}"), time.thread_time()
            began = time.monotonic()
            self._create_replica_set(app)
            spent += time.thread_time() - used
            shown = self._seen.first(lambda seen, app=app: seen.key == (_NAMESPACE, app.name))  # type: ignore[misc]
            created.append((shown - began) * _MS)
        self.cpu_of_writes = spent / times * _MS
        return answered, switched, created

    def git(self, times: int) -> tuple[list[float], list[float], float]:
        """A push, and a look at the remote: ms of each; and the CPU of three looks."""
        writer = self._stage.remote.clone(self._stage.folder / "writer")
        reader = self._stage.remote.clone(self._stage.folder / "reader")
        pushes, questions, spent = [], [], 0.0
        for number in range(times):
            writer.commit(f"Tell more: {number}", {"README.md": f"{number}\n".encode()})
            pushes.append(writer.push() * _MS)
            before = _cpu_of_children()
            questions.append(reader.question() * _MS)
            spent += _cpu_of_children() - before
        return pushes, questions, 3 * spent / times * _MS

    def crowd(self, count: int, version: str) -> float:
        """Seconds; with the writes of users where the apps are asked for. An app is switched as soon as its pod is
        ready, while others are still made.
        """
        apps = [BenchApp(_NAMESPACE, f"{version}-{number}") for number in range(count)]

        def begin(app: BenchApp) -> None:
            if version == "asked":
                self._switch(app, "wanted")
            self._create_replica_set(app, replicas=1)

        at_once(self._create_service, apps)
        self._seen.forget()
        began = time.monotonic()
        with ThreadPoolExecutor(SENDERS) as creators, ThreadPoolExecutor(SENDERS) as switchers:
            sent = [creators.submit(begin, app) for app in apps]
            for app in apps:
                self._seen.first(lambda seen, app=app: seen.key == (_NAMESPACE, app.name) and has_all(seen))  # type: ignore[misc]
                sent.append(switchers.submit(self._switch, app, version))
            for each in sent:
                each.result()
        return self._seen.each(lambda seen: _selected(seen.object) == version, count)[-1] - began

    def _create_service(self, app: BenchApp) -> None:
        spec = {"selector": {"app": app.name}, "ports": [{"port": 80}]}
        self._cluster.create(services(_NAMESPACE), {"metadata": {"name": app.name}, "spec": spec})

    def _create_replica_set(self, app: BenchApp, replicas: int = 0) -> None:
        template = texts.template(app.name, FIRST)
        spec = {"replicas": replicas, "selector": {"matchLabels": {"app": app.name}}, "template": template}
        self._cluster.create(replica_sets(_NAMESPACE), {"metadata": {"name": app.name}, "spec": spec})

    def _switch(self, app: BenchApp, version: str) -> None:
        self._cluster.patch(f"{services(_NAMESPACE)}/{app.name}", {"spec": {"selector": {"version": version}}})

    def _shown(self, name: str, version: str) -> float:
        return self._seen.first(lambda seen: seen.key[1] == name and _selected(seen.object) == version)


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _selected(service: Json) -> str:
    return str((service["spec"].get("selector") or {}).get("version", ""))

"""Measures the rows that need a cluster, on a stage with converged apps and one agent. Prints nothing.

Moments come from outside of the agent: a wake is when it was told to look, the rest is when a watch showed it.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gitops_bg.core import names
from gitops_bg.core.model.version import short
from tests.bench.apps import FIRST, NEVER_READY, NEXT, BenchApp
from tests.bench.channel import Child
from tests.bench.rows import Row, percentile, spread
from tests.bench.stage import Size, Stage, watching
from tests.bench.watching import Seen, Watching, active_service_of, available, replica_set_of, replicas
from tests.fixtures.repos import texts
from tests.support.cluster.kubelet import running
from tests.support.cluster.paths import pods
from tests.support.cluster.rawapi import STRATEGIC, Json

_MS = 1000.0
COLD_START_S = 30.0
MEMORY_MIB = 400.0
IDLE_MS = 10.0
CHANGE_MS = 250.0


@dataclass(frozen=True)
class ColdStart:
    """What a start took until nothing was left to do: seconds, of CPU as well, and requests; MiB then, and at most."""

    seconds: float
    cpu: float
    requests: int
    resident: float
    peak: float


@dataclass(frozen=True)
class Ticks:
    """What a poll that finds nothing takes: ms of CPU in the agent and in git, and the processes of all of them."""

    cpu: float
    git: float
    commands: list[str]


class Measurements:
    """The rows of one stage, in the order in which one leaves what the next needs."""

    def __init__(self, stage: Stage, size: Size, agent: Child, seen: Watching) -> None:
        self._stage = stage
        self._size = size
        self._agent = agent
        self._seen = seen
        self._switched: list[tuple[BenchApp, str]] = []

    def start(self, started: float) -> ColdStart:
        """From the start of the process until it has looked at every app."""
        self._forget_requests()
        self._agent.ask("start")
        seconds = self._agent.ask("idle") - started
        memory, used = self._agent.ask("memory"), self._agent.ask("usage")
        return ColdStart(seconds, used["cpu"], used["requests"], memory["resident"], memory["peak"])

    def cold_start(self, started: float) -> Iterator[Row]:
        """A start; nothing may be written."""
        took = self.start(started)
        writes = f", {self._writes()} writes" if self._stage.sandbox else ""
        detail = f"CPU of the agent {took.cpu:.1f} s; {took.requests} requests; fresh mirror{writes}"
        yield self._row("cold-start", "cold start, nothing to do", took.seconds, "s", COLD_START_S, detail)
        peak = f"at most {took.peak:.0f} MiB so far"
        yield self._row("cold-start", "… memory of the agent", took.resident, "MiB", MEMORY_MIB, peak)

    def ticks(self) -> Ticks:
        """Polls that find nothing; the mean of them."""
        self._settle()
        first = self._agent.ask("usage")
        for _ in range(self._size.ticks):
            self._agent.ask("wake")
            self._agent.ask("idle")
        last, ticks = self._agent.ask("usage"), self._size.ticks
        cpu, git = ((last[name] - first[name]) * _MS / ticks for name in ("cpu", "git"))
        return Ticks(cpu, git, last["commands"])

    def idle(self) -> Iterator[Row]:
        """Polls that find nothing, and what they leave alone."""
        self._settle()
        before, ticks = self._stage.remote.heads(), self._size.ticks
        each = self.ticks()
        detail = f"mean of {ticks}; git itself {each.git:.1f} ms"
        yield self._row("idle", "idle tick: CPU in the agent", each.cpu, "ms", IDLE_MS, detail)
        commands = ", ".join(f"{count / ticks:g} {name}" for name, count in Counter(each.commands).items())
        yield self._row("idle", "… commands started", len(each.commands) / ticks, "", 1, commands)
        if self._stage.sandbox:
            asked = len(self._requests())
            yield self._row("idle", "… requests to the API server", asked, "", 0, f"in {ticks} ticks")
        moved = int(self._stage.remote.heads() != before)
        yield self._row("idle", "… commits", moved, "", 0, f"in {ticks} ticks")

    def change(self) -> tuple[Row, list[float]]:
        """A new tag of one app, pushed: from the wake to its ReplicaSet; the row, and the agent's CPU ms of each."""
        taken = [self.one_change(app, NEXT) for app in self._stage.unchanged(self._size.changes)]
        times, cpu = [time for time, _ in taken], [cpu for _, cpu in taken]
        detail = f"{spread(times)}; CPU of the agent {statistics.median(cpu):.0f} ms"
        work = "one app changed: commit seen → candidate created"
        return self._row("change", work, statistics.median(times), "ms", CHANGE_MS, detail), cpu

    def one_change(self, app: BenchApp, tag: str) -> tuple[float, float]:
        """The ms from the wake to the ReplicaSet of a tag, and the agent's ms of CPU until nothing is left to do."""
        self._settle()
        self._stage.remote.commit(f"{app.name} {tag}", app.target(tag))
        spent = self._agent.ask("usage")
        woken = self._agent.ask("wake")
        created = self._seen.first(replica_set_of(app, tag))
        self._agent.ask("idle")
        return (created - woken) * _MS, (self._agent.ask("usage")["cpu"] - spent["cpu"]) * _MS

    def switch(self) -> Iterator[Row]:
        """All gates open but availability: primary.yaml names the version already, only its pods are awaited."""
        apps = self._stage.unchanged(self._size.switches)
        self._settle()
        head = self._stage.remote.head()
        changed = {
            p: t for app in apps for p, t in {**app.target(NEVER_READY), **app.primary(NEVER_READY, 2, head)}.items()
        }
        commit = self._stage.remote.commit("Deploy at once", changed)
        self._agent.ask("wake")
        self._seen.each(lambda seen: seen.kind == "ReplicaSet" and replicas(seen) == 1, len(apps), timeout=300)
        times = []
        for app in apps:
            self._settle()
            self._make_ready(app)
            there = self._seen.first(available(app, NEVER_READY))
            times.append((self._seen.first(active_service_of(app, NEVER_READY)) - there) * _MS)
            self._switched.append((app, commit))
        work = "new pods available → active Service written"
        yield self._row("switch", work, statistics.median(times), "ms", 50, spread(times))
        yield self._row("switch", "… 99th percentile", percentile(times, 99), "ms", 200, f"of {len(times)}")

    def revert(self) -> Iterator[Row]:
        """The promotion reverted while the old version is warm: from the wake to the active Service."""
        times = []
        for app, commit in self._switched[: self._size.reverts]:
            self._settle()
            times.append(self._rolled_back(app, commit))
        work = "revert seen → active Service written back"
        yield self._row("revert", work, statistics.median(times), "ms", 250, spread(times))

    def thousand(self) -> Iterator[Row]:
        """All apps that promote themselves, changed in one commit: from the wake to the last switch. In the midst of it
        another app is rolled back.
        """
        apps, (bystander, promotion) = self._stage.auto, self._deployed_at_once()
        self._settle()
        files = {path: text for app in apps for path, text in app.target(NEXT).items()}
        self._stage.remote.commit(f"{len(apps)} apps", files)
        spent, by_cluster = self._agent.ask("usage"), self._stage.cpu_of_cluster()
        woken = self._agent.ask("wake")
        wanted = {(app.namespace, app.name): short(texts.digest(app.name, NEXT)) for app in apps}

        def is_switched(seen: Seen) -> bool:
            return seen.kind == "Service" and wanted.get(seen.key) == seen.digest

        self._seen.each(is_switched, -(-len(apps) // 10), timeout=900)
        rolled_back = self._rolled_back(bystander, promotion)
        moments = self._seen.each(is_switched, len(apps), timeout=900)
        done = self._agent.ask("usage")
        cpu, git = done["cpu"] - spent["cpu"], done["git"] - spent["git"]
        others = self._stage.cpu_of_cluster() - by_cluster
        first = f"the first after {moments[0] - woken:.1f} s"
        detail = f"{first}; CPU of the agent {cpu:.1f} s, of git {git:.1f} s, of the cluster {others:.1f} s"
        work = f"{len(apps):,} apps changed in one commit → all switched"
        yield self._row("thousand", work, moments[-1] - woken, "s", 60, detail)
        work, detail = "… a revert in the midst of it → active Service written back", "after a tenth of them"
        yield self._row("thousand", work, rolled_back, "ms", 2000, detail)

    def _deployed_at_once(self) -> tuple[BenchApp, str]:
        """Another app that serves its next version, and the commit that promoted it."""
        [app] = self._stage.unchanged(1)
        files = {**app.target(NEXT), **app.primary(NEXT, 2, self._stage.remote.head())}
        self._settle()
        commit = self._stage.remote.commit("Deploy at once", files)
        self._agent.ask("wake")
        self._seen.first(active_service_of(app, NEXT))
        return app, commit

    def _rolled_back(self, app: BenchApp, commit: str) -> float:
        """The ms from the wake to the active Service of its first version, after a revert of its promotion."""
        message = f'Revert "Deploy at once"\n\nThis reverts commit {commit}.'
        self._stage.remote.commit(message, self._stage.first_primary(app))
        woken = self._agent.ask("wake")
        return (self._seen.first(active_service_of(app, FIRST)) - woken) * _MS

    def _settle(self) -> None:
        """Nothing is going on, and nothing of before is remembered."""
        self._agent.ask("idle")
        self._agent.ask("usage")
        self._seen.forget()
        self._forget_requests()

    def _make_ready(self, app: BenchApp) -> None:
        """Play the kubelet for the one pod of the version that nobody else makes ready."""
        selector = f"{names.APP}={app.name},{names.DIGEST}={short(texts.digest(app.name, NEVER_READY))}"
        found = _until(lambda: self._stage.cluster.list(pods(app.namespace), labelSelector=selector))
        for pod in found:
            address = pod.get("status", {}).get("podIP") or "10.250.0.1"
            path = f"{pods(app.namespace)}/{pod['metadata']['name']}/status"
            self._stage.cluster.patch(path, {"status": running(pod, True, address)}, STRATEGIC)

    def _requests(self) -> list[list[str]]:
        assert self._stage.sandbox is not None
        requests: list[list[str]] = self._stage.sandbox.ask("requests")
        return requests

    def _writes(self) -> int:
        return sum(verb not in {"get", "list", "watch"} for verb, _ in self._requests())

    def _forget_requests(self) -> None:
        if self._stage.sandbox:
            self._stage.sandbox.ask("forget")

    def _row(self, key: str, work: str, value: float, unit: str, budget: float, detail: str) -> Row:
        return Row(key, work, value, unit, budget, self._stage.cluster.name, len(self._stage.apps), detail)


def measure_restart(stage: Stage, app: BenchApp) -> Iterator[Row]:
    """From the start of an agent to the candidate of an app that was changed before, while no agent ran."""
    stage.remote.commit(f"{app.name} {NEXT}", app.target(NEXT))
    with watching(stage) as seen:
        begun = time.monotonic()
        with stage.agent() as agent:
            agent.ask("start")
            created = seen.first(replica_set_of(app, NEXT), timeout=300) - begun
            everything = agent.ask("idle") - begun
    work, detail = "start after a change that nobody saw → candidate created", f"every app after {everything:.1f} s"
    yield Row("restart", work, created, "s", COLD_START_S, stage.cluster.name, len(stage.apps), detail)


def _until(probe: Callable[[], list[Json]], timeout: float = 30) -> list[Json]:
    deadline = time.monotonic() + timeout
    while not (found := probe()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found

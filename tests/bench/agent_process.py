"""The agent in a process of its own: its CPU time and its memory are what this process reports."""

from __future__ import annotations

import gc
import os
import re
import sys
import time
import tracemalloc
from datetime import timedelta
from pathlib import Path
from typing import Any

from gitops_bg.agent.agent import Agent
from gitops_bg.agent.desired import reader
from gitops_bg.agent.settings import AgentSettings
from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.connection import ApiAnswer, Call, Connection
from gitops_bg.cluster.execution import writer
from gitops_bg.core.model import digest
from gitops_bg.repo.git import mirror, objects, remote
from gitops_bg.repo.read import changes, commits
from gitops_bg.repo.settings import RepositorySettings
from gitops_bg.web.dashboard.app import dashboard_server
from tests.bench.channel import serve, settings_of_child
from tests.bench.resources import resources
from tests.bench.scale.held import held
from tests.support.scenario import Clock

CLUSTER = "bench"
_IDLE = 600.0


_LONG_REMEMBERED = (
    (mirror, "_REMEMBERED"),
    (remote, "_REMEMBERED"),
    (commits, "_REMEMBERED"),
    (changes, "_MOST_STEPS"),
    (objects, "_REMEMBERED_BYTES"),
    (writer, "_MOST"),
    (reader, "_OFFERS"),
    (digest, "_MOST_REMEMBERED"),
)
"""What the agent remembers ten thousands of."""


def remember_less() -> None:
    """Let all that is remembered by count be full within the first rounds of a soak: what grows after that, leaks."""
    for module, name in _LONG_REMEMBERED:
        setattr(module, name, getattr(module, name) // 20)


def _settings(url: str, directory: str, kubeconfig: str, namespaces: list[str]) -> AgentSettings:
    """What `gitops-bg agent` would make of its options; it polls only when woken, so that a measurement knows when."""
    repository = RepositorySettings(url=url, cluster=CLUSTER, directory=Path(directory))
    access = Access(kubeconfig=Path(kubeconfig))
    return AgentSettings(
        repository=repository, access=access, namespaces=tuple(namespaces), poll_seconds=86_400, resync_seconds=86_400
    )


class Counted:
    """The processes that this one starts, and its requests to the API server, watches aside."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.requests = 0
        sys.addaudithook(self._note)
        send = Connection.send

        def counted(connection: Connection, call: Call) -> ApiAnswer:
            self.requests += 1
            return send(connection, call)

        Connection.send = counted  # type: ignore[method-assign]

    def taken(self) -> dict[str, Any]:
        """Both since the last call."""
        taken = {"commands": self.started, "requests": self.requests}
        self.started, self.requests = [], 0
        return taken

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen":
            words = [str(word) for word in arguments[1]]
            git = words.index("git") if "git" in words else 0
            named = (word for word in words[git + 1 :] if re.fullmatch(r"[a-z][a-z-]+", word))
            self.started.append(next(named, words[0]))


def memory() -> dict[str, float]:
    """MiB resident now, and at most since the start of the process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    kib = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines) if "kB" in rest}
    return {"resident": kib["VmRSS"] / 1024, "peak": kib["VmHWM"] / 1024}


class Allocations:
    """Where memory was allocated that is still held, where PYTHONTRACEMALLOC is set: it slows all down."""

    def __init__(self) -> None:
        self._before: tracemalloc.Snapshot | None = None

    def grown(self, most: int) -> list[str]:
        """The lines of code whose allocations grew the most since the last call."""
        gc.collect()
        before, self._before = self._before, tracemalloc.take_snapshot()
        if before is None:
            return []
        found = self._before.compare_to(before, "lineno")
        return [str(each) for each in sorted(found, key=lambda each: -each.size_diff)[:most]]


def main() -> None:
    """Run an agent until the parent is done."""
    counted, given = Counted(), settings_of_child()
    if given.pop("remembers_less"):
        remember_less()
    settings, clock = _settings(**given), Clock()
    agent = Agent(settings, clock=clock, steady=clock.steady)

    def start() -> None:
        agent.start()

    def wake() -> float:
        moment = time.monotonic()
        agent.wake("bench")
        return moment

    def idle() -> float:
        """Wait until nothing is left to do; when that was. No Event waits any more, so what comes after is counted."""
        agent.rest(_IDLE)
        done = time.monotonic()
        while not agent.cluster.events.idle:
            time.sleep(0.005)
        return done

    def settle() -> None:
        """Wait until nothing is left to do, and have saved what is only noted: another process goes on from there."""
        agent.run_once(_IDLE)

    def usage() -> dict[str, Any]:
        times = os.times()
        return {"cpu": time.process_time(), "git": times.children_user + times.children_system, **counted.taken()}

    def advance(seconds: float) -> None:
        """Let the agent's time go on, and have it look at every app, as its timers would."""
        clock.ahead += timedelta(seconds=seconds)
        agent.wake_all(agent.cluster.apps())

    def used() -> dict[str, Any]:
        counted.taken()
        return resources(settings.repository.directory)

    def dashboard() -> str:
        """Serve the dashboard from now on; where that is."""
        server = dashboard_server(agent, "127.0.0.1", 0)
        server.start()
        return server.url

    allocations = Allocations()

    def grown(most: int) -> list[str]:
        return allocations.grown(most)

    def weighed() -> dict[str, float]:
        return held(agent)

    handlers = {
        "grown": grown,
        "held": weighed,
        "start": start,
        "wake": wake,
        "idle": idle,
        "settle": settle,
        "usage": usage,
        "memory": memory,
    }
    try:
        serve({**handlers, "dashboard": dashboard, "advance": advance, "resources": used, "held": weighed})
    finally:
        agent.stop()


if __name__ == "__main__":
    main()

"""What open pages of the dashboard cost the agent: how long one change takes with a hundred of them and with none, and
what they leave in memory.
"""

from __future__ import annotations

import asyncio
import statistics
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx

from tests.bench.apps import NEXT, BenchApp
from tests.bench.channel import Child
from tests.bench.measure import Measurements
from tests.bench.rows import Row, spread
from tests.bench.stage import Size, Stage

PAGES = 100
SLOWER, GROWTH_MIB = 1.25, 10.0
_OPENING_SECONDS = 120.0


def measure_streams(stage: Stage, size: Size, agent: Child, measurements: Measurements) -> Iterator[Row]:
    """Changes without a page, and then with all of them open: half of them the list, half one app."""
    rounds = [stage.unchanged(size.changes) for _ in range(3)]
    alone, cpu_alone, plain = _changes(agent, measurements, rounds[0])
    with _open(str(agent.ask("dashboard")), rounds[0][0]) as messages:
        watched, cpu, first = _changes(agent, measurements, rounds[1])
        more, _, grown = _changes(agent, measurements, rounds[2])
        watched, seen = watched + more, messages()
    name, of = stage.cluster.name, size.apps
    ratio = statistics.median(watched) / statistics.median(alone)
    work = f"one app changed: {PAGES} pages of the dashboard open, against none"
    detail = f"{spread(watched)}, against {spread(alone)}; CPU of the agent {cpu:.0f} ms, against {cpu_alone:.0f}"
    yield Row("streams", work, ratio, "×", SLOWER, name, of, detail)
    detail = f"{seen} messages; {first:.1f} MiB in the round before, {plain:.1f} MiB in one without a page"
    work = f"… memory that the agent took, in the second round of {size.changes} changes"
    yield Row("streams", work, grown, "MiB", GROWTH_MIB, name, of, detail)


def _changes(agent: Child, measurements: Measurements, apps: list[BenchApp]) -> tuple[list[float], float, float]:
    """The milliseconds of each change, the median of the agent's CPU for one, and by how many MiB it has grown."""
    before = agent.ask("memory")["resident"]
    taken, spent = zip(*(measurements.one_change(app, NEXT) for app in apps), strict=True)
    return list(taken), statistics.median(spent), agent.ask("memory")["resident"] - before


@contextmanager
def _open(address: str, app: BenchApp) -> Iterator[Callable[[], int]]:
    """All pages open, each again when its stream ends; how many messages came."""
    loop, pages = asyncio.new_event_loop(), _Pages(address, ["/", f"/apps/{app.namespace}/{app.name}"])
    thread = threading.Thread(target=loop.run_until_complete, args=(pages.follow(),), daemon=True)
    thread.start()
    try:
        assert pages.all_open.wait(_OPENING_SECONDS), "not all pages came"
        yield lambda: pages.messages
    finally:
        loop.call_soon_threadsafe(pages.stop.set)
        thread.join(_OPENING_SECONDS)


class _Pages:
    """So many browsers, which read no message: they share the processors with the agent."""

    def __init__(self, address: str, paths: list[str]) -> None:
        self._address = address
        self._paths = paths
        self._opened = 0
        self.messages = 0
        self.all_open = threading.Event()
        self.stop = asyncio.Event()

    async def follow(self) -> None:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=self._address, trust_env=False, timeout=60, limits=limits) as http:
            tasks = [asyncio.create_task(self._one(http, number)) for number in range(PAGES)]
            await self.stop.wait()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _one(self, http: httpx.AsyncClient, number: int) -> None:
        is_first = True
        while True:
            at = self._paths[number % len(self._paths)]
            async with http.stream("GET", "/events", params={"at": at}) as answer:
                async for piece in answer.aiter_raw():
                    if piece.startswith(b"data:") and is_first:
                        is_first = False
                        self._opened += 1
                    self.messages += piece.endswith(b"\n\n")
                    if self._opened == PAGES:
                        self.all_open.set()

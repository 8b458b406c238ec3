"""Measuring beside the reconciling: once each, fair between apps, with a deadline; nothing is lost or kept too long.

The clock is the tests'; threads meet at gates, so nothing here waits for time to pass.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from gitops_bg.analysis.measurements import LONGEST, MeasurementPool
from gitops_bg.core.model.analysis import (
    AnalysisPhase,
    AnalysisStage,
    MeasurementId,
    MeasurementRequest,
    MeasurementResult,
    Metric,
)
from gitops_bg.core.model.version import AppKey

WEB, API = AppKey("shop", "web"), AppKey("shop", "api")
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TIMEOUT = 10


def measure(name: str, index: int = 0) -> MeasurementRequest:
    return MeasurementRequest(MeasurementId("epoch", 1, AnalysisStage.PRE, 1, name, index), Metric(name, "web"))


class World:
    """A measurer whose measurements end when the test opens their gate."""

    def __init__(self, size: int = 4) -> None:
        self.now = NOW
        self.begun: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.woken: queue.SimpleQueue[AppKey] = queue.SimpleQueue()
        self.gates: dict[str, threading.Event] = {}
        self.lock = threading.Lock()
        self.measurer = MeasurementPool(self.run, self.woken.put, lambda: self.now, size, steady=lambda: self.now)

    def gate(self, name: str) -> threading.Event:
        with self.lock:
            return self.gates.setdefault(name, threading.Event())

    def run(self, app: AppKey, asked: MeasurementRequest) -> MeasurementResult:
        name = f"{app.name}.{asked.id.metric}.{asked.id.index}"
        self.begun.put(name)
        assert self.gate(name).wait(TIMEOUT)
        if asked.id.metric == "bug":
            raise RuntimeError("what a Secret holds")
        return MeasurementResult(asked.id, AnalysisPhase.SUCCESSFUL, self.now, value=name)

    def take(self, app: AppKey, *measures: MeasurementRequest) -> datetime | None:
        return self.measurer.update(app, measures)

    def begins(self, count: int = 1) -> set[str]:
        return {self.begun.get(timeout=TIMEOUT) for _ in range(count)}

    def end(self, *names: str) -> None:
        """Let measurements end, and wait until their app was woken."""
        for name in names:
            self.gate(name).set()
            self.woken.get(timeout=TIMEOUT)

    def values(self, app: AppKey = WEB) -> list[str]:
        return [found.value for found in self.measurer.results(app)]

    def close(self) -> None:
        self.measurer.stop()
        for gate in list(self.gates.values()):
            gate.set()


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def test_a_measurement_begins_at_once_and_wakes_its_app_when_it_ends(world: World) -> None:
    assert world.take(WEB, measure("rate")) == NOW + LONGEST
    assert world.begins() == {"web.rate.0"}
    assert world.values() == []
    world.now += timedelta(seconds=3)
    world.gate("web.rate.0").set()
    assert world.woken.get(timeout=TIMEOUT) == WEB
    assert world.values() == ["web.rate.0"]
    assert [(found.begun_at, found.at) for found in world.measurer.results(WEB)] == [(NOW, world.now)]


def test_what_is_under_way_is_not_begun_again(world: World) -> None:
    for _ in range(3):
        world.take(WEB, measure("rate"))
    assert world.begins() == {"web.rate.0"}
    world.end("web.rate.0")
    world.take(WEB, measure("rate"))
    assert world.begun.empty()
    assert world.values() == ["web.rate.0"]


def test_a_result_is_kept_until_the_saved_record_no_longer_asks_for_it(world: World) -> None:
    world.take(WEB, measure("rate"))
    world.end("web.rate.0")
    world.take(WEB, measure("rate"))
    assert world.values() == ["web.rate.0"]
    world.take(WEB, measure("rate", 1))
    assert world.values() == []
    assert world.begins(2) == {"web.rate.0", "web.rate.1"}


def test_the_result_of_a_run_that_was_dropped_is_forgotten(world: World) -> None:
    world.take(WEB, measure("rate"), measure("other"))
    world.begins(2)
    world.take(WEB, measure("other"))
    world.gate("web.rate.0").set()
    world.end("web.other.0")
    assert world.values() == ["web.other.0"]
    world.measurer.forget(WEB)
    assert world.values() == []
    assert world.measurer.idle


def test_what_is_asked_for_again_while_it_runs_is_not_begun_twice(world: World) -> None:
    world.take(WEB, measure("rate"))
    world.begins()
    world.take(WEB)
    world.take(WEB, measure("rate"))
    world.end("web.rate.0")
    assert world.values() == ["web.rate.0"]
    assert world.begun.empty()


def test_the_slow_backend_of_one_app_does_not_starve_another(world: World) -> None:
    world.take(WEB, *(measure(f"slow{number}") for number in range(20)))
    assert len(world.begins(2)) == 2
    world.take(API, measure("rate"))
    assert world.begins() == {"api.rate.0"}
    world.end("api.rate.0")
    assert world.values(API) == ["api.rate.0"]
    assert world.begun.empty()


def test_apps_take_turns() -> None:
    world = World(size=1)
    world.take(WEB, *(measure(name) for name in "abc"))
    assert world.begins() == {"web.a.0"}
    world.take(API, measure("a"), measure("b"))
    order = ["web.a.0"]
    for _ in range(4):
        world.end(order[-1])
        order += world.begins()
    assert order == ["web.a.0", "web.b.0", "api.a.0", "web.c.0", "api.b.0"]
    world.close()


def test_what_takes_too_long_is_an_error_and_its_place_is_given_to_others() -> None:
    world = World(size=1)
    assert world.take(WEB, measure("stuck")) == NOW + LONGEST
    world.begins()
    world.now += LONGEST
    world.take(WEB, measure("stuck"))
    assert world.woken.get(timeout=TIMEOUT) == WEB
    (found,) = world.measurer.results(WEB)
    assert (found.phase, found.at) == (AnalysisPhase.ERROR, world.now)
    assert "no answer within 330 s" in found.message
    world.take(WEB, measure("stuck", 1))
    assert world.begins() == {"web.stuck.1"}
    world.gate("web.stuck.0").set()
    world.end("web.stuck.1")
    assert world.values() == ["web.stuck.1"]
    world.close()


def test_an_app_without_measurements_costs_nothing(world: World) -> None:
    before = threading.active_count()
    assert world.take(WEB) is None
    assert world.measurer.idle
    assert threading.active_count() == before


def test_stop_ends_at_once_and_what_comes_later_wakes_nobody(world: World) -> None:
    world.take(WEB, measure("rate"), measure("other"), measure("waiting"))
    world.begins(2)
    threads = [thread for thread in threading.enumerate() if thread.name == "measuring"]
    assert all(thread.daemon for thread in threads)
    world.measurer.stop()
    for name in ("web.rate.0", "web.other.0"):
        world.gate(name).set()
    for thread in threads:
        thread.join(TIMEOUT)
        assert not thread.is_alive()
    assert world.woken.empty()
    assert world.begun.empty()


def test_bug_is_an_error_of_its_measurement_and_the_thread_measures_the_next(caplog: pytest.LogCaptureFixture) -> None:
    """Found: the thread ended, the measurement ran for ever, and with as many of them nothing was measured any more."""
    world = World(size=1)
    try:
        world.take(WEB, measure("bug"))
        world.end("web.bug.0")
        world.take(API, measure("after"))
        world.end("api.after.0")
        assert world.values(API) == ["api.after.0"]
        [found] = world.measurer.results(WEB)
        assert found.phase is AnalysisPhase.ERROR
        assert "a bug of the agent: RuntimeError" in found.message
        assert "what a Secret holds" not in found.message + caplog.text
    finally:
        world.close()

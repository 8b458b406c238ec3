"""An API server whose clock is not ours: a condition, a metric; nothing waits longer for it."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from gitops_bg.cluster.api.connection import Skew
from tests.support.cluster.clusters import SandboxCluster
from tests.support.scenario import App

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(("ahead", "noteworthy"), [(0, 0), (4, 0), (60, 60), (-3, 0), (-60, -59)])
def test_skew_is_read_off_the_date_of_an_answer(ahead: int, noteworthy: int) -> None:
    skew = Skew(lambda: NOW)
    skew.observe(format_datetime(NOW + timedelta(seconds=ahead), usegmt=True), NOW)
    assert skew.noteworthy == noteworthy


@pytest.mark.parametrize("date", [None, "", "yesterday", "Sun, 01 Mar 2026 12:00:00 -0000"])
def test_a_date_that_is_none_says_nothing(date: str | None) -> None:
    skew = Skew(lambda: NOW)
    skew.observe(date, NOW)
    assert skew.seconds == 0


def test_a_slow_answer_is_no_skew() -> None:
    skew = Skew(lambda: NOW)
    skew.observe(format_datetime(NOW - timedelta(seconds=20), usegmt=True), NOW - timedelta(seconds=30))
    assert skew.seconds == 0


@pytest.mark.parametrize(("ahead", "reason"), [(120, "ApiServerAhead"), (-120, "ApiServerBehind")])
def test_a_clock_that_is_not_ours_is_said_and_counted(web: App, ahead: float, reason: str) -> None:
    world = web.scenario
    assert isinstance(world.cluster, SandboxCluster)
    faults = world.cluster.sandbox.faults
    assert web.condition("ClockSynchronized")["status"] == "Absent"
    faults.clock_ahead = ahead
    try:
        web.push_image("v2")
        assert web.wait_condition("ClockSynchronized", "False")["reason"] == reason
        assert world.agent is not None
        shown = world.agent.metrics.registry.get_sample_value("gitops_bg_clock_skew_seconds") or 0.0
        assert 110 < abs(shown) <= 121
        assert shown * ahead > 0
    finally:
        faults.clock_ahead = 0.0
    web.merge_promotion("v2")
    web.wait_live("v2")
    web.wait_condition("ClockSynchronized", "Absent")

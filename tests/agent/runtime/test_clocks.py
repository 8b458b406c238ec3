"""A clock that is set is noticed, a clock that goes wrong by little is not, and a steady clock only goes on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gitops_bg.agent.runtime.schedule import ClockWatch, SteadyClock

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


class Machine:
    """Its clock may be set, its seconds only pass."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.set_by = timedelta()
        self.seen: list[timedelta] = []
        self.steady = SteadyClock(self.clock, lambda: self.seconds)
        self.watch = ClockWatch(self.clock, self.steady, self.seen.append)

    def clock(self) -> datetime:
        return NOON + timedelta(seconds=self.seconds) + self.set_by


@pytest.mark.parametrize(
    ("sets", "seen"),
    [
        ([], []),
        ([HOUR], [HOUR]),
        ([-HOUR], [-HOUR]),
        ([HOUR, -HOUR], [HOUR, -HOUR]),
        ([-MINUTE, -MINUTE], [-MINUTE, -MINUTE]),
        ([timedelta(seconds=0.4)] * 9, []),
        ([timedelta(seconds=-0.4)] * 9, []),
    ],
)
def test_clock_that_was_set_is_noticed_once(sets: list[timedelta], seen: list[timedelta]) -> None:
    machine = Machine()
    for by in sets:
        machine.seconds += 1
        machine.set_by += by
        for _ in range(3):
            machine.watch.compare()
    assert machine.seen == seen


def test_steady_clock_does_not_follow_the_machine_s() -> None:
    machine = Machine()
    machine.seconds, machine.set_by = 10.0, -HOUR
    assert machine.steady() == NOON + timedelta(seconds=10)

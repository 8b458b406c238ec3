"""Since when a process has looked at Git and its cluster without a break: what it did not see proves nothing."""

from datetime import UTC, datetime, timedelta

from gitops_bg.agent.desired.environments import Watchfulness

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Process:
    """A process that polls every ten seconds, and whose cluster is silent for ``age``."""

    def __init__(self) -> None:
        self.now, self.age = 0.0, 0.0
        self.watches = Watchfulness(
            10, 60, lambda: self.age, lambda: NOON + timedelta(seconds=self.now), lambda: self.now
        )

    def after(self, seconds: float, *, polled: bool = True) -> datetime | None:
        self.now += seconds
        if polled:
            self.watches.looked()
        return self.watches.since()


def test_it_begins_with_the_first_poll_and_goes_on_while_polls_are_answered() -> None:
    process = Process()
    assert process.watches.since() is None
    assert process.after(0) == NOON
    assert process.after(10) == NOON
    assert process.after(29) == NOON
    assert process.after(30, polled=False) == NOON


def test_after_three_polls_in_vain_nobody_looks_until_one_is_answered() -> None:
    process = Process()
    process.after(0)
    assert process.after(31, polled=False) is None
    assert process.after(9) == NOON + timedelta(seconds=40)


def test_a_cluster_that_is_silent_for_too_long_is_not_looked_at() -> None:
    process = Process()
    process.after(0)
    process.age = 61
    assert process.after(5) is None
    process.age = 2
    assert process.after(5) == NOON + timedelta(seconds=8)

"""What is remembered of deliveries is bounded, and a wake is never lost."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_bg.web.receiver import Coalescer, Deliveries
from tests.integration.web.conftest import FakeTimer


def test_only_the_last_ids_are_remembered() -> None:
    deliveries = Deliveries(size=2)
    assert [deliveries.is_new("github", delivery) for delivery in "abcab"] == [True, True, True, True, True]
    assert [deliveries.is_new("github", delivery) for delivery in "ab"] == [False, False]


def test_ids_of_different_senders_are_different() -> None:
    deliveries = Deliveries()
    assert deliveries.is_new("github", "1")
    assert deliveries.is_new("gitea", "1")


@given(st.lists(st.sampled_from(["call", "fire"]), max_size=40))
def test_every_call_is_followed_by_a_wake_and_none_comes_within_the_quiet_time(steps: list[str]) -> None:
    timer, happened = FakeTimer(), list[str]()
    waker = Coalescer(lambda _: happened.append("wake"), timer, 1)
    for step in steps:
        happened.append(step)
        waker.call("x") if step == "call" else timer.fire()
    happened.append("fire")
    timer.fire()
    last_call = max((place for place, what in enumerate(happened) if what == "call"), default=-1)
    assert last_call == -1 or "wake" in happened[last_call:]
    wakes = [place for place, what in enumerate(happened) if what == "wake"]
    assert all("fire" in happened[one:next_one] for one, next_one in pairwise(wakes))


def test_a_wake_that_fails_does_not_end_waking() -> None:
    def wake(reason: str) -> None:
        wakes.append(reason)
        raise RuntimeError(reason)

    wakes: list[str] = []
    timer = FakeTimer()
    waker = Coalescer(wake, timer, 1)
    with pytest.raises(RuntimeError):
        waker.call("first")
    timer.fire()
    with pytest.raises(RuntimeError):
        waker.call("second")
    assert wakes == ["first", "second"]

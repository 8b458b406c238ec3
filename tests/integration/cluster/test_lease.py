"""A Lease is taken, renewed, taken over after it expires, and released; on both clusters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from gitops_bg.agent.runtime.leadership import Leadership, Lease, LeaseSettings, holders
from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client
from gitops_bg.core.errors import LostLeadership, Transient
from tests.support.cluster.clusters import TestCluster
from tests.support.waiting import eventually


class Clock:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def client(cluster: TestCluster) -> Iterator[Client]:
    with ExitStack() as stack:
        made = Client(Access(kubeconfig=cluster.kubeconfig))
        stack.callback(made.close)
        yield made


def _lease(client: Client, namespace: str, clock: Clock, me: str) -> Lease:
    return Lease(client, LeaseSettings(namespace=namespace, name="agents"), me, clock)


def test_one_holds_it_and_another_takes_over_when_it_is_over(client: Client, namespace: str, clock: Clock) -> None:
    one, other = (_lease(client, namespace, clock, me) for me in ("one", "other"))
    assert one.attempt()
    assert not other.attempt()
    assert (other.holder, holders(client, namespace)) == ("one", [(f"{namespace}/agents", "one")])

    clock.now += 14
    assert one.attempt(), "renewed"
    assert not other.attempt()
    clock.now += 14
    assert not other.attempt(), "it was renewed 14 s ago"
    clock.now += 2
    assert other.attempt()
    assert not one.attempt(), "who comes back finds another one"


def test_what_is_given_back_is_taken_at_once(client: Client, namespace: str, clock: Clock) -> None:
    one, other = (_lease(client, namespace, clock, me) for me in ("one", "other"))
    assert one.attempt()
    assert not other.attempt()
    one.give_back()
    assert other.attempt()
    one.give_back()
    assert other.attempt(), "nobody gives back what another one holds"


def test_two_that_try_at_once_do_not_both_get_it(client: Client, namespace: str, clock: Clock) -> None:
    one, other = (_lease(client, namespace, clock, me) for me in ("one", "other"))
    assert one.attempt()
    one.give_back()
    get, seen = client.get, []

    def slow(*arguments: object) -> object:
        answer = get(*arguments)  # type: ignore[arg-type]
        if not seen:
            seen.append(other.attempt() if seen.append(None) is None else None)
        return answer

    client.get = slow  # type: ignore[method-assign,assignment]
    assert not one.attempt(), "the other one wrote between reading and writing"


def test_an_old_renewal_ends_work_before_anybody_says_so(client: Client, namespace: str, clock: Clock) -> None:
    """A frozen process that thaws: the clock went on while it stood still."""
    told: list[bool] = []
    leadership = Leadership(_lease(client, namespace, clock, "one"), lambda holds, _: told.append(holds), clock)
    assert not leadership.holds
    leadership.start()
    eventually(lambda: leadership.holds, what="it holds")
    leadership.require()

    def away(*_: object) -> object:
        raise Transient("nobody answers")

    client.get = away  # type: ignore[method-assign,assignment]
    clock.now += 10.5
    with pytest.raises(LostLeadership):
        leadership.require()
    eventually(lambda: told and not told[-1], what="and is told that it lost it")
    leadership.stop()


def test_without_a_lease_everybody_works() -> None:
    leadership = Leadership(None, lambda *_: None)
    leadership.start()
    leadership.require()
    leadership.stop()

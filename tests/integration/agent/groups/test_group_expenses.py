"""What a look at a release group costs, in requests to the API server: counts, which no busy machine changes.

A group is read live at each look, because it is one of few (decision 39); each of these numbers is a bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agent.expenses import Expenses, expenses_of
from tests.support.cluster.clusters import SandboxCluster
from tests.support.groups import Store
from tests.support.scenario import scenario


@pytest.fixture
def expenses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Expenses]:
    with expenses_of(tmp_path, monkeypatch) as counted:
        yield counted


@pytest.fixture
def store(expenses: Expenses, own_sandbox: SandboxCluster, tmp_path: Path) -> Iterator[Store]:
    """The group `store` at rest, v1 serves and v2 waits; the count begins."""
    with scenario(own_sandbox, tmp_path) as world:
        made = Store(world)
        made.begin()
        made.wait_for_ledger("candidate")
        world.settle()
        world.wait_idle()
        expenses.begin()
        yield made


def reads(cart: str) -> list[str]:
    """What each look reads: the group, its namespace's routes and Services, those of the members that its own follow,
    and who else is a group there. ``cart`` is the member that serves.
    """
    followed = ["GET services/auth-v1", f"GET services/{cart}"]
    return ["GET releasegroups/store", "GET httproutes", "GET services", *followed, "GET releasegroups"]


def test_a_look_at_rest_is_six_reads_also_at_a_poll_without_news(store: Store, expenses: Expenses) -> None:
    """An app has none: it is watched. Nothing is written, and nothing of the remote is fetched."""
    store.look()
    store.world.wait_idle()
    assert (expenses.processes(), expenses.requests()) == ([], reads("cart-v1"))

    expenses.begin()
    store.world.wake()
    store.world.wait_idle()
    assert (expenses.processes(), expenses.requests()) == (["ls-remote"], reads("cart-v1"))


def test_a_promotion_costs_one_look_until_its_first_write_and_one_save_for_each_step(
    store: Store, expenses: Expenses
) -> None:
    """Each step is saved before it is written. How often it is looked at until then, the Gateway says."""
    store.activate("v2")
    store.wait("v1L v2A")
    store.wait_for_ledger("promoted")
    store.world.settle()
    route = "PATCH httproutes/store"
    first = expenses.until(lambda each: each.what == route)
    assert first.processes() == ["ls-remote", "fetch", "fetch", "diff-tree"]
    registered = ["PATCH releasegroups/store/status", "GET releasegroups/store", "PATCH releasegroups/store"]
    assert first.requests() == [*reads("cart-v1"), *registered, "GET httproutes/store"]

    moved = expenses.until(lambda each: each.what == "PATCH services/cart")
    saved = "PATCH releasegroups/store/status"
    assert moved.requests("^PATCH") == [saved, "PATCH releasegroups/store", route, saved, route]
    looks = len(expenses.requests("^GET releasegroups$"))
    rest = len(expenses.requests()) - looks * len(reads("cart-v1"))
    assert rest <= 25, expenses

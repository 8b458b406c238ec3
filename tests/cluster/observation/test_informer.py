"""What the cache believes when lists, events and our own writes arrive in any order. Pure: no server."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_bg.cluster.api.errors import Forbidden
from gitops_bg.cluster.observation.informer import Informer, Scope, Unlisted
from gitops_bg.cluster.observation.project import service_state
from gitops_bg.cluster.observation.states import ServiceState
from gitops_bg.core.errors import Transient
from gitops_bg.core.model.version import AppKey

WEB = AppKey("shop", "web")


def service(
    version: str, *, name: str = "web", uid: str = "one", app: str = "web", color: str = "blue", generation: int = 0
) -> Any:
    metadata: dict[str, Any] = {"namespace": "shop", "name": name, "uid": uid, "resourceVersion": version}
    metadata |= {"labels": {"gitops-bg.dev/app": app}} | ({"generation": generation} if generation else {})
    return {"metadata": metadata, "spec": {"selector": {"color": color}, "ports": []}}


class Cached:
    """A cache of Services, and who was woken."""

    def __init__(self) -> None:
        self.woken: list[AppKey] = []
        self.cache: Informer[ServiceState, AppKey] = Informer(
            service_state, lambda state: AppKey(state.meta.namespace, state.meta.app), self.woken.append
        )
        self.watch: Scope[ServiceState] = self.cache.scope("")

    def list(self, *bodies: Any) -> None:
        self.watch.begin()
        for body in bodies:
            self.watch.put(body)
        self.watch.end()

    def color(self, name: str = "web") -> str | None:
        state = self.cache.get("shop", name)
        return dict(state.selector)["color"] if state else None


@pytest.fixture
def cached() -> Cached:
    return Cached()


def test_it_is_synced_after_the_first_list_even_if_nothing_exists(cached: Cached) -> None:
    assert isinstance(cached.cache.unknown("shop"), Unlisted)
    cached.list()
    assert cached.cache.unknown("shop") is None


def test_each_namespace_is_known_by_its_own_list() -> None:
    cache = Informer(service_state, lambda _: WEB, lambda _: None)
    shop, pay = cache.scope("shop"), cache.scope("pay")
    shop.begin()
    shop.end()
    assert cache.unknown("shop") is None
    assert isinstance(cache.unknown("pay"), Unlisted)
    pay.trouble(Forbidden("403"))
    assert isinstance(cache.unknown("pay"), Forbidden)
    assert cache.unknown("shop") is None


def test_a_namespace_whose_right_was_taken_away_is_unknown_again_and_a_failing_watch_is_not_enough() -> None:
    cache = Informer(service_state, lambda _: WEB, lambda _: None)
    shop = cache.scope("shop")
    shop.begin()
    shop.end()
    shop.trouble(Transient("the API server is away"))
    assert cache.unknown("shop") is None
    shop.trouble(Forbidden("403"))
    assert isinstance(cache.unknown("shop"), Forbidden)
    shop.trouble(Transient("the API server is away"))
    shop.trouble(None)
    assert isinstance(cache.unknown("shop"), Forbidden), "nothing was listed since"
    shop.begin()
    shop.end()
    assert cache.unknown("shop") is None


def test_nobody_waits_for_what_the_agent_can_do_without_and_may_not_see() -> None:
    cache = Informer(service_state, lambda _: WEB, lambda _: None, can_do_without=True)
    scope = cache.scope("")
    scope.trouble(Transient("later"))
    assert (cache.unknown("shop") is None, cache.blind("shop"), len(cache.troubles())) == (False, False, 1)
    scope.trouble(Forbidden("403"))
    assert (cache.unknown("shop"), cache.blind("shop"), cache.troubles()) == (None, True, [])
    scope.trouble(Transient("the API server is away"))
    assert cache.blind("shop"), "what it could not see before, it does not see now"
    scope.begin()
    scope.put(service("1"))
    scope.end()
    scope.trouble(None)
    assert (cache.blind("shop"), len(cache.all())) == (False, 1)


def test_where_the_right_is_missing_in_one_namespace_the_others_are_seen() -> None:
    cache = Informer(service_state, lambda _: WEB, lambda _: None, can_do_without=True)
    shop, pay = cache.scope("shop"), cache.scope("pay")
    shop.begin()
    shop.end()
    pay.trouble(Forbidden("403"))
    assert (cache.blind("shop"), cache.blind("pay")) == (False, True)


def test_everybody_waits_for_what_the_agent_needs(cached: Cached) -> None:
    cached.watch.trouble(Forbidden("403"))
    assert isinstance(cached.cache.unknown("shop"), Forbidden)
    assert len(cached.cache.troubles()) == 1


def test_only_what_matters_wakes(cached: Cached) -> None:
    cached.list(service("1"))
    assert cached.woken == [WEB]
    cached.watch.put(service("2"))
    assert cached.woken == [WEB], "a new version alone changes nothing"
    cached.watch.put(service("3", color="green"))
    assert cached.woken == [WEB, WEB]


def test_what_a_second_list_does_not_show_is_gone(cached: Cached) -> None:
    cached.list(service("1"), service("1", name="old", uid="two"))
    cached.list(service("1"))
    assert [state.meta.name for state in cached.cache.of(WEB)] == ["web"]
    assert len(cached.woken) == 3


def test_a_list_of_one_namespace_sweeps_only_there(cached: Cached) -> None:
    other = cached.cache.scope("other")
    cached.list(service("1"))
    other.begin()
    other.end()
    assert cached.color() == "blue"


def test_a_label_that_moves_to_another_app_wakes_both(cached: Cached) -> None:
    cached.list(service("1"))
    cached.woken.clear()
    cached.watch.put(service("2", app="api"))
    assert set(cached.woken) == {WEB, AppKey("shop", "api")}
    assert cached.cache.of(WEB) == ()


def test_our_own_write_is_there_at_once_and_wakes_nobody(cached: Cached) -> None:
    cached.list(service("1"))
    cached.woken.clear()
    cached.cache.remember(service("3", color="green"), instead_of="1")
    assert cached.color() == "green"
    cached.watch.put(service("3", color="green"))
    assert cached.woken == []


def test_our_own_write_that_gives_an_object_to_another_app_wakes_the_one_that_had_it(cached: Cached) -> None:
    cached.list(service("1"))
    cached.woken.clear()
    cached.cache.remember(service("3", app="shop"), instead_of="1")
    assert cached.woken == [WEB]
    cached.watch.put(service("3", app="shop"))
    assert cached.woken == [WEB]


def test_events_from_before_our_write_do_not_bring_the_old_state_back(cached: Cached) -> None:
    cached.list(service("1"))
    cached.cache.remember(service("3", color="green"), instead_of="1")
    cached.watch.put(service("2", color="blue"))
    assert cached.color() == "green"
    cached.watch.put(service("3", color="green"))
    cached.watch.put(service("4", color="red"))
    assert cached.color() == "red"


def test_an_answer_that_the_watch_has_overtaken_is_ignored(cached: Cached) -> None:
    cached.list(service("1"))
    cached.watch.put(service("2", color="green"))
    cached.watch.put(service("3", color="red"))
    cached.cache.remember(service("2", color="green"), instead_of="1")
    assert cached.color() == "red"


def test_a_status_that_came_before_our_change_of_the_spec_does_not_hide_it(cached: Cached) -> None:
    """Its controller writes the status while we scale a ReplicaSet, and the watch brings that before our answer."""
    cached.list(service("1", generation=1))
    cached.watch.put(service("2", generation=1))
    cached.woken.clear()
    cached.cache.remember(service("3", color="green", generation=2), instead_of="1")
    assert cached.color() == "green"
    cached.watch.put(service("3", color="green", generation=2))
    assert cached.woken == []


@pytest.mark.parametrize(
    ("cached_one", "answer"),
    [
        pytest.param({"generation": 2, "color": "red"}, {"generation": 2}, id="the watch has reached our change"),
        pytest.param({"generation": 3, "color": "red"}, {"generation": 2}, id="somebody changed it after us"),
        pytest.param({"generation": 1, "color": "red", "uid": "two"}, {"generation": 2}, id="it is another object"),
        pytest.param({"color": "red"}, {}, id="the kind has no generations"),
    ],
)
def test_an_answer_of_no_later_generation_is_ignored_where_the_watch_brought_something(
    cached: Cached, cached_one: dict[str, Any], answer: dict[str, Any]
) -> None:
    cached.list(service("1"))
    cached.watch.put(service("4", **cached_one))
    cached.cache.remember(service("3", color="green", **answer), instead_of="1")
    assert cached.color() == "red"


def test_a_list_after_our_write_ends_the_waiting_for_it(cached: Cached) -> None:
    cached.list(service("1"))
    cached.cache.remember(service("3", color="green"), instead_of="1")
    cached.list(service("9", color="red"))
    assert cached.color() == "red"


def test_what_we_made_during_a_list_survives_it(cached: Cached) -> None:
    cached.watch.begin()
    cached.cache.remember(service("5"), instead_of="")
    cached.watch.end()
    assert cached.color() == "blue"


def test_an_answer_does_not_bring_back_what_was_deleted_meanwhile(cached: Cached) -> None:
    cached.list()
    cached.watch.put(service("2"))
    cached.watch.remove(service("3"))
    cached.cache.remember(service("2"), instead_of="")
    assert cached.color() is None


def test_the_end_of_a_namesake_is_not_the_end_of_the_new_one(cached: Cached) -> None:
    cached.list(service("1", uid="one"))
    cached.watch.put(service("5", uid="two", color="green"))
    cached.watch.remove(service("4", uid="one"))
    assert cached.color() == "green"


def test_what_we_deleted_is_gone_at_once_but_not_its_successor(cached: Cached) -> None:
    cached.list(service("1", uid="one"))
    cached.cache.forget("shop", "web", "another")
    assert cached.color() == "blue"
    cached.cache.forget("shop", "web", "one")
    assert cached.color() is None

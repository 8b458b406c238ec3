"""Apps whose namespace is missing are woken once it exists; nothing is asked while none is missing."""

from __future__ import annotations

import pytest

from gitops_bg.agent.runtime.failures import AwaitedNamespaces
from gitops_bg.cluster.api.errors import Forbidden
from gitops_bg.core.errors import Transient
from gitops_bg.core.model.version import AppKey

WEB, API, OTHER = AppKey("shop", "web"), AppKey("shop", "api"), AppKey("bank", "web")


class World:
    """A cluster with some namespaces."""

    def __init__(self) -> None:
        self.namespaces: set[str] = set()
        self.asked: list[str] = []
        self.error: Exception | None = None
        self.woken: list[AppKey] = []
        self.subject = AwaitedNamespaces(self.exists, self.woken.extend)

    def exists(self, name: str) -> bool:
        self.asked.append(name)
        if self.error is not None:
            raise self.error
        return name in self.namespaces

    def look(self) -> None:
        self.subject.check()


@pytest.fixture
def world() -> World:
    return World()


def test_nothing_is_asked_where_nothing_is_missing(world: World) -> None:
    world.look()
    assert world.asked == []


def test_all_apps_of_a_namespace_are_woken_by_one_question_once_it_exists(world: World) -> None:
    for app in (WEB, API, WEB):
        world.subject.wait_for(app)
    world.look()
    assert (world.asked, world.woken) == (["shop"], [])
    world.namespaces.add("shop")
    world.look()
    world.look()
    assert (world.asked, world.woken) == (["shop", "shop"], [API, WEB])


def test_it_goes_on_looking_for_the_others(world: World) -> None:
    world.subject.wait_for(WEB)
    world.subject.wait_for(OTHER)
    world.namespaces.add("bank")
    world.look()
    assert world.woken == [OTHER]
    world.namespaces.add("shop")
    world.look()
    assert world.woken == [OTHER, WEB]


def test_one_that_is_deleted_again_is_awaited_again(world: World) -> None:
    world.namespaces.add("shop")
    for _ in range(2):
        world.subject.wait_for(WEB)
        world.look()
    assert world.woken == [WEB, WEB]


def test_an_api_server_that_does_not_answer_is_asked_again(world: World) -> None:
    world.subject.wait_for(WEB)
    world.error = Transient("away")
    world.look()
    world.error, world.namespaces = None, {"shop"}
    world.look()
    assert world.woken == [WEB]


def test_without_the_right_to_look_nothing_is_asked_in_vain(world: World) -> None:
    world.subject.wait_for(WEB)
    world.error = Forbidden("no")
    world.look()
    world.look()
    assert (world.asked, world.woken) == (["shop"], [])

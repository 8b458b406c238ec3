"""Alerts about release groups, of a running agent to a real chat: told once, also by an agent that starts again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.groups import API, Store
from tests.support.scenario import Scenario
from tests.support.servers.hook_server import Asked, HookServer, hook_server
from tests.support.waiting import eventually

CHAT = "/chat"


@pytest.fixture
def chat() -> Iterator[HookServer]:
    with hook_server(private=True) as running:
        yield running


@pytest.fixture
def store(world: Scenario, chat: HookServer) -> Store:
    """The group, with an alert about everything."""
    store = Store(world)
    provider = f"{{type: apprise, address: {chat.chat(CHAT)}}}"
    head = f"apiVersion: {API}\nkind: AlertProvider\nmetadata: {{name: team}}\n"
    world.remote.write("alerts/team.yaml", f"{head}spec: {provider}\n")
    alerts = "alerts: [{name: team, severity: info, providerRef: {name: team}}]\n"
    world.remote.write("gitops-bg.yaml", f"apiVersion: {API}\nkind: Settings\n{alerts}")
    store.begin()
    return store


def told(chat: HookServer, store: Store) -> list[Asked]:
    """What the chat was sent about the group; its services are apps, with messages of their own."""
    name = f"{store.world.namespace}/store: "
    return [each for each in chat.asked_at(CHAT) if text(each).startswith(name)]


def text(asked: Asked) -> str:
    return str(asked.payload["message"])


def wait_for(chat: HookServer, store: Store, words: str, times: int = 1) -> list[Asked]:
    def is_told() -> list[Asked]:
        found = [each for each in told(chat, store) if words in text(each)]
        return found if len(found) >= times else []

    return eventually(is_told, what=f"the chat is told {words!r}")


def test_a_promotion_and_its_way_back_are_told_once_with_facts(store: Store, chat: HookServer) -> None:
    """Also where an app has the name of the group, and messages of its own."""
    store.world.app("store").deploy("v1")
    wait_for(chat, store, "is live, the first version")
    commit = store.activate("v2")
    store.wait("v1L v2A")
    (promoted,) = wait_for(chat, store, "v2 is live")
    assert {f"Group: {store.world.namespace}/store", f"Commit: {commit}"} <= set(text(promoted).split("\n"))
    store.activate("v1")
    store.wait("v1A v2C")
    wait_for(chat, store, "live traffic went back from v2 to v1")
    store.world.wait_idle()
    assert len({text(each) for each in told(chat, store)}) == len(told(chat, store))
    assert "outbox" not in str(store.status().get("message"))


def test_what_a_dead_chat_was_not_told_the_next_agent_tells(store: Store, chat: HookServer) -> None:
    chat.reply(CHAT, 503, "starting")
    store.activate("v2")
    store.wait("v1L v2A")
    wait_for(chat, store, "v2 is live", times=2)
    store.world.restart()
    chat.reply(CHAT, 200)
    wait_for(chat, store, "v2 is live", times=3)
    store.world.wait_idle()
    tries = [each for each in told(chat, store) if "v2 is live" in text(each)]
    assert len({text(each) for each in tries}) == 1

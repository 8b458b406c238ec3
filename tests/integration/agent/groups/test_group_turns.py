"""An app and a release group take turns: a policy lets one of them move at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.fixtures.repos.texts import policy
from tests.support.groups import API, Store
from tests.support.scenario import App, Scenario
from tests.support.servers.backend import Asked, Backend, Reply, serving
from tests.support.waiting import eventually


class Judge:
    """A metric backend that says of nobody how it is, until it is told to."""

    def __init__(self, backend: Backend) -> None:
        self.url = backend.url
        self.good: set[str] = set()
        backend.answer = self._answer

    def _answer(self, asked: Asked) -> Reply:
        return Reply({"ok": True}) if asked.path.strip("/") in self.good else Reply({"message": "starting"}, 503)

    def template(self) -> str:
        web = {"url": f"{self.url}/{{{{args.who}}}}", "jsonPath": "{$.ok}"}
        metric = {"name": "ok", "provider": {"web": web}, "successCondition": "result == true"}
        body = {"apiVersion": API, "kind": "AnalysisTemplate", "metadata": {"name": "judged"}}
        spec = {"args": [{"name": "who"}], "metrics": [{**metric, "consecutiveErrorLimit": -1}]}
        return yaml.safe_dump({**body, "spec": spec})


def judged(who: str) -> dict[str, Any]:
    """An analysis after the promotion that ends when the judge says so."""
    args = [{"name": "who", "value": who}]
    return {"postPromotionAnalysis": {"templates": [{"templateName": "judged"}], "args": args}}


@pytest.fixture
def judge() -> Iterator[Judge]:
    with serving() as backend:
        yield Judge(backend)


@pytest.fixture
def store(world: Scenario, judge: Judge) -> Store:
    """The store with v1, beside the app `web`; both are judged after each promotion, and one may move at a time."""
    world.remote.write("analysis/judged.yaml", judge.template())
    world.remote.write("policies/turns.yaml", policy("turns", "- concurrency: {max: 1}"))
    found = Store(world)
    found.spec |= judged("store")
    found.begin()
    return found


@pytest.fixture
def web(store: Store) -> App:
    made = store.world.app()
    made.strategy |= {"autoPromotionEnabled": True, **judged("web")}
    return made.deploy("v1")


def wait_moving(gates: Any, who: str) -> None:
    said = f"turns: 1 of 1 are on the move: {who}; place 1 in the queue"
    eventually(lambda: any(said in gate["reason"] for gate in gates()), what=f"{who} has the turn")


def test_an_app_waits_for_a_group_and_a_group_for_an_app(store: Store, web: App, judge: Judge) -> None:
    place = store.world.namespace
    store.activate("v2")
    eventually(lambda: store.stages() == "v1L v2A", what="the group has moved, and is judged")
    web.push_image("v2")
    wait_moving(lambda: web.status.get("gates", []), f"group {place}/store")
    store.world.wait_idle()
    assert web.live_tag() == "v1"

    judge.good = {"store"}
    web.wait_live("v2")
    store.activate("v1")
    store.wait("v1A v2C")
    assert web.live_tag() == "v2", "the way back waits for nobody"
    store.activate("v2")
    wait_moving(store.shut_gates, f"{place}/web")
    store.world.wait_idle()
    assert store.stages() == "v1A v2C"

    judge.good = {"web", "store"}
    store.wait("v1L v2A")


def test_a_group_that_nobody_can_look_at_keeps_nobody_waiting(store: Store, web: App) -> None:
    store.world.stop()
    store.damage_record()
    store.world.start()
    web.push_image("v2")
    web.wait_live("v2")

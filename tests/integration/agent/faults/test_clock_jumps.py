"""The machine's clock is set, by an hour: nothing moves that nobody asked for, and what is asked for moves at once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from gitops_bg.core import names
from tests.support.agent.agent_processes import Movements, told
from tests.support.cluster.clusters import SandboxCluster
from tests.support.cluster.paths import services
from tests.support.cluster.rawapi import MERGE
from tests.support.scenario import App, Scenario, scenario
from tests.support.waiting import eventually

HOUR = timedelta(hours=1)


@pytest.fixture
def world(sandbox_cluster: SandboxCluster, tmp_path: Path) -> Iterator[Scenario]:
    with scenario(sandbox_cluster, tmp_path) as made:
        yield made


def test_promotions_and_rollbacks_between_jumps_of_the_clock(world: Scenario) -> None:
    """On and back, and then back and on."""
    world.start()
    web = world.app().deploy("v1")
    with Movements(web) as movements:
        for tag, by in (("v2", HOUR), ("v3", -HOUR)):
            web.push_image(tag)
            web.wait_offered(tag)
            _jump(world, by)
            commit = web.promote(tag)
            _jump(world, -by)
            assert web.live_tag() == tag
            web.revert(commit)
            web.wait_live("v1")
        wanted = [web.digest(tag)[3:13] for tag in ("v2", "v1", "v3", "v1")]
        eventually(lambda: movements.seen == wanted, what="traffic moved as asked, and not once more")
    moved = ["promoted", "rolled-back"] * 2
    eventually(lambda: told(web) == ["deployed", *moved], what="the ledger tells of each")


def test_what_waits_for_a_moment_comes_when_the_clock_is_set_to_it(world: Scenario) -> None:
    world.start()
    web = world.app().deploy("v1")
    web.promote("v2")
    world.wait_idle()
    assert web.versions()["v1"].replicas == web.replicas, "for five minutes, to roll back at once"
    world.clock.set_by += HOUR
    web.wait(lambda: web.versions()["v1"].replicas == 0, "v1 is scaled down, and nobody has woken the agent")


def test_a_service_that_was_repaired_before_the_clock_went_back_is_still_written(world: Scenario) -> None:
    """By a repair, and by a rollback."""
    world.start()
    web = world.app().deploy("v1")
    promotion = web.promote("v2")
    _lead_astray(web, "v1")
    web.wait_live("v2")
    world.wait_idle()
    world.clock.set_by -= HOUR
    world.wait_idle()
    _lead_astray(web, "v1")
    web.wait_live("v2")
    world.wait_idle()
    world.clock.set_by -= HOUR
    world.wait_idle()
    web.revert(promotion)
    web.wait_live("v1")


def _lead_astray(web: App, tag: str) -> None:
    selector = {"spec": {"selector": names.selector(web.key, web.digest(tag))}}
    path = f"{services(web.key.namespace)}/{web.name}"
    web.scenario.cluster.patch(path, selector, MERGE, fieldManager="kubectl-edit")


def _jump(world: Scenario, by: timedelta) -> None:
    """The clock is set, and all that is due by it is done."""
    agent = world.agent
    assert agent is not None
    world.clock.set_by += by
    agent.wake_all(agent.cluster.apps())
    world.wait_idle()

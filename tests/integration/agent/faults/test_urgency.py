"""Where traffic is to move comes first, then what is on its way, what changed in Git, and then apps at rest."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_bg.agent.agent import Agent
from gitops_bg.agent.reconcile.kind import Urgency
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.version import AppKey
from tests.support.cluster.clusters import SandboxCluster
from tests.support.scenario import App, scenario
from tests.support.waiting import PATIENCE, eventually

IN_THE_MIDDLE = "v2-missing"
"""A tag whose pods never get ready."""
AT_REST = [f"rests-{number}" for number in range(4)]


class OneByOne:
    """The looks of an agent with one worker: their order, and a way to keep them waiting."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.order: list[str] = []
        self._goes_on, self._arrived = threading.Event(), threading.Event()
        self._goes_on.set()
        look = Agent._reconcile

        def noted(agent: Agent, app: AppKey) -> None:
            self._arrived.set()
            self._goes_on.wait()
            self.order.append(app.name)
            look(agent, app)

        monkeypatch.setattr(Agent, "_reconcile", noted)

    @property
    def first(self) -> list[str]:
        """The apps in the order of their first looks."""
        return list(dict.fromkeys(self.order))

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let looks wait; the order begins anew. In the block a first one can be awaited (`arrived`)."""
        self._goes_on.clear()
        self._arrived.clear()
        self.order.clear()
        try:
            yield
        finally:
            self._goes_on.set()

    def arrived(self) -> None:
        """Wait until one look waits, which is thus ahead of all others."""
        assert self._arrived.wait(PATIENCE)


def test_after_a_start_what_is_on_its_way_is_looked_at_first_and_then_what_changed(
    own_sandbox: SandboxCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By another process of the node, and by one of another node, which has no mirror."""
    with scenario(own_sandbox, tmp_path, workers=1) as world:
        world.start()
        on_its_way, changed = world.app("on-its-way"), world.app("changed")
        for app in (on_its_way, changed, *map(world.app, AT_REST)):
            app.deploy("v1")
        on_its_way.push_image(IN_THE_MIDDLE)
        on_its_way.wait_phase("Progressing")
        looks = OneByOne(monkeypatch)
        for fresh_mirror, tag in ((False, "v2"), (True, "v3")):
            world.settle()
            world.stop()
            changed.push_image(tag)
            if tag == "v2":
                App(world, "new").push_image("v1")
            looks.order.clear()
            world.start(fresh_mirror=fresh_mirror)
            changed.wait_offered(tag)
            world.wait_idle()
            assert looks.first[0] == "on-its-way"
            if tag == "v2":
                assert sorted(looks.first[1:3]) == ["changed", "new"]
                assert sorted(looks.first[3:]) == AT_REST
            others = [each for each in looks.first if each != "new"]
            assert (others[:2], sorted(others[2:])) == (["on-its-way", "changed"], AT_REST)


def test_a_rollback_comes_before_all_apps_that_roll_out(
    own_sandbox: SandboxCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a revert of the push, by one of the promotion, and by an abort."""
    with scenario(own_sandbox, tmp_path, workers=1) as world:
        agent, looks = world.start(), OneByOne(monkeypatch)
        rolled_back, crowd = world.app("rolled-back"), [world.app(name) for name in AT_REST]
        for app in (rolled_back, *crowd):
            app.deploy("v1")
        for tag, by in (("v2", "target.yaml"), ("v3", "primary.yaml"), ("v4", "abort")):
            image, merge = rolled_back.push_and_promote(tag)
            world.settle()
            with looks.waiting():
                world.publish("All at once", {f"{app.folder}/target.yaml": app.target_yaml(tag) for app in crowd})
                looks.arrived()
                eventually(lambda: len(agent.queue) == len(crowd) - 1, what="all others of the crowd wait")
                if by == "abort":
                    rolled_back.ask(Request("id-1", OperatorCommand.ABORT, "Ada", datetime.now(UTC)))
                else:
                    rolled_back.revert(merge if by == "primary.yaml" else image)
                eventually(lambda: len(agent.queue) == len(crowd), what="the rollback waits as well")
            rolled_back.wait_live("v1")
            world.wait_idle()
            assert looks.first[1] == "rolled-back", by


def test_a_push_comes_before_all_apps_that_are_only_looked_at_once_more(
    own_sandbox: SandboxCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scenario(own_sandbox, tmp_path, workers=1) as world:
        agent, looks = world.start(), OneByOne(monkeypatch)
        changed = world.app("rests-9")
        for app in (*map(world.app, AT_REST), changed):
            app.deploy("v1")
        world.settle()
        with looks.waiting():
            agent._resync()
            looks.arrived()
            changed.push_image("v2")
            eventually(lambda: agent.queue._queued.get(changed.key) == Urgency.CHANGED, what="the push is queued")
        changed.wait_offered("v2")
        world.wait_idle()
    assert changed.name in looks.first[:2]
    assert sorted(looks.first) == sorted([*AT_REST, changed.name])

"""A switch delayed on its way to the API server, while another agent decides otherwise: the server rejects it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.core import names
from gitops_bg.core.model.version import short
from gitops_bg.sandbox.http.calls import Call
from tests.support.agent.agent_processes import AgentProcess, Movements, told
from tests.support.cluster.clusters import SandboxCluster
from tests.support.scenario import App, Scenario, scenario
from tests.support.waiting import PATIENCE, eventually


class Held:
    """Holds the first write on a Service that says ``text``, as a frozen process or a bad network does."""

    def __init__(self, service: str, text: str) -> None:
        self._service, self._text = service, text.encode()
        self.there, self.go = threading.Event(), threading.Event()

    def before(self, call: Call) -> None:
        meant = call.verb == "patch" and (call.plural, call.name) == ("services", self._service)
        if meant and self._text in call.body and not self.there.is_set():
            self.there.set()
            assert self.go.wait(PATIENCE)


@pytest.fixture
def world(own_sandbox: SandboxCluster, tmp_path: Path) -> Iterator[Scenario]:
    with scenario(own_sandbox, tmp_path) as made:
        yield made


@pytest.fixture
def first(world: Scenario, tmp_path: Path) -> Iterator[AgentProcess]:
    one = AgentProcess(world, tmp_path / "first", "--lease-name=mine-1", "--poll", "0.3")
    yield one
    one.close()


def test_a_switch_on_its_way_that_somebody_withdrew_moves_nothing(
    world: Scenario, own_sandbox: SandboxCluster, first: AgentProcess, tmp_path: Path
) -> None:
    app, faults = world.app(), own_sandbox.sandbox.faults
    app.add("v1")
    _in_git(app, "v1")
    app.push_image("v2")
    eventually(lambda: app.primary_digest(app.promotion_branch) == app.digest("v2"), what="it is offered")
    held = Held(app.name, short(app.digest("v2")))
    faults.before(held.before)
    with Movements(app) as movements:
        merged = app.merge_offer()
        assert held.there.wait(PATIENCE), "the first agent has decided to move traffic"
        assert app.record.routing.switch is not None
        other = AgentProcess(world, tmp_path / "other", "--lease-name=mine-2", "--poll", "0.3")
        try:
            app.revert(merged)
            eventually(lambda: app.record.routing.switch is None, what="the other agent withdraws the switch")
            eventually(lambda: _mark(app) == app.record.withdrawn != "", what="and marks the Service")
            held.go.set()
            eventually(lambda: _refused(own_sandbox, app), what="it is refused")
            _in_git(app, "v1")
            eventually(app.is_told, what="all is told")
        finally:
            held.go.set()
            other.close()
    assert movements.seen == [app.digest("v1")[3:13]]
    assert told(app) == ["deployed"]


def test_one_that_comes_through_before_it_is_marked_is_a_movement_with_its_entry(
    world: Scenario, own_sandbox: SandboxCluster, first: AgentProcess, tmp_path: Path
) -> None:
    """Found so: traffic moved there and back, and the ledger knew of neither."""
    app, faults = world.app(), own_sandbox.sandbox.faults
    app.add("v1")
    _in_git(app, "v1")
    app.push_image("v2")
    eventually(lambda: app.primary_digest(app.promotion_branch) == app.digest("v2"), what="it is offered")
    switch, mark = Held(app.name, short(app.digest("v2"))), Held(app.name, names.WITHDRAWN.partition("/")[2])
    faults.before(switch.before)
    faults.before(mark.before)
    with Movements(app) as movements:
        merged = app.merge_offer()
        assert switch.there.wait(PATIENCE), "the first agent has decided to move traffic"
        other = AgentProcess(world, tmp_path / "other", "--lease-name=mine-2", "--poll", "0.3")
        try:
            app.revert(merged)
            assert mark.there.wait(PATIENCE), "the other agent has withdrawn it, and is about to mark the Service"
            switch.go.set()
            eventually(lambda: app.live_tag() == "v2", what="the write that was on its way comes through")
            mark.go.set()
            _in_git(app, "v1")
            eventually(lambda: told(app)[-1:] == ["rolled-back"], what="all is told")
        finally:
            switch.go.set()
            mark.go.set()
            other.close()
    assert movements.seen[-2:] == [short(app.digest(tag)) for tag in ("v2", "v1")]
    assert told(app) == ["deployed", "promoted", "rolled-back"]


def _in_git(app: App, tag: str) -> None:
    eventually(lambda: app.live_tag() == tag, what=f"{tag} is live")
    eventually(lambda: app.primary_digest() == app.digest(tag), what=f"{tag} is in Git")


def _refused(cluster: SandboxCluster, app: App) -> bool:
    asked = cluster.sandbox.requests.all()
    return any(
        (one.verb, one.resource, one.name) == ("patch", "services", app.name) and one.status >= 400 for one in asked
    )


def _mark(app: App) -> str:
    service = app.scenario.live("services", app.name)
    assert service is not None
    return str((service["metadata"].get("annotations") or {}).get(names.WITHDRAWN, ""))

"""After a start, what is on its way comes before what changed in Git, and that before apps at rest."""

from pathlib import Path

import pytest

from gitops_bg.agent.agent import Agent
from gitops_bg.core.model.version import AppKey
from tests.support.cluster.clusters import SandboxCluster
from tests.support.scenario import App, scenario

IN_THE_MIDDLE = "v2-missing"
"""A tag whose pods never get ready."""
AT_REST = [f"rests-{number}" for number in range(8)]


@pytest.mark.parametrize("fresh_mirror", [False, True], ids=["another process", "another node"])
def test_after_a_start_what_is_on_its_way_is_looked_at_first_and_then_what_changed(
    own_sandbox: SandboxCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_mirror: bool
) -> None:
    looked: list[str] = []
    with scenario(own_sandbox, tmp_path, workers=1) as world:
        world.start()
        on_its_way, changed, new = world.app("on-its-way"), world.app("changed"), App(world, "new")
        for app in (on_its_way, changed, *map(world.app, AT_REST)):
            app.deploy("v1")
        on_its_way.push_image(IN_THE_MIDDLE)
        on_its_way.wait_phase("Progressing")
        world.settle()
        world.stop()
        changed.push_image("v2")
        new.push_image("v1")

        look = Agent._look_at

        def noted(agent: Agent, app: AppKey) -> None:
            looked.append(app.name)
            look(agent, app)

        monkeypatch.setattr(Agent, "_look_at", noted)
        world.start(fresh_mirror=fresh_mirror)
        changed.wait_offered("v2")
        world.wait_idle()
    first = list(dict.fromkeys(looked))
    assert first[0] == "on-its-way"
    assert sorted(first[1:3]) == ["changed", "new"]
    assert sorted(first[3:]) == AT_REST

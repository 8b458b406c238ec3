"""While a file of an app, or of the repository, has a mistake, no release enters: nobody can tell what it says."""

from __future__ import annotations

from pathlib import Path

from tests.integration.agent.environments.test_three_environments import (
    Travel,
    reach_staging,
    soak,
    travel,
)
from tests.support.command_line import Cli

__all__ = ["travel"]


def test_a_release_on_hold_stays_out_while_app_yaml_cannot_be_read(travel: Travel, tmp_path: Path) -> None:
    reach_staging(travel)
    cli = Cli(travel.remote, travel.prod.scenario.cluster.kubeconfig, tmp_path / "cli")
    cli("hold", "web", "--release", "r2", "--everywhere", "--reason", "loses orders")
    travel.settle()
    path = f"{travel.dev.folder}/app.yaml"
    text = travel.remote.show("main", path) or ""
    travel.dev.scenario.publish("Typo", {path: text.replace("spec:", "spec:\n  nonsenseField: 1", 1)})
    soak(travel.staging, 1900)
    travel.settle()
    assert travel.release("prod") != travel.release("staging")
    waits = [each["reason"] for each in travel.prod.status["waits"] if each["gate"] == "release"]
    assert len(waits) == 1
    assert "nonsenseField: there is no such field" in waits[0]
    travel.dev.scenario.publish("Mend it", {path: text})
    travel.settle()
    assert travel.prod.live_tag() == "v1"

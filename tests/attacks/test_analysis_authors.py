"""Authors of analyses, and of what is measured: a condition that never ends is an error of its measurement."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from gitops_bg.outbound.addresses import ORDINARY
from tests.attacks.conftest import Siege
from tests.support.scenario import scenario
from tests.support.servers.backend import Backend, serving
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

CONDITIONS = {
    "copies of copies": "size(result.map(a, result.map(b, result))) > 0",
}


@pytest.fixture
def backend() -> Iterator[Backend]:
    """It answers with as much as an answer may have."""
    with serving() as server:
        server.says(list(range(100_000)))
        yield server


@pytest.mark.parametrize("kind", CONDITIONS)
def test_condition_that_never_ends_is_an_error_of_its_measurement(kind: str, siege: Siege, backend: Backend) -> None:
    """Evaluated in the agent's process it would keep the interpreter's lock, and so every app, for hours."""
    web = siege.web
    metric = {
        "name": "many",
        "provider": {"web": {"url": backend.url}},
        "successCondition": CONDITIONS[kind],
        "interval": "1s",
        "count": 3,
        "consecutiveErrorLimit": 0,
    }
    head = {"apiVersion": "gitops-bg.dev/v1alpha1", "kind": "AnalysisTemplate", "metadata": {"name": "costly"}}
    siege.world.publish(
        "Ask for much", {"analysis/costly.yaml": yaml.safe_dump({**head, "spec": {"metrics": [metric]}})}
    )
    web.strategy |= {
        "autoPromotionEnabled": True,
        "prePromotionAnalysis": {"templates": [{"templateName": "costly"}]},
    }
    web.configure()
    tag = f"{kind.replace(' ', '-')}"
    web.push_image(tag)
    siege.bystander_goes_on()
    web.wait(
        lambda: "costs more than" in web.condition("AnalysisPassed")["message"], "the error is said", timeout=PATIENCE
    )
    siege.bystander_goes_on()
    assert web.live_tag() != tag, "what was not measured is not promoted"


def test_address_of_the_agent_s_own_machine_is_not_asked(siege: Siege, tmp_path: Path) -> None:
    """By default: who writes templates would see what only this machine may ask for."""
    with serving() as inside, scenario(siege.world.cluster, tmp_path, addresses=ORDINARY) as world:
        inside.says({"token": "of the node"})
        world.start()
        app = world.app().deploy("v1")
        metric = {"name": "node", "provider": {"web": {"url": f"{inside.url}/credentials"}}, "successCondition": "true"}
        head = {"apiVersion": "gitops-bg.dev/v1alpha1", "kind": "AnalysisTemplate", "metadata": {"name": "curious"}}
        template = yaml.safe_dump({**head, "spec": {"metrics": [metric | {"consecutiveErrorLimit": 0}]}})
        world.publish("Ask the node", {"analysis/curious.yaml": template})
        app.strategy |= {
            "autoPromotionEnabled": True,
            "prePromotionAnalysis": {"templates": [{"templateName": "curious"}]},
        }
        app.configure()
        app.push_image("v2")
        said = lambda: app.condition("AnalysisPassed")["message"]  # noqa: E731
        app.wait(lambda: "127.0.0.1 is this machine itself: --allow-address" in said(), "it is refused")
        assert inside.asked == []

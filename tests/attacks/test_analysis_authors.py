"""Authors of analyses, and of what is measured: a condition that never ends is an error of its measurement."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from tests.attacks.conftest import Siege
from tests.support.servers.backend import Backend, serving
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

CONDITIONS = {
    "copies of copies": "size(result.map(a, result.map(b, result))) > 0",
    "all with all": "result.all(a, result.all(b, a + b >= 0))",
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
        "consecutiveErrorLimit": 1,
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

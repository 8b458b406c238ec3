"""/metrics shows the agent's series in a format that scrapers parse."""

from __future__ import annotations

import httpx
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_open_metrics
from prometheus_client.parser import text_string_to_metric_families as parse_plain

from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.version import AppKey
from tests.integration.web.conftest import FakeAgent

WEB = AppKey("shop", "web")


def test_the_text_parses_and_has_what_was_counted(http: httpx.Client, agent: FakeAgent) -> None:
    agent.metrics.decided(WEB, Phase.HEALTHY, 0.002)
    answer = http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    samples = {sample.name: sample for family in parse_plain(answer.text) for sample in family.samples}
    found = samples["gitops_bg_decisions_total"]
    assert (found.value, found.labels) == (1, {"kind": "app", "namespace": "shop", "name": "web", "phase": "Healthy"})
    assert "process_resident_memory_bytes" in samples


def test_open_metrics_is_spoken_where_asked_for(http: httpx.Client, agent: FakeAgent) -> None:
    agent.metrics.decided(WEB, Phase.HEALTHY, 0.002)
    answer = http.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0; q=0.5, */*;q=0.1"})
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    names = {family.name for family in parse_open_metrics(answer.text)}
    assert "gitops_bg_decisions" in names


@pytest.mark.parametrize(
    "accept", ["", "text/html", "application/openmetrics-text; version=x", ";;,=", "text/plain;version"]
)
def test_an_odd_accept_header_gets_the_plain_text_or_open_metrics(http: httpx.Client, accept: str) -> None:
    assert http.get("/metrics", headers={"Accept": accept}).status_code == 200


def test_creation_times_are_left_out(http: httpx.Client, agent: FakeAgent) -> None:
    agent.metrics.decided(WEB, Phase.HEALTHY, 0.002)
    assert "_created" not in http.get("/metrics").text


def test_the_series_of_a_forgotten_app_are_gone(http: httpx.Client, agent: FakeAgent) -> None:
    agent.metrics.decided(WEB, Phase.HEALTHY, 0.002)
    assert 'name="web"' in http.get("/metrics").text
    agent.metrics.forget(WEB)
    assert 'name="web"' not in http.get("/metrics").text

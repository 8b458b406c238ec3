"""Traces of real rollouts, by OTLP over HTTP to a real receiver: across a restart, and at no cost where it is away."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.agent.tracing import NO_TRACER, tracer_from
from tests.support.cluster.clusters import SandboxCluster
from tests.support.scenario import Scenario, scenario
from tests.support.servers.otlp_receiver import OtlpReceiver, otlp_receiver
from tests.support.waiting import eventually

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[OtlpReceiver]:
    with otlp_receiver() as running:
        monkeypatch.setenv(ENDPOINT, running.address)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
        yield running


@pytest.fixture
def world(receiver: OtlpReceiver, sandbox_cluster: SandboxCluster, tmp_path: Path) -> Iterator[Scenario]:
    with scenario(sandbox_cluster, tmp_path) as made:
        yield made


def test_a_rollout_is_one_trace_also_where_the_agent_is_restarted_in_between(
    world: Scenario, receiver: OtlpReceiver
) -> None:
    world.start()
    web = world.app().deploy("v1")
    commit = web.push_image("v2")
    web.wait_offered("v2")
    eventually(lambda: len(receiver.of("deploy")) == 2, what="the first stage is traced")
    world.restart()
    world.remote.merge(web.promotion_branch, "Promote v2")
    world.wake()
    web.wait_live("v2")
    eventually(lambda: len(receiver.of("rollout web v2")) == 1, what="the rollout is traced")
    world.stop()
    (root,) = receiver.of("rollout web v2")
    trace = [span for span in receiver.spans if span.trace == root.trace]
    assert {"deploy", "gates", "waiting for people", "switch", "settle", "candidate", "promoted"} <= {
        s.name for s in trace
    }
    assert len({span.id for span in receiver.spans}) == len(receiver.spans), "a span was sent twice"
    assert {span.parent for span in trace} <= {span.id for span in trace} | {""}, "a parent that never came"
    assert root.parent == ""
    assert all(span.start <= span.end for span in trace)
    assert (root.attributes["gitops_bg.app"], root.attributes["k8s.namespace.name"]) == ("web", world.namespace)
    assert (root.attributes["gitops_bg.outcome"], root.attributes["gitops_bg.commit"]) == ("Promoted", commit)
    assert root.failed == ""
    assert root.resource["service.name"] == "gitops-bg"
    assert root.resource["k8s.cluster.name"] == world.settings.repository.cluster
    assert receiver.paths == {"/v1/traces"}
    (first,) = receiver.of("rollout web v1")
    assert first.trace != root.trace


def test_the_standard_variables_count(world: Scenario, receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=shop")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=blue-green,team=shop")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    world.start()
    world.app().deploy("v1")
    eventually(lambda: receiver.of("rollout web v1"), what="the rollout is traced")
    resource = receiver.spans[0].resource
    assert (resource["service.name"], resource["team"]) == ("blue-green", "shop")
    assert receiver.headers["x-tenant"] == "shop"


def test_a_collector_that_hangs_holds_up_no_rollout_and_no_end(world: Scenario, receiver: OtlpReceiver) -> None:
    receiver.blocked.set()
    agent = world.start()
    web = world.app().deploy("v1")
    web.push_image("v2")
    web.wait_offered("v2")
    begun = time.monotonic()
    agent.stop(4)
    assert time.monotonic() - begun < 6
    assert not receiver.spans


def test_a_collector_that_is_away_holds_up_no_rollout(
    world: Scenario, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:9")
    world.start()
    world.app().deploy("v1")
    assert not [record for record in caplog.records if record.name.startswith("gitops_bg") and record.exc_info]


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {ENDPOINT: ""},
        {ENDPOINT: "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"},
        {ENDPOINT: "http://127.0.0.1:9", "OTEL_TRACES_EXPORTER": "none"},
    ],
)
def test_nobody_who_does_not_ask_gets_traces(variables: dict[str, str]) -> None:
    assert tracer_from(variables, "blue") is NO_TRACER


def test_another_protocol_is_named_and_not_used(caplog: pytest.LogCaptureFixture) -> None:
    asked = {ENDPOINT: "http://127.0.0.1:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    assert tracer_from(asked, "blue") is NO_TRACER
    assert "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf" in caplog.text


def test_without_the_extra_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    assert tracer_from({ENDPOINT: "http://127.0.0.1:9"}, "blue") is NO_TRACER
    assert "pip install 'gitops-bg[tracing]'" in caplog.text


def test_without_an_endpoint_nothing_of_it_is_imported() -> None:
    code = (
        "import sys; import gitops_bg.agent.agent; from gitops_bg.agent.tracing import tracer_from;"
        "tracer_from({}, 'blue');"
        "print([name for name in sys.modules if name.startswith(('opentelemetry', 'google.protobuf', 'requests'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

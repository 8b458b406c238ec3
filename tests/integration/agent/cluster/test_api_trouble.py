"""The API server refuses, fails, is slow or forgets: one app's trouble is its own, and everything ends well."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from gitops_bg.agent import agent as agent_module
from gitops_bg.core import names
from gitops_bg.core.model.version import short
from gitops_bg.sandbox.http.calls import Call
from gitops_bg.sandbox.http.errors import forbidden
from tests.support.cluster.clusters import SandboxCluster
from tests.support.cluster.paths import replica_sets
from tests.support.configuration import PASSWORDS, SETTINGS, config_map, reading, secret
from tests.support.scenario import App, Scenario, scenario
from tests.support.sightings import Sightings
from tests.support.waiting import eventually


@pytest.fixture
def world(own_sandbox: SandboxCluster, tmp_path: Path) -> Iterator[Scenario]:
    with scenario(own_sandbox, tmp_path) as made:
        yield made


def _retry_soon(*apps: App) -> None:
    agent = apps[0].scenario.agent
    assert agent is not None
    agent.wake_all([app.key for app in apps])


def test_without_the_right_to_secrets_only_the_version_that_needs_one_waits(
    world: Scenario, own_sandbox: SandboxCluster
) -> None:
    """As `deploy/rbac.yaml` has it. What serves is scaled; the condition names the role; granted, it goes on."""
    own_sandbox.sandbox.faults.refuse("*", "secrets")
    world.start()
    web = reading(world.app())
    web.objects[SETTINGS] = config_map(color="blue")
    web.deploy("v1")
    web.push_object(PASSWORDS, secret(db="hunter2"))
    refused = web.wait_condition("Refused")["message"]
    role = f"bind the ClusterRole gitops-bg-app-secrets to the agent in namespace {web.key.namespace}"
    assert refused.startswith(f"the agent may not copy the Secrets of {web.key}: {role}; ")
    web.replicas = 3
    web.push_image("v1")
    live = web.selected()
    web.wait(lambda: _sizes(web) == {live: 3}, "live traffic has three pods, and nothing else has any")

    own_sandbox.sandbox.faults.clear()
    _retry_soon(web)
    web.wait_offered("v1")
    web.wait_condition("Refused", "Absent")
    web.merge_offer()
    web.wait(lambda: web.selected() == short(web.digest("v1")), "it is live")


def test_a_namespace_that_cannot_be_listed_keeps_no_other_from_being_managed(
    own_sandbox: SandboxCluster, tmp_path: Path
) -> None:
    """A namespace with more objects than the server can list in time, for example."""
    first, second = own_sandbox.namespace(), own_sandbox.namespace()
    own_sandbox.sandbox.faults.refuse("list", "replicasets", second, 500)
    with scenario(own_sandbox, tmp_path, namespace=first, namespaces=(first, second)) as world:
        agent = world.start()
        world.app().deploy("v1")
        pay = world.elsewhere(second).app()
        pay.add("v1")
        world.wait_idle()
        assert pay.scenario.live(names.PLURAL, "web") is None
        assert agent.readiness_problems() == []
        assert [second in str(each) for each in agent.cluster.caches.troubles()] == [True]
        (told,) = agent.unmanaged()
        assert told.startswith(f"namespace {second}: list replicasets")

        own_sandbox.sandbox.faults.clear()
        pay.wait_live("v1")
        assert agent.unmanaged() == []


def test_while_the_server_confirms_nothing_the_agent_is_not_ready_and_says_since_when(
    world: Scenario, own_sandbox: SandboxCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_module, "STALE", 1.0)
    agent = world.start()
    world.app().deploy("v1")
    assert agent.cluster.caches.age < 60, "it grows from the last answer on, whatever the app does"
    own_sandbox.sandbox.faults.fail(503)
    own_sandbox.sandbox.faults.drop_watches()
    stale = "the API server last confirmed "
    eventually(
        lambda: any(
            each.startswith(stale) and "s ago what is known of the cluster: " in each
            for each in agent.readiness_problems()
        ),
        what="it is not ready, and says why",
    )
    assert agent.liveness_problems() == [], "another process would know no more"
    own_sandbox.sandbox.faults.clear()
    monkeypatch.setattr(agent_module, "STALE", 60.0)
    eventually(lambda: agent.readiness_problems() == [], what="it is ready again")


def _sizes(web: App) -> dict[str, int]:
    found = web.scenario.cluster.list(replica_sets(web.key.namespace))
    return {each["metadata"]["labels"][names.DIGEST]: each["spec"]["replicas"] for each in found}


def test_refusals_for_one_app_leave_the_others_alone_and_it_goes_on_once_it_may(
    world: Scenario, own_sandbox: SandboxCluster
) -> None:
    world.start()
    web, other = world.app("web").deploy("v1"), world.app("other").deploy("v1")

    def refuse_web(call: Call) -> None:
        if call.is_write and call.name.startswith("web-v2-"):
            raise forbidden("replicasets.apps", call.name, "told to")

    own_sandbox.sandbox.faults.before(refuse_web)
    web.push_image("v2")
    refused = web.wait_condition("Refused")
    assert "told to" in refused["message"]
    other.promote("v2")
    assert web.live_tag() == "v1"

    own_sandbox.sandbox.faults.clear()
    _retry_soon(web)
    web.wait_condition("Refused", "Absent")
    web.merge_promotion("v2")
    web.wait_live("v2")


@pytest.mark.parametrize("status", [503, 429])
def test_server_that_fails_now_and_then_delays_and_loses_nothing(
    web: App, own_sandbox: SandboxCluster, status: int
) -> None:
    with Sightings(own_sandbox, web.key.namespace) as seen:
        for verb, resource in (("patch", "replicasets"), ("patch", "services"), ("update", "*"), ("patch", "*")):
            own_sandbox.sandbox.faults.fail(status, times=2, verb=verb, resource=resource)
        web.push_image("v2")
        web.merge_promotion("v2")
        web.wait_live("v2")
        web.wait_told("promoted")
    seen.assert_traffic_was_safe("web")
    assert web.ledger_events().count("promoted") == 1


def test_watches_that_end_and_history_that_is_gone_are_no_trouble(web: App, own_sandbox: SandboxCluster) -> None:
    faults = own_sandbox.sandbox.faults
    promotion = web.promote("v2")
    faults.expire_history()
    faults.drop_watches()
    web.push_image("v3")
    faults.drop_watches()
    web.merge_promotion("v3")
    faults.drop_watches()
    web.wait_live("v3")
    web.wait_told("promoted", times=2)
    assert promotion


def test_slow_server_delays_one_call_not_the_other_apps(world: Scenario, own_sandbox: SandboxCluster) -> None:
    world.start()
    web, other = world.app("web").deploy("v1"), world.app("other").deploy("v1")
    own_sandbox.sandbox.faults.delay(2.0, verb="patch", resource="replicasets", times=1)
    web.push_image("v2")
    other.push_image("v2")
    other.merge_promotion("v2")
    other.wait_live("v2")
    web.merge_promotion("v2")
    web.wait_live("v2")


def test_a_secret_that_may_not_be_read_is_an_error_of_the_measurement_that_says_how_to_grant_it(
    web: App, own_sandbox: SandboxCluster
) -> None:
    own_sandbox.sandbox.faults.refuse("get", "secrets", web.key.namespace)
    metric = {"name": "ok", "consecutiveErrorLimit": 0, "provider": {"newRelic": {"query": "FROM Transaction"}}}
    head = {"apiVersion": "gitops-bg.dev/v1alpha1", "kind": "AnalysisTemplate", "metadata": {"name": "health"}}
    web.scenario.publish("Measure", {"analysis/health.yaml": yaml.safe_dump({**head, "spec": {"metrics": [metric]}})})
    web.strategy |= {"autoPromotionEnabled": True, "prePromotionAnalysis": {"templates": [{"templateName": "health"}]}}
    web.configure()
    web.push_image("v2")

    web.wait_told("aborted")

    assert "may not read Secret" in web.ledger()[-1]["Reason"]
    assert (
        f"bind the ClusterRole gitops-bg-secrets to it in namespace {web.key.namespace}" in web.ledger()[-1]["Reason"]
    )
    assert web.live_tag() == "v1"

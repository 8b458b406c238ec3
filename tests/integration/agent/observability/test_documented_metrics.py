"""Every series that docs/reference/metrics.md names gets a sample from a running agent, and the agent has no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.agent.agent import Agent
from gitops_bg.agent.forge_thread import ForgeConnection
from gitops_bg.agent.metrics import Metrics
from gitops_bg.agent.runtime.leadership import LeaseSettings
from tests.fixtures.repos.texts import policy
from tests.forge.fake import FakeForge
from tests.monitoring.queries import dashboard_queries, exported, rules, unknown
from tests.support.analysis import analysed, publish_templates
from tests.support.cluster.clusters import SandboxCluster
from tests.support.groups import Store
from tests.support.scenario import Scenario, scenario
from tests.support.waiting import eventually

DOCS = Path(__file__).parents[4] / "docs" / "reference" / "metrics.md"
_NAME = re.compile(r"`(gitops_bg_[a-z0-9_]+)(?:\{([a-z, _]+)\})?")


FORGE = "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\nforge: {type: gitea}\n"
STOP = '- windows: {deny: [{start: "2020-01-01", reason: INC-4711}]}'
ADA = "{name: ada, emails: [ada@example.com]}"
FREEZE = {
    "policies/freeze.yaml": policy("freeze", STOP, more="  override: {by: [ada]}\n"),
    "policies/people.yaml": f"apiVersion: gitops-bg.dev/v1alpha1\nkind: People\npeople: [{ADA}]\n",
}


@pytest.fixture(autouse=True)
def forge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever the settings name is one of plain values."""
    monkeypatch.setattr(
        "gitops_bg.agent.agent.connect_with", lambda *_: lambda _: ForgeConnection(FakeForge(), lambda: None)
    )


@pytest.fixture
def world(own_sandbox: SandboxCluster, tmp_path: Path) -> Iterator[Scenario]:
    with scenario(own_sandbox, tmp_path, lease=LeaseSettings(namespace="default", name="metrics")) as made:
        yield made


def test_every_documented_series_gets_a_sample(world: Scenario, own_sandbox: SandboxCluster) -> None:
    agent = world.start()
    publish_templates(world)
    store, web = Store(world), world.app()
    own_sandbox.sandbox.faults.fail(500, times=4, verb="patch", resource="releasegroups/status")
    world.publish("A group", {**store.group(), **store.version("v1", cart="/cart")})
    analysed(web, "prePromotionAnalysis")
    web.deploy("v1")
    world.publish("A forge, and a freeze that Ada may override", {"gitops-bg.yaml": FORGE, **FREEZE})
    web.push_image("v2")
    web.wait_offered("v2")
    world.remote.merge(web.promotion_branch, "Promote v2\n\nBg-Override: freeze\nBg-Reason: INC-4712 needs it")
    world.wake()
    web.wait_live("v2")  # a switch, an analysis, commits of every kind
    world.publish("The freeze is over", dict.fromkeys(FREEZE))
    world.remote.refuse("gitops-bg/promote/*")
    web.push_image("v3")  # a push that fails
    web.wait_condition("OfferWritable", "False")
    own_sandbox.sandbox.faults.fail(500, times=4, verb="patch", resource="bluegreendeployments/status")
    web.spec["suspend"] = {"by": "ada", "reason": "a holiday"}
    web.configure()
    web.wait_condition("Suspended")
    eventually(lambda: all_sampled(agent), what="every series has a sample")
    queries = [*dashboard_queries(), *(rule["expr"] for rule in rules())]
    assert unknown(queries, exported(agent.metrics.registry)) == [], "alerts and dashboard use what nobody exports"
    assert (
        len(
            unknown(
                ["gitops_bg_ready{no='x'}", "sum by (no) (gitops_bg_ready)", "no"], exported(agent.metrics.registry)
            )
        )
        == 3
    )


def test_every_series_is_documented() -> None:
    families = {family.name for family in Metrics().registry.collect() if family.name.startswith("gitops_bg_")}
    assert {bare(name) for name in families} == {bare(name) for name in documented()}


def test_suspension_is_shown_since_it_began_and_not_after_it(world: Scenario) -> None:
    agent = world.start()
    web = world.app().deploy("v1")
    web.spec["suspend"] = {"by": "ada", "reason": "a holiday"}
    web.configure()
    web.wait_condition("Suspended")
    since = f"gitops_bg_{'app_suspended_since_timestamp_seconds'}"
    labels = {"kind": "app", "namespace": web.key.namespace, "name": web.key.name}
    eventually(lambda: agent.metrics.registry.get_sample_value(since, labels), what="it is shown")
    began = agent.metrics.registry.get_sample_value(since, labels)
    world.advance(3600)
    again = world.restart()
    eventually(
        lambda: again.metrics.registry.get_sample_value(since, labels) == began, what="a restart changes nothing"
    )
    del web.spec["suspend"]
    web.configure()
    eventually(lambda: again.metrics.registry.get_sample_value(since, labels) is None, what="it is over")


def documented() -> set[str]:
    """The names in the table of metrics; `{a,b}` within a name stands for several, after it for labels."""
    [table] = re.findall(r"^\| Argo Rollouts \| Here \|\n(?:\|.*\n)+(?=\nA rollout)", DOCS.read_text(), flags=re.M)
    found: set[str] = set()
    for name, inner in _NAME.findall(table):
        parts = [each.strip() for each in inner.split(",")]
        found |= {f"{name}{part}" for part in parts} if name.endswith("_") else {name}
    return found


def sampled(agent: Agent) -> set[str]:
    """The documented names of all series that have a sample."""
    samples = {sample.name for family in agent.metrics.registry.collect() for sample in family.samples}
    return {name for name in documented() if {name, f"{name}_count"} & samples}


def all_sampled(agent: Agent) -> bool:
    """Whether there is none without; the names of those are in the error."""
    assert documented() - sampled(agent) == set()
    return True


def bare(name: str) -> str:
    """The name without what tells a counter."""
    return name.removesuffix("_total")

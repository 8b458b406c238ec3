"""A live app is adopted while people use it: no request fails, and none reaches a pod of ours before the hand-over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitops_bg.cli.demo.traffic import Traffic
from gitops_bg.core import names
from gitops_bg.core.checks.adoption import STAND_IN
from tests.integration.traffic.adopted import (
    DELAY,
    OLD,
    adopt,
    be_adopted,
    deployment_size,
    dying,
    hand_over,
    is_over,
    labels_of_pods,
    live,
    pods_of_ours,
)
from tests.integration.traffic.stage import Stage, stage
from tests.support import manifests
from tests.support.cluster.paths import services
from tests.support.waiting import eventually, stretched


def come_up_beside(on: Stage) -> None:
    """Our pods are available, and the Service is not handed over: Git is away, so main cannot name them."""
    ours = {names.DIGEST: on.web.digest("v1").removeprefix("v1:")[:10]}
    on.cluster.set_ready(on.world.namespace, ours, False)
    eventually(lambda: "v1" in on.web.versions() and on.web.versions()["v1"].replicas, what="our pods come up")
    on.world.remote.go_down()
    on.cluster.set_ready(on.world.namespace, ours, True)
    eventually(lambda: on.web.versions()["v1"].available == on.web.replicas, what="they are available")


@contextmanager
def others(on: Stage, **selector: str) -> Iterator[Traffic]:
    """People who use the same pods by another Service."""
    on.cluster.apply(manifests.service(on.world.namespace, "leak", **selector), manager="kubectl")
    eventually(lambda: on.cluster.ready_addresses(on.world.namespace, "leak"), what="the other Service serves")
    load = Traffic(on.cluster.sandbox.service_url(on.world.namespace, "leak"), (1, 25))
    load.start()
    try:
        yield load
    finally:
        load.stop()


def moved_at(on: Stage) -> float:
    """When a watcher heard that the Service was handed over."""
    return on.seen.taken_over_at("web")


def test_a_live_app_is_taken_over_without_a_lost_request(tmp_path: Path) -> None:
    """What becomes of the old pods otherwise: every kind of workload (`test_kinds`) has one of the three ways."""
    with stage(tmp_path) as on:
        live(on, tier="front")
        on.web.template = {"metadata": {"labels": {"app": "web", "tier": "front"}}}
        with others(on, tier="front") as elsewhere:
            on.load.start()
            on.world.start()
            adopt(on, "onSuccess")
            come_up_beside(on)
            mark = len(on.load)
            eventually(lambda: len(on.load) > mark + 200 and len(elsewhere) > 50, what="people go on asking")
            assert labels_of_pods(on) == {"web", STAND_IN}
            assert on.load.shares(0).keys() == {OLD}, "ours get nothing before the hand-over"
            assert elsewhere.shares(0).keys() == {OLD}, "nor by a Service that the app does not name"
            assert not elsewhere.failures()

        on.world.remote.come_back()
        on.world.wake()
        hand_over(on)
        assert on.web.wait_condition("Adopting")["reason"] == "OldPodsStay"
        assert deployment_size(on) == 2
        on.world.advance(DELAY + 1)
        on.web.wait(lambda: on.web.condition("Adopting")["reason"] == "Adopted", "the adoption is over")
        eventually(lambda: labels_of_pods(on) == {"web"}, what="the labels are back, in place")
        assert deployment_size(on) == 0

        lag = stretched(0.5)  # of the watch that saw it move, and of the endpoints behind it
        late = [each for each in on.load.since(0) if each.version == OLD and each.opened > moved_at(on) + lag]
        assert not late, "no connection of after the hand-over reaches the old pods"
        on.web.promote("v2")
        on.wait_used("v2")
        assert not [each.failure for each in on.load.failures()]
        assert len(on.load) > 200


def test_live_traffic_goes_back_to_the_deployment_without_a_lost_request(tmp_path: Path) -> None:
    """Our second version serves, and a third waits: it gets nothing, although the Deployment's labels are its own."""
    with stage(tmp_path) as on:
        live(on)
        on.load.start()
        be_adopted(on, "progressively")
        on.web.promote("v2")
        on.wait_used("v2")
        on.web.push_image("v3")
        on.web.wait_offered("v3")
        on.web.spec["release"] = {"deployment": "web"}
        on.web.configure()
        on.web.wait(lambda: on.web.condition("Released")["status"] == "True", "it is released", 60)

        service = on.cluster.get(f"{services(on.world.namespace)}/web")
        assert service["spec"]["selector"] == {"app": "web"}
        assert names.APP not in (service["metadata"].get("labels") or {})
        assert not service["metadata"].get("ownerReferences")
        assert deployment_size(on) == 2
        on.wait_used(OLD)
        eventually(lambda: labels_of_pods(on) == {"web"} and pods_of_ours(on) == 0, what="our pods have gone")
        on.web.wait_told("released")
        mark = len(on.load)
        eventually(lambda: len(on.load) > mark + 100, what="people go on asking")
        assert on.load.shares(0).keys() == {OLD, "v1", "v2"}
        assert on.load.lately(0.3).keys() == {OLD}
        assert not [each.failure for each in on.load.failures()]

        del on.web.spec["release"]
        on.web.configure()
        on.web.wait(lambda: on.web.live_tag() == "v2", "it is adopted anew", 60)
        on.wait_used("v2")
        assert "v3" not in on.load.shares(0)
        assert not [each.failure for each in on.load.failures()]


@pytest.mark.slow
def test_whatever_write_the_agent_dies_after_the_hand_over_loses_no_request(tmp_path: Path) -> None:
    """Each agent dies after its first write, and the last one finishes the adoption."""
    with dying(tmp_path, fewest=8) as (on, agents):
        adopt(on, "progressively")
        agents.until(lambda: is_over(on), "the adoption is over")
        agents.until(lambda: labels_of_pods(on) == {"web"}, "the labels are back, in place")
        agents.until(on.web.is_told, "the ledger has everything")
        on.world.restart()  # Whoever died last had told it: the next one, who lives on, tells nothing again.
        on.world.wait_idle()
        on.wait_used("v1")
        assert deployment_size(on) == 0
        assert on.web.ledger_events().count("deployed") == 1
        lag = stretched(0.5)
        early = [each for each in on.load.since(0) if each.version == "v1" and each.at < moved_at(on) - lag]
        assert not early, "ours answered before the hand-over"


@pytest.mark.slow
def test_whatever_write_the_agent_dies_after_the_way_back_loses_no_request(tmp_path: Path) -> None:
    """The app is adopted; each agent dies after its first write on the way back."""
    with dying(tmp_path, fewest=6, prepare=be_adopted) as (on, agents):
        on.web.spec["release"] = {"deployment": "web"}
        on.web.configure()
        agents.until(lambda: on.web.condition("Released")["status"] == "True", "it is released")
        agents.until(lambda: pods_of_ours(on) == 0, "our pods have gone")
        agents.until(on.web.is_told, "the ledger has everything")
        on.world.restart()  # Whoever died last had told it: the next one, who lives on, tells nothing again.
        on.world.wait_idle()
        on.wait_used(OLD)
        assert deployment_size(on) == 2
        assert on.web.ledger_events().count("released") == 1

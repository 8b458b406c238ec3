"""Flagger's test-hpa.sh and test/keda: what they assert, and what they only seemed to.

The script patches the maximum of the target's HPA, promotes, and reads back the HPA that it patched. Here the copy is
read. Its aim is the ReplicaSet that serves, through promotion and rollback.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.steps import sizes, wait_sizes
from tests.support.auxiliary_objects import (
    HPA,
    SCALED_OBJECT,
    aim,
    autoscale,
    hpa,
    keda,
    live,
    publish,
    scaled_object,
    wait_aim,
)
from tests.support.cluster.clusters import TestCluster
from tests.support.scenario import App, Scenario, scenario

COPY = "web-primary"


@pytest.fixture
def scaled(world: Scenario) -> App:
    """The app `web` with an HPA in its folder, live; the agent runs."""
    world.start()
    web = world.app()
    web.add("v1")
    publish(web, "hpa", hpa())
    web.wait_live("v1")
    web.wait_primary("v1")
    wait_aim(web, "v1")
    return web


def test_flagger_hpa_of_the_primary_has_the_patched_maximum(scaled: App) -> None:
    """99, then 50 in Git: the copy has 50, its metrics and its aim, and there is no HPA of the target's own."""
    made = live(scaled, HPA, COPY)
    assert made is not None
    assert (made["spec"]["minReplicas"], made["spec"]["maxReplicas"]) == (2, 99)
    publish(scaled, "hpa", hpa(maximum=50))
    scaled.wait(lambda: live(scaled, HPA, COPY)["spec"]["maxReplicas"] == 50, "the copy has maxReplicas 50")
    scaled.promote("v2")
    wait_aim(scaled, "v2")
    made = live(scaled, HPA, COPY)
    assert made["spec"]["maxReplicas"] == 50
    assert made["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 80
    assert made["metadata"]["ownerReferences"][0]["kind"] == "BlueGreenDeployment"
    assert live(scaled, HPA, "web") is None


def test_flagger_hpa_scales_what_serves_through_promotion_and_rollback(scaled: App) -> None:
    """It is aimed anew once traffic has moved, never before; sizes follow today's load."""
    autoscale(scaled, "v1", 4)
    scaled.push_image("v2")
    scaled.wait_offered("v2")
    wait_sizes(scaled, v1=4, v2=4)
    assert aim(scaled) == "v1"
    autoscale(scaled, "v1", 5)
    wait_sizes(scaled, v1=5, v2=5)
    merge = scaled.merge_offer()
    wait_aim(scaled, "v2")
    assert scaled.live_tag() == "v2"
    autoscale(scaled, "v2", 6)
    wait_sizes(scaled, v1=6, v2=6)
    scaled.revert(merge)
    wait_aim(scaled, "v1")
    assert scaled.live_tag() == "v1"
    scaled.scenario.wait_idle()
    assert sizes(scaled)["v1"] == 6


def test_flagger_hpa_bounds_of_the_primary_alone(scaled: App) -> None:
    """`primaryScalerReplicas`: the copy has them instead of those in Git."""
    bounds = {"minReplicas": 3, "maxReplicas": 7}
    scaled.spec["autoscalerRef"] = {"kind": HPA, "name": "web", "primaryScalerReplicas": bounds}
    scaled.configure()
    scaled.wait(lambda: live(scaled, HPA, COPY)["spec"]["maxReplicas"] == 7, "the copy has its own maximum")
    assert live(scaled, HPA, COPY)["spec"]["minReplicas"] == 3
    wait_sizes(scaled, v1=3)


@pytest.mark.control_plane
def test_flagger_hpa_by_the_controller_of_kubernetes_itself(control_plane_cluster: TestCluster, tmp_path: Path) -> None:
    """Nobody plays it here: it brings what serves within the bounds, before and after a promotion, and stays alone."""
    with scenario(control_plane_cluster, tmp_path) as world:
        world.start()
        web = world.app()
        web.add("v1")
        publish(web, "hpa", hpa(maximum=6))
        web.wait_live("v1")
        web.wait_primary("v1")
        wait_aim(web, "v1")
        autoscale(web, "v1", 8)
        web.push_image("v2")
        wait_sizes(web, v1=6, v2=6)
        web.merge_promotion("v2")
        wait_aim(web, "v2")
        publish(web, "hpa", hpa(maximum=4))
        wait_sizes(web, v1=6, v2=4)  # the old version waits until the new one has proven itself
        web.wait_phase("Healthy")


@pytest.fixture
def keda_installed(cluster: TestCluster) -> Iterator[None]:
    with keda(cluster):
        yield


@pytest.fixture
def driven(keda_installed: None, world: Scenario) -> App:
    """The app `web` with a ScaledObject in its folder, live; the agent runs."""
    world.start()
    web = world.app()
    web.add("v1")
    publish(web, "scaler", scaled_object('sum(rate(http{service="web-canary"}[1m]))'))
    web.wait_live("v1")
    web.wait_primary("v1")
    wait_aim(web, "v1", SCALED_OBJECT)
    return web


def test_flagger_keda_pause_and_resume(driven: App) -> None:
    """Flagger pauses the target's own ScaledObject; none is ever live here. A pause in Git reaches the copy."""
    pause = {"autoscaling.keda.sh/paused-replicas": "3"}
    publish(driven, "scaler", scaled_object(annotations=pause))
    annotations = lambda: live(driven, SCALED_OBJECT, COPY)["metadata"]["annotations"]  # noqa: E731
    driven.wait(lambda: pause.items() <= annotations().items(), "the copy is paused")
    driven.promote("v2")
    wait_aim(driven, "v2", SCALED_OBJECT)
    assert pause.items() <= annotations().items()
    publish(driven, "scaler", scaled_object())
    driven.wait(lambda: not pause.keys() & annotations().keys(), "the copy is resumed")
    assert live(driven, SCALED_OBJECT, "web") is None


def test_flagger_keda_query(driven: App) -> None:
    """The Service of Flagger's canary is the one that carries live traffic; `primaryScalerQueries` is as it is."""
    query = lambda: live(driven, SCALED_OBJECT, COPY)["spec"]["triggers"][0]["metadata"]["query"]  # noqa: E731
    assert query() == 'sum(rate(http{service="web"}[1m]))'
    queries = {"load": "sum(rate(live_requests_total[1m]))"}
    driven.spec["autoscalerRef"] = {"kind": SCALED_OBJECT, "name": "web", "primaryScalerQueries": queries}
    driven.configure()
    driven.wait(lambda: query() == queries["load"], "the copy has the query of its own")

"""W1 to W12: where Argo Rollouts' blue-green breaks by the trace of its code, and this does not."""

import pytest
import yaml

from gitops_bg.core import names
from gitops_bg.core.errors import Transient
from tests.conformance.counting import wait_counts
from tests.conformance.steps import abort, come_up, go_down, set_ready, sizes, wait_pods, wait_sizes
from tests.support.cluster.paths import services
from tests.support.scenario import App, Scenario
from tests.support.sightings import Sightings

WIPED = {"spec": {"selector": {"app": "web", names.APP: None, names.DIGEST: None}}}


@pytest.mark.parametrize("tag", ["bad", "v2"], ids=["unready", "waits for its promotion"])
def test_W01_wiped_selector_is_repaired_and_promotes_nothing(web: App, tag: str) -> None:
    """The selector of the active Service loses its digest in mid-update: it goes back to v1; nothing is decided."""
    world = web.scenario
    web.push_image(tag)
    wait_pods(web, tag)
    web.wait_told("candidate", times=2)
    rollout, told = web.record.rollout, web.ledger_events()

    world.cluster.patch(f"{services(world.namespace)}/web", WIPED)

    web.wait_live("v1")
    world.wait_idle()
    assert web.record.version(web.digest("v1")).retirement is None
    assert (web.record.routing.traffic, web.record.rollout) == (web.digest("v1"), rollout)
    assert web.ledger_events() == told
    wait_counts(web, 2, 4, 2, 2, 2)
    assert web.primary_digest() == web.digest("v1")


def test_W02_argo_gap_abort_unready_new_pods_after_the_cutover_go_back_at_once(web: App) -> None:
    """All new pods become unready after the cutover: an abort moves traffic back, waiting for none of them."""
    world = web.scenario
    web.promote("v2")
    with Sightings(world.cluster, world.namespace) as seen:
        go_down(web, "v2")
        abort(web, "all red")
        web.wait_live("v1")
        web.wait_told("rolled-back")
    assert [(move.available_at_origin, move.available_there) for move in seen.moves("web")] == [(0, 2)]
    web.wait_primary("v1")
    web.wait_phase("Held")
    assert web.record.held(web.digest("v2"))


def test_W06_promotion_while_pods_are_unready_for_a_moment_is_carried_out_when_they_are_back(web: App) -> None:
    """Merged while no new pod is ready: traffic stays, and moves by itself when they are ready; nobody asks again."""
    world = web.scenario
    web.push_image("v2")
    web.wait_offered("v2")
    go_down(web, "v2")
    web.merge_offer()
    web.wait_phase("Promoting")
    world.wait_idle()
    assert web.live_tag() == "v1"

    set_ready(web, "v2", True)

    web.wait_live("v2")
    web.wait_told("promoted")
    assert web.ledger_events().count("promoted") == 1


def test_W07_preview_replica_count_never_shrinks_the_warm_version(world: Scenario) -> None:
    """With `previewReplicaCount: 1` of 2 the old version keeps both pods; a revert is one switch to both of them.

    A superseded preview, conversely, is not grown to full size while it waits for its end.
    """
    world.start()
    web = world.app()
    web.strategy |= {"previewReplicaCount": 1}
    web.deploy("v1")
    with Sightings(world.cluster, world.namespace) as seen:
        promotion = web.promote("v2")
        web.push_image("v3")
        web.wait_offered("v3")
        web.push_image("v4")
        web.wait_offered("v4")
        world.wait_idle()
        assert sizes(web) == {"v1": 2, "v2": 2, "v3": 1, "v4": 1}
        web.revert(promotion)
        web.wait_live("v1")
        web.wait_told("rolled-back")
    assert [(move.available_at_origin, move.available_there) for move in seen.moves("web")] == [(2, 2), (2, 2)]
    seen.assert_traffic_was_safe("web")


def test_W08_progress_deadline_fires_while_another_version_is_in_its_scale_down_delay(world: Scenario) -> None:
    """v1 warm for an hour more, v3 does not come up: Degraded after 60 s; and quiet then, no pass without a reason."""
    world.start()
    web = world.app()
    web.strategy |= {"scaleDownDelaySeconds": 3600}
    web.spec["progressDeadlineSeconds"] = 60
    web.deploy("v1")
    web.promote("v2")
    web.push_image("bad")
    wait_pods(web, "bad")

    world.advance(61)

    web.wait_phase("Degraded")
    web.wait_told("failed")
    assert sizes(web) == {"v1": 2, "v2": 2, "bad": 2}
    world.settle()
    before = world.writes()
    world.advance(1)
    world.wait_idle()
    assert world.writes() == before


def test_W10_going_back_leaks_nothing_that_was_injected_into_the_template(world: Scenario) -> None:
    """v2 ran with an injected anti-affinity: neither primary.yaml nor its digest has it, back and forth again."""
    world.start()
    web = world.app()
    web.strategy |= {"antiAffinity": {"required": {}}}
    web.deploy("v1")
    promotion = web.promote("v2")
    live = world.live("replicasets", web.versions()["v2"].name)
    assert live is not None
    assert "podAntiAffinity" in live["spec"]["template"]["spec"]["affinity"]

    back = web.revert(promotion)
    web.wait_live("v1")
    web.revert(back)
    web.wait_live("v2")
    web.wait_told("promoted", times=2)

    primary = yaml.safe_load(world.remote.show("main", f"{web.folder}/primary.yaml") or "")
    assert primary["template"] == web.pod_template("v2")
    assert set(web.versions()) == {"v1", "v2"}
    assert web.record.last_version == 2


def test_W11_error_while_scaling_an_old_version_is_said_and_tried_again(web: App) -> None:
    """The API server fails the scale-down of v1 twice: not swallowed, and the third try succeeds."""
    world = web.scenario
    web.promote("v2")
    assert world.agent is not None
    client, failed = world.agent.cluster.client, []
    patch = client.json_patch

    def fail_twice(kind, namespace, name, operations):
        if name == web.versions()["v1"].name and len(failed) < 2:
            failed.append(name)
            raise Transient("the server is busy")
        return patch(kind, namespace, name, operations)

    client.json_patch = fail_twice
    world.advance(301)

    def is_scaled_down() -> bool:
        world.agent.wake_all([web.key])
        return sizes(web) == {"v1": 0, "v2": 2}

    web.wait(is_scaled_down, "v1 is at 0")
    assert len(failed) == 2


def test_W12_preview_service_has_endpoints_at_the_start_of_an_update_and_after_an_abort(web: App) -> None:
    """The preview follows only to available pods: the new ones when they are, v1 again after the abort."""
    world = web.scenario
    web.strategy |= {"abortScaleDownDelaySeconds": 1}
    web.configure()
    with Sightings(world.cluster, world.namespace) as seen:
        web.push_image("bad")
        wait_pods(web, "bad")
        world.wait_idle()
        assert web.preview_tag() == "v1"
        come_up(web, "bad")
        web.wait_preview("bad")
        abort(web)
        web.wait_phase("Held")
        world.advance(2)
        wait_sizes(web, v1=2, bad=0)
        web.wait_preview("v1")
    assert [move.available_there for move in seen.moves("web-preview")] == [2, 2]
    assert not seen.shrunk_while_selected("web-preview")
    web.wait(lambda: len(world.cluster.ready_addresses(world.namespace, "web-preview")) == 2, "it has endpoints")

"""Flagger, from init to deletion: its scripts, the tables of its unit tests, and what its scripts leave out."""

from tests.conformance.counting import wait_counts
from tests.conformance.steps import (
    come_up,
    go_down,
    resume,
    retry,
    rollouts,
    set_ready,
    sizes,
    suspend,
    wait_pods,
    wait_sizes,
)
from tests.support.command_line import Cli
from tests.support.manifests import service
from tests.support.scenario import App, Scenario
from tests.support.sightings import Sightings


def test_flagger_init_pods_first_then_the_service_then_git(world: Scenario) -> None:
    """Deploying without a Service until the pods are available; then live, Healthy, and `primary.yaml` in main."""
    world.start()
    web = world.app()
    web.add("bad-1")
    wait_pods(web, "bad-1")
    web.wait_phase("Deploying")
    world.wait_idle()
    assert world.live("services", "web") is None
    assert web.primary_digest() == ""

    come_up(web, "bad-1")

    web.wait_live("bad-1")
    web.wait_phase("Healthy")
    web.wait_primary("bad-1")
    web.wait_told("deployed")
    wait_counts(web, 2, 2, 2, 2, 2)


def test_flagger_adopted_service_keeps_its_pods_until_ours_are_available(world: Scenario) -> None:
    """A Service of others is a Conflict; handed over, it stays with their pods until ours are up."""
    before = service(world.namespace, "web", app="before")
    before["metadata"]["annotations"] = {"example.com/kept": "yes"}
    world.cluster.apply(before, manager="helm")
    world.start()
    web = world.app()
    web.add("bad-1")
    conflict = web.wait_condition("Conflict")
    command = conflict["message"].partition("to hand it over: kubectl ")[2].split()
    assert world.cluster.kubectl(*command).returncode == 0
    wait_pods(web, "bad-1")
    world.wait_idle()
    assert _service(world)["spec"]["selector"] == {"app": "before"}

    come_up(web, "bad-1")

    web.wait_live("bad-1")
    web.wait_condition("Conflict", "Absent")
    web.wait(lambda: len(world.cluster.ready_addresses(world.namespace, "web")) == 2, "two endpoints")
    assert _service(world)["metadata"]["annotations"]["example.com/kept"] == "yes"


def _service(world: Scenario) -> dict:
    found = world.live("services", "web")
    assert found is not None
    return found


def test_flagger_new_revision_mid_run_starts_the_run_anew(world: Scenario) -> None:
    """v3 pushed 50 s into v2's countdown of 60 s: at 61 s nothing moved; v3 is live after 60 s of its own."""
    world.start()
    web = world.app()
    web.strategy |= {"autoPromotionEnabled": True, "autoPromotionSeconds": 60}
    web.deploy("v1")
    web.push_image("v2")
    web.wait_condition("CandidateReady")
    world.advance(50)
    web.push_image("v3")
    web.wait_told("superseded")
    web.wait_preview("v3")
    world.advance(11)
    world.wait_idle()
    assert web.live_tag() == "v1"
    world.advance(50)
    web.wait_live("v3")
    web.wait_told("promoted")
    assert [event for event in web.ledger_events() if event in {"superseded", "promoted"}] == ["superseded", "promoted"]


def _fails(web: App, tag: str) -> App:
    web.push_image(tag)
    wait_pods(web, tag)
    web.wait_phase("Progressing")
    web.scenario.advance(61)
    web.wait_phase("Held")
    web.scenario.advance(31)
    wait_sizes(web, **{**dict.fromkeys(sizes(web), 0), "v1": 2})
    web.wait_told()
    return web


def _workload_writes(world: Scenario) -> list:
    return [write for write in world.writes() if "/replicasets" in write.path or "/services" in write.path]


def test_flagger_beat_f_revert_to_the_promoted_version_cancels_the_run_under_way(web: App) -> None:
    """Back to v1 while `bad` comes up, or v2 waits for its merge: cancelled, the branch gone, Healthy."""
    for tag in ("bad", "v2"):
        web.push_image(tag)
        wait_pods(web, tag)
        if tag == "v2":
            web.wait_offered("v2")
        web.push_image("v1", f"not {tag}")
        web.wait_phase("Healthy")
        web.wait(lambda: not web.offered(), "nothing is offered")
        assert rollouts(web)[0]["outcome"] == "Cancelled"
    web.wait_told("cancelled", times=2)
    assert web.live_tag() == "v1"
    web.scenario.advance(301)
    wait_sizes(web, v1=2, v2=0, bad=0)


def test_flagger_rollback_flagger_revert_to_primary_flagger_beat_f_flagger_fail_again_flagger_retry(
    world: Scenario,
) -> None:
    """Failed and aborted with the reason; the failed version at 0, v1 with its pods and traffic: (2,2,0,2,2).

    A second bad revision fails as the first did. The target back at v1: Healthy again, no new rollout, not one write
    to a ReplicaSet or Service. Its pods good by now, a retry needs no change of its template: promoted.
    """
    world.start()
    web = world.app()
    web.spec |= {"progressDeadlineSeconds": 60, "progressDeadlineAbort": True}
    web.deploy("v1")
    _fails(web, "bad")
    wait_counts(web, 2, 2, 0, 2, 2)
    assert web.live_tag() == "v1"
    assert web.primary_digest() == web.digest("v1")
    assert web.ledger_events()[-2:] == ["failed", "aborted"]
    assert "ProgressDeadlineExceeded" in web.condition("OnHold")["message"]
    assert rollouts(web)[0]["outcome"] == "Aborted"

    _fails(web, "bad-2")
    assert web.live_tag() == "v1"
    assert [one["outcome"] for one in rollouts(web)] == ["Aborted", "Aborted", "Promoted"]
    assert web.ledger_events().count("failed") == 2

    book = rollouts(web)
    world.wait_idle()
    before = _workload_writes(world)
    web.push_image("v1", "back to v1")
    web.wait_phase("Healthy")
    world.wait_idle()
    assert rollouts(web) == book
    assert _workload_writes(world) == before
    wait_counts(web, 2, 2, 2, 2, 2)

    web.push_image("bad-2")
    web.wait_phase("Held")
    retry(web, "bad-2")
    come_up(web, "bad-2")
    web.merge_promotion("bad-2")
    web.wait_live("bad-2")
    web.wait_told("promoted")
    assert [one["outcome"] for one in rollouts(web)] == ["Promoted", "Aborted", "Aborted", "Promoted"]
    assert rollouts(web)[0]["version"] == rollouts(web)[1]["version"]


def test_flagger_primary_not_ready_does_not_stall_the_promotion(web: App) -> None:
    """Every live pod is unready: the candidate is offered all the same, and its merge moves traffic to ready pods."""
    web.push_image("v2")
    go_down(web, "v1")
    web.wait_offered("v2")
    with Sightings(web.scenario.cluster, web.scenario.namespace) as seen:
        web.merge_offer()
        web.wait_live("v2")
    assert [(move.available_at_origin, move.available_there) for move in seen.moves("web")] == [(0, 2)]
    web.wait_phase("Healthy")


def test_flagger_failed_after_shift_argo_gap_retry_after_post_failure_goes_back_and_is_judged_anew(web: App) -> None:
    """New pods unready for the deadline after the switch: v1 live again, main names v1, v2 on hold, RolledBack.

    A retry with good pods is promoted and stays so.
    """
    world = web.scenario
    web.spec["progressDeadlineSeconds"] = 60
    web.configure()
    web.promote("v2")
    go_down(web, "v2")
    web.wait_phase("Degraded")
    world.advance(61)
    web.wait_live("v1")
    web.wait_primary("v1")
    web.wait_phase("Held")
    web.wait_told("rolled-back")
    assert rollouts(web)[0]["outcome"] == "RolledBack"
    assert "of 2 pods available" in web.condition("OnHold")["message"]

    set_ready(web, "v2", True)
    retry(web, "v2")
    web.merge_promotion("v2")
    web.wait_live("v2")
    web.wait_told("promoted", times=2)
    world.advance(61)
    world.wait_idle()
    assert web.live_tag() == "v2"
    web.wait_phase("Healthy")
    assert [one.get("outcome") for one in rollouts(web)] == ["Promoted", "RolledBack", "Promoted"]
    assert web.ledger_events().count("rolled-back") == 1


def test_flagger_phases_of_a_run_in_their_order(web: App) -> None:
    """Healthy, Progressing, AwaitingPromotion, Promoting, Healthy; and after a revert of it Held."""
    web.wait_phase("Healthy")
    web.push_image("bad")
    web.wait_phase("Progressing")
    come_up(web, "bad")
    web.wait_phase("AwaitingPromotion")
    web.wait_offered("bad")
    go_down(web, "bad")
    promotion = web.merge_offer()
    web.wait_phase("Promoting")
    set_ready(web, "bad", True)
    web.wait_phase("Healthy")
    assert web.live_tag() == "bad"
    web.revert(promotion)
    web.wait_phase("Held")
    assert web.live_tag() == "v1"


def test_flagger_target_at_0_waits_for_pods_and_comes_and_goes_without_a_rollout(world: Scenario) -> None:
    """`replicas: 0`: ScaledToZero, for 0 of 0 pods open no gate; live with pods. 0 and 2 again are no rollout."""
    world.start()
    web = world.app()
    web.replicas = 0
    web.add("v1")
    web.wait_phase("ScaledToZero")
    world.wait_idle()
    assert web.selected() == ""
    web.replicas = 2
    web.push_image("v1", "two of them")
    web.wait_phase("Healthy")
    web.wait_told("deployed")
    world.settle()
    book = rollouts(web)
    web.replicas = 0
    web.push_image("v1", "none")
    web.wait_phase("ScaledToZero")
    wait_counts(web, 0, 0, 0, 0, 0)
    web.replicas = 2
    web.push_image("v1", "two again")
    web.wait_phase("Healthy")
    wait_counts(web, 2, 2, 2, 2, 2)
    assert rollouts(web) == book
    assert world.remote.show("main", f"{web.folder}/target.yaml") == web.target_yaml("v1")


def test_flagger_readiness_counts_every_pod(web: App) -> None:
    """One of two new pods ready is not enough to be offered or previewed; both are."""
    world = web.scenario
    web.push_image("bad")
    wait_pods(web, "bad")
    pod = world.cluster.list(f"/api/v1/namespaces/{world.namespace}/pods", labelSelector=_label(web, "bad"))[0]
    path = f"/api/v1/namespaces/{world.namespace}/pods/{pod['metadata']['name']}"
    world.cluster.patch(path, {"metadata": {"labels": {"half": "first"}}})
    world.cluster.set_ready(world.namespace, {"half": "first"}, True)
    web.wait(lambda: web.versions()["bad"].available == 1, "one of two is available")
    world.wait_idle()
    assert web.phase() == "Progressing"
    assert (web.offered(), web.preview_tag()) == (False, "v1")

    come_up(web, "bad")
    web.wait_offered("bad")


def _label(web: App, tag: str) -> str:
    return f"gitops-bg.dev/digest={web.versions()[tag].digest}"


def test_flagger_service_update_keeps_what_others_wrote(web: App) -> None:
    """The annotation and label of a cloud provider stay through a promotion and a change of the ports in Git."""
    world = web.scenario
    theirs = {"annotations": {"example.com/load-balancer": "lb-1"}, "labels": {"example.com/zone": "a"}}
    world.cluster.patch(f"/api/v1/namespaces/{world.namespace}/services/web", {"metadata": theirs})
    before = _service(world)["spec"]["clusterIP"]
    web.container = {"ports": [{"name": "http", "containerPort": 9090}]}
    web.promote("v2")
    web.wait(lambda: _service(world)["spec"]["ports"][0]["targetPort"] in ("http", 9090), "the port follows")
    found = _service(world)
    assert found["metadata"]["annotations"]["example.com/load-balancer"] == "lb-1"
    assert found["metadata"]["labels"]["example.com/zone"] == "a"
    assert found["spec"]["clusterIP"] == before


def test_flagger_deletion_flagger_beat_k_keeps_serving_and_takes_up_again(web: App) -> None:
    """The folder leaves main: the same pods serve on, told as orphaned; back again: adopted, no rollout."""
    world, before = web.scenario, web.versions()["v1"]
    files = {path: world.remote.show("main", path) for path in _paths(web)}
    world.publish("Remove web", dict.fromkeys(files))
    web.wait_told("orphaned")
    assert web.live_tag() == "v1"
    assert _endpoints(web) == 2

    world.publish("Add web again", files)
    web.wait_told("adopted")
    web.wait_phase("Healthy")
    assert web.versions()["v1"] == before
    assert len(rollouts(web)) == 1


def _paths(web: App) -> list[str]:
    return [f"{web.folder}/{name}.yaml" for name in ("app", "target", "primary")]


def _endpoints(web: App) -> int:
    """The pods that the active Service sends traffic to."""
    return len(web.scenario.cluster.ready_addresses(web.key.namespace, web.name))


def test_flagger_suspend_stops_everything_and_resumes_where_it_was(web: App) -> None:
    """Suspended with v2 offered: a merge moves nothing, v3 is not begun; resumed, v2 goes live and v3 is offered."""
    world = web.scenario
    web.push_image("v2")
    web.wait_offered("v2")
    suspend(web)
    web.merge_offer()
    web.push_image("v3")
    world.wait_idle()
    assert web.phase() == "Suspended"
    assert web.live_tag() == "v1"
    assert set(web.versions()) == {"v1", "v2"}

    resume(web)
    web.wait_live("v2")
    web.wait_offered("v3")


def test_flagger_skip_analysis_bad_image_that_is_promoted_by_force_gets_no_traffic(web: App, cli: Cli) -> None:
    """`promote --force` of a version that is not up: traffic waits for its pods; Degraded at the deadline."""
    world = web.scenario
    web.spec["progressDeadlineSeconds"] = 60
    web.configure()
    web.push_image("bad")
    wait_pods(web, "bad")
    web.wait_phase("Progressing")
    cli("promote", str(web.key), "--force", "-m", "I know better")
    web.wait_phase("Promoting")
    world.advance(61)
    web.wait_phase("Degraded")
    assert web.live_tag() == "v1"
    wait_counts(web, 2, 4, 2, 2, 2)

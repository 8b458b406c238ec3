"""Argo Rollouts, functional_test.go: an update from end to end, aborts, `kubectl wait`, workloads by reference."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from gitops_bg.core import names
from tests.conformance.counting import wait_counts
from tests.conformance.steps import abort, sizes, wait_sizes
from tests.support.manifests import service
from tests.support.scenario import App, Scenario
from tests.support.sightings import Sightings

OUR_EVENTS = [
    "Candidate",  # there RolloutUpdated, then RolloutNotCompleted, NewReplicaSetCreated and ScalingReplicaSet
    "PreviewSwitched",  # there SwitchService, and before any pod exists
    "Promoted",  # there SwitchService
    "RolloutCompleted",
    "ScalingReplicaSet",  # the old version to 0
]


def test_argo_12_update_with_the_exact_sequence_of_events(world: Scenario) -> None:
    """(3,3,3,3,3); then (3,6,3,3,3) with the new version live; the Events in exactly their order."""
    world.start()
    web = world.app()
    web.replicas = 3
    web.strategy = {"autoPromotionEnabled": True, "scaleDownDelaySeconds": 30}
    web.deploy("v1")
    wait_counts(web, 3, 3, 3, 3, 3)
    before = len(_reasons(world))

    with Sightings(world.cluster, world.namespace) as seen:
        web.push_image("v2")
        web.wait_live("v2")
        web.wait_phase("Healthy")
        wait_counts(web, 3, 6, 3, 3, 3)
        web.wait_told("promoted")
        world.advance(31)
        wait_sizes(web, v1=0, v2=3)
    web.wait(lambda: _is(_reasons(world)[before:], OUR_EVENTS), "the Events are in their order")
    assert [(move.available_at_origin, move.available_there) for move in seen.moves("web")] == [(3, 3)]


def _is(found: list[str], expected: list[str]) -> bool:
    assert found == expected
    return True


def _reasons(world: Scenario) -> list[str]:
    """The reasons of the Events about the app, oldest first."""
    about_app = [event for event in world.events() if event["involvedObject"]["kind"] == names.KIND]
    about_app.sort(key=lambda event: int(event["metadata"]["resourceVersion"]))
    return [event["reason"] for event in about_app]


def test_argo_16_scale_down_on_abort(world: Scenario) -> None:
    """Paused with 1 new pod and 2 old ones; aborted, the new one goes after the delay of aborts: (2,2,0,2,2)."""
    world.start()
    web = world.app()
    web.strategy |= {"previewReplicaCount": 1, "abortScaleDownDelaySeconds": 1}
    web.deploy("v1")
    web.push_image("v2")
    web.wait_phase("AwaitingPromotion")
    assert sizes(web) == {"v1": 2, "v2": 1}

    abort(web)
    web.wait_phase("Held")
    assert web.condition("OnHold")["status"] == "True"
    world.advance(2)
    wait_counts(web, 2, 2, 0, 2, 2)
    assert web.live_tag() == "v1"
    web.wait_preview("v1")


def test_argo_17_18_kubectl_wait_for_paused_and_for_completed(web: App) -> None:
    """`kubectl wait` sees that an app waits for its promotion (CandidateReady, not Healthy): Healthy and Ready are
    False with v1 live until the promotion is merged, then True with v2 live, and CandidateReady is gone.
    """
    _kubectl_wait(web, "Healthy=true")
    _kubectl_wait(web, "Ready=true")
    web.push_image("v2")
    _kubectl_wait(web, "CandidateReady=true")
    _kubectl_wait(web, "Ready=false")
    _kubectl_wait(web, "Healthy=false")
    assert web.live_tag() == "v1"
    web.merge_promotion("v2")
    _kubectl_wait(web, "Ready=true")
    _kubectl_wait(web, "Healthy=true")
    assert (web.live_tag(), web.condition("CandidateReady")["status"]) == ("v2", "Absent")


def test_kubectl_waits_for_what_comes_instead_of_a_condition_that_goes(web: App) -> None:
    """The recipes of docs/reference/status.md, with their commands."""
    page = (Path(__file__).parents[3] / "docs" / "reference" / "status.md").read_text(encoding="utf-8")
    recipes = [re.sub(r"\bbgd/web\b", f"bgd/{web.name}", each) for each in re.findall(r"`kubectl (wait [^`]+)`", page)]
    at_rest = [each for each in recipes if "CandidateReady" not in each]
    assert len(at_rest) == 3 == len(recipes) - 1
    for each in at_rest:
        _kubectl(web, *shlex.split(each), "--timeout=20s")
    web.push_image("v2")
    (candidate,) = set(recipes) - set(at_rest)
    _kubectl(web, *shlex.split(candidate), "--timeout=20s")
    with pytest.raises(AssertionError, match="timed out"):
        _kubectl(web, "wait", f"bgd/{web.name}", "--for=condition=Suspended=false", "--timeout=1s")


def _kubectl_wait(web: App, condition: str) -> None:
    _kubectl(web, "wait", f"bgd/{web.name}", f"--for=condition={condition}", "--timeout=20s")


def _kubectl(web: App, *command: str) -> None:
    done = web.scenario.cluster.kubectl(*command, "-n", web.key.namespace)
    assert done.returncode == 0, done.stderr


def test_argo_19_template_beside_the_reference_is_an_error_that_says_so(web: App) -> None:
    """A pod template in app.yaml beside `spec.target`: InvalidSpec with file, line and field; v1 keeps serving."""
    web.spec["template"] = web.pod_template("v2")
    web.configure()

    invalid = web.wait_condition("InvalidSpec")

    assert f"{web.folder}/app.yaml:" in invalid["message"]
    assert "spec.template" in invalid["message"]
    assert web.phase() == "Invalid"
    wait_counts(web, 2, 2, 2, 2, 2)
    assert web.live_tag() == "v1"


def test_argo_20_workload_by_reference_that_is_missing_appears_dangles_and_comes_back(world: Scenario) -> None:
    """Missing: InvalidSpec, the Service untouched. There: Healthy. Bad image: Degraded, until it is set back. Dangling:
    InvalidSpec, still serving.

    Any kind with a pod template will do (a ReplicaSet here), and the template it holds is not copied into the object.
    """
    world.start()
    web = world.app()
    web.spec |= {"target": "workload.yaml", "progressDeadlineSeconds": 60}
    world.cluster.apply(service(world.namespace, "web", app="somebody-else"), manager="helm")
    world.publish("app.yaml alone", {f"{web.folder}/app.yaml": web.app_yaml()})
    missing = web.wait_condition("InvalidSpec")
    assert "workload.yaml" in missing["message"]
    untouched = world.live("services", "web")
    assert untouched is not None
    assert untouched["spec"]["selector"] == {"app": "somebody-else"}

    world.cluster.delete(f"/api/v1/namespaces/{world.namespace}/services/web")
    _push_workload(web, "v1")
    web.wait_live("v1")
    web.wait_phase("Healthy")
    assert web.status["observedGeneration"] == web.object()["metadata"]["generation"]

    _push_workload(web, "bad")
    web.wait_phase("Progressing")
    world.advance(61)
    web.wait_phase("Degraded")
    _push_workload(web, "v1")
    web.wait_phase("Healthy")

    world.publish("dangle", {f"{web.folder}/workload.yaml": None})
    web.wait_condition("InvalidSpec")
    assert web.live_tag() == "v1"
    _push_workload(web, "v2")
    web.wait_condition("InvalidSpec", "Absent")
    web.merge_promotion("v2")
    web.wait_live("v2")
    assert "template" not in web.object()["spec"]


def _push_workload(web: App, tag: str) -> None:
    workload = {**yaml.safe_load(web.target_yaml(tag)), "kind": "ReplicaSet"}
    web.scenario.publish(f"workload {tag}", {f"{web.folder}/workload.yaml": yaml.safe_dump(workload)})


def test_argo_21_22_24_live_deployment_of_the_targets_name_is_never_touched(world: Scenario) -> None:
    """A Deployment of the target's name runs in the cluster: it keeps its 2 pods and all its fields, come what may.

    Through first deployment, promotion and revert. Who moves in scales it down when they like; traffic goes to our
    pods alone all the while.
    """
    web = world.app()
    path = f"/apis/apps/v1/namespaces/{world.namespace}/deployments/web"
    before = world.cluster.apply(yaml.safe_load(web.target_yaml("v0")), manager="them")
    world.start()
    web.deploy("v1")
    promotion = web.promote("v2")
    web.revert(promotion)
    web.wait_live("v1")
    world.wait_idle()

    after = world.cluster.get(path)
    assert after["spec"] == before["spec"]
    assert after["metadata"]["generation"] == before["metadata"]["generation"] == 1
    assert after["spec"]["replicas"] == 2
    assert "ownerReferences" not in after["metadata"]
    web.wait(lambda: len(world.cluster.ready_addresses(world.namespace, "web")) == 2, "only our pods are behind it")


def test_argo_rollback_window_limits_what_returns_without_gates(world: Scenario) -> None:
    """Window of 1: a reverted target brings the version before back at once; one further back is an offer to merge."""
    world.start()
    web = world.app()
    web.spec["rollbackWindow"] = {"revisions": 1}
    web.deploy("v1")
    web.promote("v2")
    third = _promoted_by(web, "v3")

    web.push_image("v1", f"back to v1\n\nThis reverts commit {third}.")
    web.wait_offered("v1")
    assert web.live_tag() == "v3"
    assert "rolled-back" not in web.ledger_events()

    web.push_image("v3")
    web.wait(lambda: not web.offered(), "the offer of v1 is withdrawn")
    web.push_image("v2", f"back to v2\n\nThis reverts commit {third}.")
    web.wait_live("v2")
    web.wait_primary("v2")
    web.wait_told("rolled-back")


def _promoted_by(web: App, tag: str) -> str:
    """The commit that brought a tag into the target; the tag is live then."""
    commit = web.push_image(tag)
    web.merge_promotion(tag)
    web.wait_live(tag)
    return commit

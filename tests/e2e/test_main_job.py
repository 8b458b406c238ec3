"""The main job as a user lives it: git on one side, kubectl on the other (issue 2)."""

import re

import pytest

from tests.support.scenario import App, Scenario
from tests.support.sightings import Sightings
from tests.support.waiting import eventually

pytestmark = pytest.mark.control_plane


def kubectl(web: App, *arguments: str) -> str:
    """What kubectl prints; it has to succeed."""
    done = web.scenario.cluster.kubectl(*arguments, "-n", web.key.namespace)
    assert done.returncode == 0, done.stderr
    return done.stdout


def columns(web: App) -> dict[str, str]:
    """The row of `kubectl get bgd web`, by the headings."""
    headings, row = kubectl(web, "get", "bgd", "web", "-o", "wide").splitlines()
    starts = [each.start() for each in re.finditer(r"\S+", headings)]
    ends = [*starts[1:], None]
    return {headings[a:b].strip(): row[a:b].strip() for a, b in zip(starts, ends, strict=True)}


def test_push_merge_and_revert_with_the_least_rights(web: App) -> None:
    world = web.scenario
    with Sightings(world.cluster, world.namespace) as seen:
        kubectl(web, "wait", "--for=condition=Healthy", "bgd/web", "--timeout=20s")
        assert columns(web) | {"AGE": "", "COMMIT": ""} == {
            "NAME": "web",
            "ACTIVE": "v1 (v1)",
            "COLOR": "blue",
            "CANDIDATE": "",
            "PHASE": "Healthy",
            "READY": "True",
            "DESIRED": "2",
            "AVAILABLE": "2",
            "COMMIT": "",
            "IMAGE": "registry.example/web:v1",
            "AGE": "",
        }

        web.push_image("v2")
        kubectl(web, "wait", "--for=condition=CandidateReady", "bgd/web", "--timeout=20s")
        web.wait_phase("AwaitingPromotion")
        assert columns(web)["CANDIDATE"] == "v2 (v2)"
        assert columns(web)["ACTIVE"] == "v1 (v1)"

        promotion = web.merge_promotion("v2")
        web.wait_live("v2")
        kubectl(web, "wait", "--for=condition=Healthy", "bgd/web", "--timeout=20s")
        assert (columns(web)["ACTIVE"], columns(web)["COLOR"]) == ("v2 (v2)", "green")

        web.revert(promotion)
        web.wait_live("v1")
        kubectl(web, "wait", "--for=condition=OnHold", "bgd/web", "--timeout=20s")
        assert (columns(web)["ACTIVE"], columns(web)["PHASE"]) == ("v1 (v1)", "Held")
        web.wait_told("rolled-back")

    seen.assert_traffic_was_safe("web")
    _assert_described_and_explained(web)
    assert web.ledger_events() == ["candidate", "deployed", "candidate", "promoted", "held", "rolled-back"]
    assert not [write for write in world.writes() if write.status in {401, 403}]


def _assert_described_and_explained(web: App) -> None:
    def described() -> str:
        text = kubectl(web, "describe", "bgd", "web")
        events = text.partition("Events:")[2]
        wanted = ("Candidate", "PreviewSwitched", "Promoted", "RolledBack")
        return events if all(reason in events for reason in wanted) else ""

    events = eventually(described, what="kubectl describe shows the Events")
    assert "Warning" in events, "a rollback is one"
    assert "gitops-bg" in events
    # An API server serves a new kind a moment before it publishes its schema.
    web.wait(
        lambda: "activeService" in kubectl(web, "explain", "bgd.spec.strategy.blueGreen"), "its schema is published"
    )
    assert "bluegreendeployment.gitops-bg.dev/web" in kubectl(web, "get", "bgd", "-o", "name")


def test_kubectl_cannot_move_traffic_or_break_an_app_for_long(web: App) -> None:
    """Whatever somebody does to live objects is repaired, with the rights the agent has (I7)."""
    web.push_image("v2")
    web.wait_offered("v2")
    digest = web.versions()["v2"].digest
    name = web.versions()["v1"].name

    kubectl(web, "patch", "service", "web", "-p", f'{{"spec":{{"selector":{{"gitops-bg.dev/digest":"{digest}"}}}}}}')
    web.wait_live("v1")
    kubectl(web, "delete", "service", "web-preview")
    web.wait_preview("v2")
    kubectl(web, "delete", "replicaset", name)
    web.wait(lambda: "v1" in web.versions() and web.versions()["v1"].available == 2, "v1 is back")
    kubectl(web, "scale", "replicaset", name, "--replicas=0")
    web.wait(lambda: web.versions()["v1"].available == 2, "v1 has its pods back")
    assert web.ledger_events() == ["candidate", "deployed", "candidate"]


def test_agent_restarted_in_the_middle_of_everything_goes_on(web: App) -> None:
    world: Scenario = web.scenario
    web.push_image("v2")
    world.restart()
    web.wait_offered("v2")
    world.stop()
    promotion = web.merge_offer()
    world.start()
    web.wait_live("v2")
    world.stop()
    web.revert(promotion)
    world.start()
    web.wait_live("v1")
    web.wait_told("rolled-back")
    assert [event for event in web.ledger_events() if event in {"promoted", "rolled-back"}] == [
        "promoted",
        "rolled-back",
    ]


def wait_for(web: App, *conditions: str) -> None:
    """`kubectl wait` for each of these conditions; each has to come."""
    for condition in conditions:
        kubectl(web, "wait", f"--for=condition={condition}", "bgd/web", "--timeout=20s")


def test_kubectl_wait_follows_a_rollout_by_the_conditions_of_argo_rollouts(web: App) -> None:
    wait_for(web, "Completed", "Progressing", "Ready")
    assert {web.condition(each)["status"] for each in ("Paused", "ReplicaFailure", "InvalidSpec")} == {"Absent"}

    pushed = web.push_image("v2")
    wait_for(web, "Paused", "Progressing=Unknown", "Completed=False")
    [wait] = [each for each in web.status["waits"] if each["gate"] == "approval"]
    assert (wait["version"], web.status["candidate"]["commit"]) == (2, pushed)

    merged = web.merge_promotion("v2")
    wait_for(web, "Completed", "Progressing", "Healthy", "Available")
    assert web.condition("Paused")["status"] == "Absent"
    web.wait(lambda: web.status["primary"]["commit"] == merged, "the status names the commit of the promotion")
    assert (web.status["target"]["commit"], web.status["observedGeneration"]) == (pushed, 1)

    web.revert(merged)
    wait_for(web, "Progressing=False", "OnHold", "Completed=False")


def test_pods_that_kubernetes_forbids_are_a_replica_failure_in_its_own_words(web: App) -> None:
    cluster, limits = web.scenario.cluster, f"/api/v1/namespaces/{web.key.namespace}/limitranges"
    least = {"limits": [{"type": "Pod", "min": {"memory": "1Gi"}}]}
    cluster.create(limits, {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "least"}, "spec": least})

    web.push_image("v2")
    wait_for(web, "ReplicaFailure")
    condition = web.condition("ReplicaFailure")
    assert condition["reason"] == "FailedCreate"
    assert "minimum memory usage per Pod is 1Gi" in condition["message"]
    assert web.status["availableReplicas"] == web.status["desiredReplicas"] == 2

    cluster.delete(f"{limits}/least")
    web.wait_condition("ReplicaFailure", "Absent")
    web.wait_offered("v2")

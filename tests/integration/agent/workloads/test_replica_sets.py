"""Fields that shape ReplicaSets: delays and replicas follow live edits, without any gate (argo-rollouts.md §1.1)."""

from tests.support.scenario import App


def sizes(web: App) -> dict[str, int]:
    return {tag: version.replicas for tag, version in web.versions().items()}


def test_shorter_delay_holds_for_a_version_that_is_warm_already(web: App) -> None:
    web.promote("v2")
    assert sizes(web) == {"v1": 2, "v2": 2}

    web.strategy["scaleDownDelaySeconds"] = 0
    web.configure()

    web.wait(lambda: sizes(web) == {"v1": 0, "v2": 2}, "the old version is at 0")
    assert web.live_tag() == "v2"


def test_replicas_reach_live_traffic_while_a_candidate_waits(web: App) -> None:
    web.promote("v2")
    web.push_image("v3")
    web.wait_offered("v3")

    web.replicas = 4
    web.push_image("v3")
    web.wait(lambda: sizes(web) == {"v1": 4, "v2": 4, "v3": 4}, "every version has the new size")
    assert web.live_tag() == "v2"

    web.replicas = 1
    web.push_image("v3")
    web.wait(lambda: sizes(web) == {"v1": 1, "v2": 1, "v3": 1}, "every version has the new size")


def test_new_pods_keep_off_the_live_ones_and_the_version_stays_the_same(web: App) -> None:
    web.strategy["antiAffinity"] = {"preferred": {"weight": 100}}
    web.configure()

    web.promote("v2")

    rules = web.scenario.live("replicasets", web.versions()["v2"].name)["spec"]["template"]["spec"]["affinity"]
    (rule,) = rules["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    live = rule["podAffinityTerm"]["labelSelector"]["matchLabels"]["gitops-bg.dev/digest"]
    assert live == web.versions()["v1"].digest
    assert web.primary_digest() == web.digest("v2")
    assert "affinity" not in web.record.versions[1].snapshot.text


def test_pod_template_of_another_workload_is_deployed_like_that_of_a_deployment(web: App) -> None:
    text = web.target_yaml("v2")
    assert text.count("kind: Deployment") == 1
    rollout = text.replace("kind: Deployment", "kind: Rollout").replace("apps/v1", "argoproj.io/v1alpha1")

    web.scenario.publish("A Rollout of Argo", {f"{web.folder}/target.yaml": rollout})
    web.merge_promotion("v2")

    web.wait_live("v2")
    assert web.versions()["v2"].replicas == 2

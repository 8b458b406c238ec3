"""L5, L9, L10, L17, L18, L20: what is rolled out, and when (bgd-controller.md §3)."""

import yaml

from tests.conformance.steps import rollouts
from tests.support.scenario import App, Scenario
from tests.support.sightings import Sightings


def test_L5_image_that_never_gets_ready_is_never_switched_to_and_ends_degraded(web: App) -> None:
    world = web.scenario
    web.strategy |= {"autoPromotionEnabled": True}
    web.spec["progressDeadlineSeconds"] = 60
    web.configure()
    with Sightings(world.cluster, world.namespace) as seen:
        for times, tag in enumerate(("bad", "crash"), start=1):
            web.push_image(tag)
            web.wait(lambda tag=tag: tag in web.versions() and web.versions()[tag].replicas == 2, "it is there")
            web.wait_phase("Progressing")
            world.advance(61)
            web.wait_phase("Degraded")
            web.wait_told("failed", times)
            assert "ProgressDeadlineExceeded" in web.condition("Healthy")["message"]
    assert not seen.moves("web")
    assert web.versions()["v1"].available == 2
    assert web.primary_digest() == web.digest("v1")

    web.push_image("v2")
    web.wait_live("v2")


def test_L9_many_containers_probes_volumes_and_field_refs_do_not_flap(world: Scenario) -> None:
    world.start()
    web = world.app()
    web.container = {
        "command": ["web"],
        "env": [
            {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "LIMIT", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}},
            {"name": "EMPTY", "value": ""},
        ],
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": "http"}},
        "livenessProbe": {"tcpSocket": {"port": 8080}},
        "resources": {"requests": {"cpu": 0.1, "memory": "64Mi"}, "limits": {"memory": "0.5Gi"}},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/web"}],
    }
    sidecar = {"name": "sidecar", "image": "registry.example/sidecar:1", "ports": [{"containerPort": 9090}]}
    pod = web.pod_template("v1")["spec"]
    volumes = [
        {"name": "config", "configMap": {"name": "web", "optional": True}},
        {"name": "scratch", "emptyDir": {}},
        {"name": "who", "downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
    ]
    initial = [{"name": "init", "image": "registry.example/init:1"}]
    spec = {"containers": [*pod["containers"], sidecar], "initContainers": initial, "volumes": volumes}
    web.template = {"spec": {**spec, "securityContext": {"runAsUser": 65532}}}
    web.deploy("v1")
    world.settle()
    before = world.writes()

    for _ in range(3):
        world.restart()
        world.wait_idle()

    assert world.writes() == before
    assert list(web.versions()) == ["v1"]
    assert web.ledger_events() == ["candidate", "deployed"]


def test_L10_agent_writes_neither_the_target_nor_defaults_of_its_own(web: App) -> None:
    world = web.scenario
    pushed = web.push_image("v2")
    web.merge_promotion("v2")
    web.wait_live("v2")

    assert world.remote.show(world.remote.branch, f"{web.folder}/target.yaml") == web.target_yaml("v2")
    by_agent = world.remote.run("log", "--author=gitops-bg", "--name-only", "--format=", "main", cwd=world.remote.bare)
    assert set(by_agent.split()) == {f"{web.folder}/primary.yaml"}
    live = world.live("replicasets", web.versions()["v2"].name)
    assert live is not None
    assert live["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 30, "the server's default"
    primary = yaml.safe_load(world.remote.show("main", f"{web.folder}/primary.yaml") or "")
    assert primary["template"] == web.pod_template("v2"), "the snapshot is what the user wrote"
    assert primary["source"]["commit"] == pushed


def test_L17_app_that_waits_for_its_pods_blocks_no_other_with_a_single_worker(world: Scenario) -> None:
    stuck = [world.app(f"stuck-{number}") for number in range(3)]
    for app in stuck:
        app.add("bad")
    web = world.app()
    web.add("v1")
    world.start()

    web.wait_live("v1")
    for app in stuck:
        app.wait_phase("Deploying")


def test_L18_pod_labels_annotations_and_the_services_of_the_folder_are_carried_over(world: Scenario) -> None:
    world.start()
    web = world.app()
    web.template = {
        "metadata": {"labels": {"app": "web", "team": "shop"}, "annotations": {"example.com/scrape": "yes"}}
    }
    manifest = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": world.namespace, "labels": {"tier": "front"}},
        "spec": {"ports": [{"name": "http", "port": 8443, "targetPort": "http"}], "sessionAffinity": "ClientIP"},
    }
    world.publish("The Service of web", {f"{web.folder}/service.yaml": yaml.safe_dump(manifest)})
    web.deploy("v1")
    web.push_image("v2")
    web.wait_preview("v2")

    live = world.live("replicasets", web.versions()["v1"].name)
    assert live is not None
    metadata = live["spec"]["template"]["metadata"]
    assert metadata["labels"]["team"] == "shop"
    assert metadata["annotations"] == {"example.com/scrape": "yes"}
    found = world.live("services", "web")
    assert found is not None
    assert (found["spec"]["ports"][0]["port"], found["spec"]["sessionAffinity"]) == (8443, "ClientIP")
    assert found["metadata"]["labels"]["tier"] == "front"
    preview = world.live("services", "web-preview")
    assert preview is not None
    assert preview["spec"]["ports"][0]["targetPort"] == "http", "derived from the container's port"


def test_L20_argo_32_newer_spec_supersedes_an_unfinished_rollout(web: App) -> None:
    """Superseded for those that a newer push overtook, unready or ready; Promoted for the newest one."""
    web.push_image("bad")
    web.wait(lambda: "bad" in web.versions(), "the first candidate is there")
    web.push_image("v2")
    web.wait_offered("v2")
    web.push_image("v3")
    web.wait_offered("v3")
    web.merge_offer()
    web.wait_live("v3")
    web.wait_told("promoted")

    outcomes = [one.get("outcome") for one in rollouts(web)]
    assert outcomes == ["Promoted", "Superseded", "Superseded", "Promoted"]
    assert web.ledger_events().count("superseded") == 2
    assert web.digest("v3").startswith("v1:")
    assert len(web.digest("v3").removeprefix("v1:")) == 64, "SHA-256, whole"
    web.scenario.advance(301)
    web.wait(lambda: web.versions()["v2"].replicas == web.versions()["bad"].replicas == 0, "both are archived")

"""The OAM rollout trait: each version has a workload of its own, and nothing is copied (versions-and-routes.md §11)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import yaml

from gitops_bg.core import names
from gitops_bg.spec.importing.convert import convert
from tests.support.cluster.paths import replica_sets
from tests.support.cluster.rawapi import Json
from tests.support.scenario import App, Scenario


def _workloads(web: App) -> dict[str, Json]:
    """The ReplicaSets of the app by image tag."""
    found = web.scenario.cluster.list(replica_sets(web.key.namespace))
    return {each["spec"]["template"]["spec"]["containers"][0]["image"].rpartition(":")[2]: each for each in found}


def test_O6_O8_O9_three_rollouts_move_traffic_between_workloads_that_stay_what_they_are(world: Scenario) -> None:
    """Each of three promotions makes the target's own workload live: same UID, same template; the source goes to 0."""
    world.start()
    web = world.app().deploy("v1")
    for tag, source in (("v2", "v1"), ("v3", "v2"), ("v4", "v3")):
        web.push_image(tag)
        web.wait_offered(tag)
        target, before = _workloads(web)[tag], _workloads(web)
        assert target["spec"]["replicas"] == web.replicas
        web.merge_offer()
        web.wait_live(tag)
        world.wait_idle()
        after = _workloads(web)
        assert after.keys() == before.keys(), "nothing is copied, and nothing renamed"
        assert after[tag]["metadata"]["uid"] == target["metadata"]["uid"]
        assert after[tag]["spec"]["template"] == target["spec"]["template"]
        world.advance(600)
        web.wait(lambda of=source: _workloads(web)[of]["spec"]["replicas"] == 0, f"{source} goes to 0")


def _deployment(web: App, tag: str) -> dict[str, str]:
    return {"target.yaml": web.target_yaml(tag)}


def _pod_spec_workload(web: App, tag: str) -> dict[str, str]:
    """OAM's workload with the spec of its pods, as it is; they have its labels."""
    template = yaml.safe_load(web.target_yaml(tag))["spec"]["template"]
    metadata = {"name": web.name, "namespace": web.key.namespace, "labels": template["metadata"]["labels"]}
    workload = {
        "apiVersion": "standard.oam.dev/v1alpha1",
        "kind": "PodSpecWorkload",
        "metadata": metadata,
        "spec": {"replicas": web.replicas, "podSpec": template["spec"]},
    }
    return {"target.yaml": yaml.safe_dump(workload)}


def _containerized_workload(web: App, tag: str) -> dict[str, str]:
    """OAM's workload with containers in a form of its own, with a file among its configuration; as it is imported."""
    container = yaml.safe_load(web.target_yaml(tag))["spec"]["template"]["spec"]["containers"][0]
    container |= {"config": [{"path": "/etc/web/settings.yaml", "value": f"tag: {tag}"}]}
    workload = {
        "apiVersion": "core.oam.dev/v1alpha2",
        "kind": "ContainerizedWorkload",
        "metadata": {"name": web.name, "namespace": web.key.namespace},
        "spec": {"containers": [container]},
    }
    found = convert([("workload.yaml", yaml.safe_dump(workload).encode())], {})
    assert not found.problems
    files = {path.rpartition("/")[2]: text for path, text in found.files.items()}
    sized = files["target.yaml"].replace("\nspec:\n", f"\nspec:\n  replicas: {web.replicas}\n", 1)
    return {**files, "target.yaml": sized, "app.yaml": web.app_yaml()}


KINDS: dict[str, Callable[[App, str], dict[str, str]]] = {
    "Deployment": _deployment,
    "PodSpecWorkload": _pod_spec_workload,
    "ContainerizedWorkload": _containerized_workload,
}


@pytest.mark.parametrize("name", KINDS)
def test_O11_targets_of_three_kinds_roll_out_alike(name: str, world: Scenario) -> None:
    """A Deployment, OAM's PodSpecWorkload as it is, and a ContainerizedWorkload as `gitops-bg import` writes it."""
    world.start()
    web = world.app()

    def written(tag: str) -> dict[str, str]:
        return {f"{web.folder}/{file}": text for file, text in KINDS[name](web, tag).items()}

    world.publish("Add it", {f"{web.folder}/app.yaml": web.app_yaml(), **written("v1")})
    web.wait_live("v1")
    first = _workloads(web)["v1"]
    world.publish("v2", written("v2"))
    live, branch = web.primary_digest(), web.promotion_branch
    web.wait(lambda: web.offered() and web.primary_digest(branch) not in ("", live), "v2 is offered")
    web.merge_offer()
    web.wait_live("v2")
    after = _workloads(web)
    assert sorted(after) == ["v1", "v2"]
    assert after["v1"]["metadata"]["uid"] == first["metadata"]["uid"], "nothing is copied"
    assert {each["spec"]["replicas"] for each in after.values()} == {web.replicas}


def test_O16_another_controller_that_applies_the_target_undoes_no_size(world: Scenario) -> None:
    """It applies sizes of its own to both workloads, again and again: the agent alone says how many pods there are."""
    world.start()
    web = world.app().deploy("v1")
    web.promote("v2")
    world.wait_idle()
    for _ in range(3):
        for tag, each in _workloads(web).items():
            body = {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "metadata": {"name": each["metadata"]["name"], "namespace": web.key.namespace},
                "spec": {"replicas": 7 if tag == "v1" else 1},
            }
            world.cluster.apply(body, manager="app-controller")
        web.wait(
            lambda: (
                {tag: each["spec"]["replicas"] for tag, each in _workloads(web).items()}
                == {"v1": web.replicas, "v2": web.replicas}
            ),
            "both have the size that they should",
        )
    assert web.live_tag() == "v2"
    assert all(each["metadata"]["labels"][names.MANAGED_BY] == names.MANAGER for each in _workloads(web).values())

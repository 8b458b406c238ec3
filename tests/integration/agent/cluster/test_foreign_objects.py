"""Objects that are somebody else's: whose, and how to hand them over; never overwritten (DESIGN §3.4)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.core import names
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import collection, replica_sets, services
from tests.support.cluster.rawapi import Json
from tests.support.manifests import deployment, replica_set, service
from tests.support.scenario import App, Scenario, scenario
from tests.support.waiting import eventually


def _service(web: App) -> Json:
    return service(web.key.namespace, "web", app="theirs")


@pytest.fixture
def either(cluster: TestCluster, tmp_path: Path) -> Iterator[Scenario]:
    """On both clusters, one after the other."""
    with scenario(cluster, tmp_path) as made:
        yield made


def test_no_pod_of_ours_is_behind_the_apps_own_service_until_it_is_handed_over(either: Scenario) -> None:
    """The Service of an app that is there already selects the labels that its pods have, and so would get ours."""
    web = either.app()
    theirs = service(either.namespace, "web", app="web")
    theirs["spec"] |= {"sessionAffinity": "ClientIP", "publishNotReadyAddresses": True}
    either.cluster.apply(theirs, manager="helm")
    either.start()
    web.add("v1")
    conflict = web.wait_condition("Conflict")["message"]
    eventually(web.versions, what="v1 is prepared")
    web.push_image("v2")
    eventually(lambda: "v2" in web.versions(), what="v2 is prepared")
    either.wait_idle()
    assert not either.cluster.list(f"/api/v1/namespaces/{either.namespace}/pods")
    assert "selector app=web of Service web would send live traffic" in conflict
    assert not web.primary_digest()

    label = conflict.partition("kubectl ")[2].partition(";")[0].split()
    done = either.cluster.kubectl(*label)
    assert done.returncode == 0, done.stderr
    web.wait_live("v2")
    web.wait_condition("Conflict", "Absent")

    either.wait_idle()
    kept = either.cluster.get(f"{services(either.namespace)}/web")["spec"]
    assert (kept["sessionAffinity"], kept["publishNotReadyAddresses"]) == ("ClientIP", True)
    told = [each["message"] for each in either.events() if "helm changed" in each["message"]]
    assert not any("spec.sessionAffinity" in each for each in told), f"it has that: {told}"


def test_labels_that_somebody_else_wrote_on_the_live_service_hold_up_neither_a_promotion_nor_its_revert(
    either: Scenario,
) -> None:
    """A Service that our object controls is ours whatever its labels; a chart writes `managed-by: Helm`."""
    either.start()
    web = either.app().deploy("v1")
    web.push_image("v2")
    web.wait_offered("v2")
    path = f"{services(either.namespace)}/web"
    ours = either.cluster.get(path)["metadata"]["labels"]

    def write(label: str) -> None:
        either.wait_idle()
        either.stop()
        either.cluster.patch(path, {"metadata": {"labels": {label: "Helm"}}})

    write(names.MANAGED_BY)
    merge = web.merge_offer()
    either.start()
    web.wait_live("v2")
    web.wait_told("promoted")
    write(names.APP)
    web.revert(merge)
    either.start()
    web.wait_live("v1")
    web.wait_told("rolled-back")
    web.wait(lambda: either.cluster.get(path)["metadata"]["labels"] == ours, "the labels are repaired")


def _preview(web: App) -> Json:
    return service(web.key.namespace, "web-preview", app="theirs")


def _replica_set(web: App) -> Json:
    return replica_set(web.key.namespace, names.replica_set_name(web.key, 1, web.digest("v1")), image="theirs/web:v0")


def _object(web: App) -> Json:
    metadata = {"name": "web", "namespace": web.key.namespace}
    spec = {"strategy": {"blueGreen": {"activeService": "theirs"}}}
    return {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": metadata, "spec": spec}


@pytest.mark.parametrize("theirs", [_service, _preview, _replica_set], ids=lambda make: make.__name__.strip("_"))
def test_foreign_object_is_a_conflict_with_the_command_that_hands_it_over(world: Scenario, theirs) -> None:
    web = world.app()
    manifest = theirs(web)
    world.cluster.apply(manifest, manager="helm")
    kind, name = manifest["kind"], manifest["metadata"]["name"]
    world.start()
    web.add("v1")

    conflict = web.wait_condition("Conflict")
    assert conflict["reason"] == "ForeignObject"
    assert f"{kind} {world.namespace}/{name}" in conflict["message"]
    assert f"kubectl label {kind.lower()} {name}" in conflict["message"]
    assert web.phase() == "Degraded"
    world.wait_idle()
    path = f"{collection(manifest['apiVersion'], kind, world.namespace)}/{name}"
    assert world.cluster.get(path)["spec"]["selector"] == manifest["spec"]["selector"]
    assert "ownerReferences" not in world.cluster.get(path)["metadata"]


def test_foreign_blue_green_deployment_is_left_alone_until_it_is_labelled(world: Scenario) -> None:
    web = world.app()
    world.cluster.apply(_object(web), manager="helm")
    world.start()
    web.add("v1")

    conflict = web.wait_condition("Conflict") if web.status else None
    world.wait_idle()
    assert conflict is None or "kubectl label bluegreendeployment web" in conflict["message"]
    assert web.object()["spec"]["strategy"]["blueGreen"]["activeService"] == "theirs"
    assert not web.versions()

    labels = (f"{names.MANAGED_BY}={names.MANAGER}", f"{names.APP}=web")
    done = world.cluster.kubectl("label", "bgd", "web", "-n", world.namespace, *labels)
    assert done.returncode == 0, done.stderr
    web.wait_live("v1")


def test_object_of_another_controller_cannot_be_handed_over_by_labels(world: Scenario) -> None:
    web = world.app()
    manifest = _service(web)
    made = world.cluster.apply(replica_set(world.namespace, "theirs", replicas=0))
    uid = made["metadata"]["uid"]
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "theirs", "uid": uid, "controller": True}
    manifest["metadata"] |= {
        "labels": {names.MANAGED_BY: names.MANAGER, names.APP: "web"},
        "ownerReferences": [owner],
    }
    world.cluster.apply(manifest, manager="helm")
    world.start()
    web.add("v1")

    conflict = web.wait_condition("Conflict")

    assert "controlled by ReplicaSet theirs" in conflict["message"]


def test_foreign_replica_set_that_is_deleted_makes_room(world: Scenario) -> None:
    """Until then the conflict stops no other app; a Deployment of the target's name is never touched."""
    web = world.app()
    manifest = _replica_set(web)
    world.cluster.apply(manifest, manager="helm")
    world.cluster.apply(deployment(world.namespace, app="legacy"), manager="helm")
    world.start()
    web.add("v1")
    web.wait_condition("Conflict")
    world.app("other").deploy("v1")

    world.cluster.delete(f"{replica_sets(world.namespace)}/{manifest['metadata']['name']}")
    assert world.agent is not None
    world.agent.wake_all([web.key])

    web.wait_live("v1")
    web.wait_condition("Conflict", "Absent")
    assert not [write for write in world.writes() if "/deployments" in write.path and "helm" not in write.agent]

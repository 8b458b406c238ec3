"""L1, L3, L7, L8, L14 to L16: live objects are repaired, never interpreted; foreign ones are left alone.

Reference bgd-controller.md §3.
"""

import yaml

from gitops_bg.core import names
from tests.conformance.steps import rollouts
from tests.support.cluster.paths import replica_sets, services
from tests.support.manifests import replica_set, service
from tests.support.readings import Version
from tests.support.scenario import App, Scenario


def test_L1_deleted_replica_set_comes_back_at_once_from_its_own_snapshot(web: App) -> None:
    world = web.scenario
    web.push_image("v2")
    web.wait_offered("v2")
    for tag, before in web.versions().items():
        world.cluster.delete(f"{replica_sets(world.namespace)}/{before.name}")

        def is_back(tag: str = tag, before: Version = before) -> bool:
            now = web.versions().get(tag)
            return now is not None and now.uid != before.uid and now.available == 2

        web.wait(is_back, f"{tag} is back")
        assert web.live_tag() == "v1"
        assert web.versions()[tag].name == before.name


def test_L3_service_belongs_to_the_app_and_a_foreign_one_of_its_name_is_a_conflict(world: Scenario) -> None:
    foreign = service(world.namespace, "web", app="somebody-else")
    world.cluster.apply(foreign, manager="helm")
    world.start()
    web = world.app()
    web.add("v1")
    world.publish("The Service of web", {f"{web.folder}/service.yaml": yaml.safe_dump(foreign)})

    conflict = web.wait_condition("Conflict")
    assert f"Service {world.namespace}/web" in conflict["message"]
    assert "kubectl label service web" in conflict["message"]
    left_alone = world.live("services", "web")
    assert left_alone is not None
    assert left_alone["spec"]["selector"] == {"app": "somebody-else"}
    assert "ownerReferences" not in left_alone["metadata"]

    command = conflict["message"].partition("to hand it over: kubectl ")[2].split()
    assert world.cluster.kubectl(*command).returncode == 0
    web.wait_live("v1")
    web.wait_condition("Conflict", "Absent")

    def owners() -> list[str]:
        found = world.live("services", "web") or {}
        return [owner["kind"] for owner in found["metadata"].get("ownerReferences", [])]

    web.wait(lambda: sorted(owners()) == [names.KIND, "Namespace"], "the Service is the app's (decision 22)")


def test_L7_selector_ports_and_labels_of_the_service_are_corrected(web: App) -> None:
    world = web.scenario
    web.wait_told("deployed")
    right = world.live("services", "web")
    assert right is not None
    path = f"{services(world.namespace)}/web"
    wiped = {"spec": {"selector": {"app": "hijacked", names.APP: None, names.DIGEST: None}}}
    port = {"spec": {"ports": [{**right["spec"]["ports"][0], "targetPort": 9999}]}}
    unlabelled = {"metadata": {"labels": {names.APP: None}}}

    for damage in (wiped, port, unlabelled):
        world.cluster.patch(path, damage)
        web.wait(lambda: _essence(world.live("services", "web")) == _essence(right), f"{damage} is repaired")
    assert web.ledger_events() == ["candidate", "deployed"], "no repair is a decision"


def test_L8_argo_37_change_of_replicas_scales_without_a_rollout_and_manual_scaling_is_reverted(web: App) -> None:
    """More replicas: the same one rollout, with the same start and end; what somebody scales by hand is scaled back."""
    world = web.scenario
    world.settle()
    before, book = web.versions()["v1"], rollouts(web)

    web.replicas = 4
    web.push_image("v1", "web: four of them")
    web.wait(lambda: web.versions()["v1"].available == 4, "v1 has 4 pods")
    assert list(web.versions()) == ["v1"]
    assert web.versions()["v1"].uid == before.uid
    assert rollouts(web) == book
    assert len(book) == 1

    for wrong in (1, 6):
        world.cluster.patch(f"{replica_sets(world.namespace)}/{before.name}", {"spec": {"replicas": wrong}})
        web.wait(lambda: web.versions()["v1"].replicas == 4, "v1 has its size back")


def test_L14_two_apps_of_one_namespace_and_strangers_with_a_color_do_not_meet(world: Scenario) -> None:
    stranger = replica_set(world.namespace, "blue-rs")
    labels = {"app": "stranger", "color": "blue"}
    stranger["spec"] |= {"selector": {"matchLabels": labels}}
    stranger["spec"]["template"]["metadata"]["labels"] = labels
    world.cluster.apply(stranger)
    world.start()
    web, shop = world.app("web").deploy("v1"), world.app("shop").deploy("v1")

    web.promote("v2")

    assert (web.live_tag(), shop.live_tag()) == ("v2", "v1")
    for app, tag in ((web, "v2"), (shop, "v1")):
        app.wait(lambda app=app: len(world.cluster.ready_addresses(world.namespace, app.name)) == 2, "two endpoints")
        assert app.versions()[tag].name.startswith(f"{app.name}-{tag}-")
    found = world.live("replicasets", "blue-rs")
    assert found is not None
    assert "ownerReferences" not in found["metadata"]


def test_L15_replica_set_of_our_name_that_is_not_ours_is_never_adopted(world: Scenario) -> None:
    web = world.app()
    taken = names.replica_set_name(web.key, 1, web.digest("v1"))
    world.cluster.apply(replica_set(world.namespace, taken, image="registry.example/theirs:v9"), manager="them")
    world.start()
    web.add("v1")

    conflict = web.wait_condition("Conflict")

    assert taken in conflict["message"]
    world.wait_idle()
    theirs = world.live("replicasets", taken)
    assert theirs is not None
    assert theirs["spec"]["template"]["spec"]["containers"][0]["image"] == "registry.example/theirs:v9"
    assert "ownerReferences" not in theirs["metadata"]
    assert web.live_tag() == ""


def test_L16_replica_set_that_is_still_being_deleted_is_not_taken_for_a_live_one(web: App) -> None:
    world = web.scenario
    web.push_image("v2")
    web.wait_offered("v2")
    candidate = web.versions()["v2"]
    path = f"{replica_sets(world.namespace)}/{candidate.name}"
    world.cluster.patch(path, {"metadata": {"finalizers": ["example.com/slow"]}})
    world.cluster.delete(path)

    web.merge_offer()
    web.wait_phase("Promoting")
    world.wait_idle()
    assert web.live_tag() == "v1", "a dying ReplicaSet gets no traffic"

    world.cluster.patch(path, {"metadata": {"finalizers": None}})
    web.wait_live("v2")
    assert web.versions()["v2"].uid != candidate.uid


def _essence(found: dict | None) -> tuple:
    assert found is not None
    labels = {key: value for key, value in found["metadata"]["labels"].items() if key.startswith(names.GROUP)}
    return found["spec"]["selector"], found["spec"]["ports"], labels

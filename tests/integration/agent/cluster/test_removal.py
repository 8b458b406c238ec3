"""What leaves main keeps serving, unless its own policy said otherwise before (DESIGN §4, gitops.md §3)."""

from pathlib import Path

from gitops_bg.core import names
from tests.support import manifests
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import collection, replica_sets, services
from tests.support.cluster.rawapi import Json
from tests.support.configuration import SETTINGS, config_map, reading
from tests.support.scenario import App, Scenario, scenario
from tests.support.waiting import eventually


def _is_gone(app: App) -> bool:
    live = app.scenario.live
    return not (live("bluegreendeployments", app.name) or live("services", app.name) or app.versions())


def test_deleted_primary_yaml_changes_nothing_live_and_is_not_written_again(web: App) -> None:
    web.promote("v2")
    world = web.scenario

    world.publish("Oops", {f"{web.folder}/primary.yaml": None})
    world.wait_idle()
    world.advance(60)
    world.wait_idle()

    assert web.live_tag() == "v2"
    assert web.primary_digest() == ""


def test_folder_that_leaves_main_without_a_policy_keeps_serving_and_says_so(web: App) -> None:
    """Where it comes back, it is followed again."""
    removed = web.scenario.publish("Remove web", {web.folder: None})

    web.wait_told("orphaned")
    web.wait(lambda: web.condition("FolderInMain")["reason"] == "Orphaned", "the condition says so")
    web.scenario.advance(3600)
    web.scenario.wait_idle()
    assert web.live_tag() == "v1"
    assert web.versions()["v1"].available == 2
    web.revert(removed)
    web.wait_told("adopted")
    web.promote("v2")


def test_folder_that_leaves_with_deletion_policy_delete_takes_everything_along(web: App) -> None:
    web.spec["deletionPolicy"] = "delete"
    web.configure()
    web.scenario.wait_idle()

    web.scenario.publish("Remove web", {web.folder: None})

    web.wait(lambda: _is_gone(web), "everything is gone")
    web.wait(lambda: web.ledger_events()[-1] == "deleted", "the ledger says so")


def test_a_service_that_had_another_name_goes_as_the_policy_says(web: App) -> None:
    """Found so: with `delete` it stayed, with our labels, and led to pods that were gone."""
    world = web.scenario
    web.spec["deletionPolicy"] = "delete"
    web.strategy |= {"activeService": "shop"}
    web.configure()
    web.wait(lambda: bool(web.selected("shop")), "the Service of the new name is made")
    world.settle()

    world.publish("Remove web", {web.folder: None})
    web.wait(lambda: world.live("bluegreendeployments", web.name) is None, "the app goes")
    world.settle()

    assert not [name for name in ("web", "shop") if world.live("services", name)]


def test_policy_that_comes_with_the_deletion_itself_does_not_count(web: App) -> None:
    """`deletionPolicy: delete` must stand in a commit before."""
    world = web.scenario
    world.stop()
    web.spec["deletionPolicy"] = "delete"
    web.configure()
    world.publish("Remove web", {web.folder: None})
    world.start()

    web.wait_told("orphaned")
    world.wait_idle()
    assert web.live_tag() == "v1"


def test_app_that_was_deleted_and_added_again_begins_anew_with_its_numbers(web: App) -> None:
    web.promote("v2")
    web.spec["deletionPolicy"] = "delete"
    web.configure()
    web.scenario.wait_idle()
    web.scenario.publish("Remove web", {web.folder: None})
    web.wait(lambda: _is_gone(web), "everything is gone")
    web.wait(lambda: web.ledger_events()[-1] == "deleted", "the ledger says so")

    web.add("v3")

    web.wait_live("v3")
    web.wait_told("deployed", times=2)
    assert web.versions()["v3"].number == "3"


def test_many_apps_that_leave_in_one_commit_are_all_kept(world: Scenario) -> None:
    """maxDeletedAppsPercent: an accident, not a decision."""
    world.start()
    apps = [world.app(f"app-{number}") for number in range(5)]
    for app in apps:
        app.spec["deletionPolicy"] = "delete"
        app.add("v1")
    for app in apps:
        app.wait_primary("v1")
        app.wait_told()
    world.wait_idle()

    world.publish("Remove nearly all", {app.folder: None for app in apps[:4]})

    for app in apps[:4]:
        app.wait_told("orphaned")
        assert app.live_tag() == "v1"
        said = app.condition("FolderInMain")["message"]
        assert said.endswith("it keeps serving: 4 of 5 apps left (maxDeletedAppsPercent)"), said

    world.pull()
    world.remote.revert("HEAD")
    world.push()
    for app in apps[:4]:
        app.wait_told("adopted")


def test_an_app_is_kept_while_a_new_folder_that_may_be_it_cannot_be_read(web: App) -> None:
    """Somebody renames the folder, and makes a mistake in its file: nobody knows whether it says `adopt.app`."""
    world, shop = web.scenario, web.scenario.app("shop")
    web.spec["deletionPolicy"] = "delete"
    web.configure()
    world.wait_idle()
    files = {f"{shop.folder}/target.yaml": shop.target_yaml("v1"), f"{shop.folder}/app.yaml": "spec: ["}
    world.publish("Rename web, nearly", {web.folder: None, **files})
    web.wait_told("orphaned")
    said = web.condition("FolderInMain")["message"]
    assert said.endswith(f"it keeps serving: {shop.folder} cannot be read, and may say that it is this app (adopt.app)")
    world.restart(fresh_mirror=True)
    world.wait_idle()
    assert web.live_tag() == "v1"

    world.publish("It is another one", {f"{shop.folder}/app.yaml": shop.app_yaml()})
    eventually(lambda: world.advance(3600) or _is_gone(web), what="what its policy says happens now")


def test_an_app_is_kept_while_the_folder_of_its_former_name_is_back_and_cannot_be_read(web: App) -> None:
    """Somebody takes a move back, and makes a mistake in the file: nobody knows whether it has the app's Service."""
    world = web.scenario
    web.strategy["scaleDownDelaySeconds"] = 3600
    web.spec["deletionPolicy"] = "delete"
    web.configure()
    world.wait_idle()
    shop = web.rename("shop")
    shop.wait(lambda: shop.condition("Adopting")["reason"] == "Adopted", "the adoption is over")
    world.wait_idle()
    assert web.record.moved_at, "the former app is warm still"

    world.publish("Nearly take it back", {shop.folder: None, f"{web.folder}/app.yaml": "spec: ["})
    shop.wait_told("orphaned")
    assert f"{web.folder} cannot be read" in shop.condition("FolderInMain")["message"]
    service = world.cluster.get(f"{services(world.namespace)}/web")
    assert service["spec"]["selector"]["gitops-bg.dev/app"] == "shop"


def test_two_apps_may_always_leave_and_a_neighbour_that_serves_and_is_broken_keeps_nobody(world: Scenario) -> None:
    world.start()
    apps, other = [world.app(f"app-{number}") for number in range(2)], world.app("other")
    for app in apps:
        app.spec["deletionPolicy"] = "delete"
        app.deploy("v1")
    other.deploy("v1")
    world.wait_idle()
    world.publish("Break other", {f"{other.folder}/app.yaml": "spec: ["})
    other.wait_condition("InvalidSpec")

    world.publish("Remove both", {app.folder: None for app in apps})

    for app in apps:
        app.wait(lambda app=app: _is_gone(app), "everything is gone")


def _marks(live: Json) -> dict[str, object]:
    """What is ours in the metadata of an object."""
    metadata = live["metadata"]
    texts = {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}
    ours = {key: text for key, text in texts.items() if key.startswith(names.GROUP) or text == names.MANAGER}
    return ours | ({"owners": metadata["ownerReferences"]} if metadata.get("ownerReferences") else {})


def test_orphans_stay_when_what_the_app_owned_is_collected(cluster: TestCluster, tmp_path: Path) -> None:
    """Services, ReplicaSets, a copy, a budget and a ConfigMap of the folder: unmarked, and as they were."""
    with scenario(cluster, tmp_path) as world:
        world.start()
        web = reading(world.app())
        web.objects[SETTINGS] = config_map(color="blue")
        web.objects["flags.yaml"] = config_map("flags", beta="on")
        budget = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}
        web.objects["budget.yaml"] = {
            "apiVersion": cluster.preferred("policy"),
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "web", "namespace": world.namespace},
            "spec": budget,
        }
        web.spec["deletionPolicy"] = "orphan"
        web.deploy("v1")
        world.wait_idle()
        owner = {"apiVersion": names.API_VERSION, "kind": names.KIND, "name": "web"}
        owned = manifests.config_map(world.namespace, "owned")
        owned["metadata"]["ownerReferences"] = [{**owner, "uid": web.object()["metadata"]["uid"]}]
        cluster.apply(owned)

        def found() -> list[Json]:
            kinds = {"v1": ["ConfigMap"], cluster.preferred("policy"): ["PodDisruptionBudget"]}
            paths = [collection(version, kind, world.namespace) for version in kinds for kind in kinds[version]]
            everything = [
                each
                for path in (services(world.namespace), replica_sets(world.namespace), *paths)
                for each in cluster.list(path)
            ]
            return [each for each in everything if each["metadata"]["name"] not in ("owned", "kube-root-ca.crt")]

        before = {
            each["metadata"]["uid"]: (each["metadata"]["name"], each.get("spec") or each["data"]) for each in found()
        }
        assert len(before) == 6

        world.publish("Remove web", {web.folder: None})
        web.wait(lambda: not world.live(names.PLURAL, "web"), "the app is gone")
        ours = collection("v1", "ConfigMap", world.namespace)
        eventually(lambda: cluster.find(f"{ours}/owned") is None, what="what it owned is collected")
        after = found()
        assert {
            each["metadata"]["uid"]: (each["metadata"]["name"], each.get("spec") or each["data"]) for each in after
        } == before
        assert [_marks(each) for each in after] == [{}] * 6
        assert web.ledger_events()[-1] == "deleted"

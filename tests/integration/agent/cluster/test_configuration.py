"""ConfigMaps and Secrets of an app's folder are part of its versions: with Git, an agent and a cluster."""

from __future__ import annotations

import pytest
import yaml

from gitops_bg.core import names
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.observed import OperatorCommand, Request
from tests.support.cluster.paths import config_maps, replica_sets, services
from tests.support.configuration import PASSWORDS, SETTINGS, config_map, copies, held, read_by, reading, secret
from tests.support.scenario import App, Scenario
from tests.support.waiting import eventually


@pytest.fixture
def web(world: Scenario) -> App:
    """The app, its v1 live, with a ConfigMap that says blue; the agent runs."""
    world.start()
    web = reading(world.app())
    web.objects[SETTINGS] = config_map(color="blue")
    return web.deploy("v1")


def test_pods_read_immutable_copies(world: Scenario) -> None:
    world.start()
    web = reading(world.app())
    web.objects |= {SETTINGS: config_map(color="blue"), PASSWORDS: secret(db="hunter2")}
    web.deploy("v1")
    (settings,), (passwords,) = copies(web).values(), copies(web, "Secret").values()
    assert settings["data"] == {"color": "blue"}
    assert passwords["data"] == {"db": "aHVudGVyMg=="}
    assert settings["immutable"] is passwords["immutable"] is True
    assert settings["metadata"]["ownerReferences"][0]["uid"] == web.object()["metadata"]["uid"]
    replica_set = world.live("replicasets", web.versions()["v1"].name)
    assert replica_set is not None
    (container,) = replica_set["spec"]["template"]["spec"]["containers"]
    assert container["envFrom"][0]["configMapRef"]["name"] == settings["metadata"]["name"]
    assert container["env"][0]["valueFrom"]["secretKeyRef"]["name"] == passwords["metadata"]["name"]
    assert '"name":"settings"' in replica_set["metadata"]["annotations"][names.SNAPSHOT], "as written in Git"


def test_what_a_secret_holds_is_said_nowhere_but_where_it_belongs(
    world: Scenario, caplog: pytest.LogCaptureFixture
) -> None:
    world.start()
    web = reading(world.app())
    web.objects[PASSWORDS] = secret(db="hunter2")
    web.deploy("v1")
    web.push_object(PASSWORDS, secret(db="hunter3"))
    web.wait_offered("v1")
    world.wait_idle()
    offered = world.remote.run("log", "-1", "--format=%B", web.promotion_branch, cwd=world.remote.bare)
    told = str(web.object()) + str(world.events()) + str(web.ledger()) + caplog.text + offered
    for password in ("hunter", "aHVudGVy"):
        assert password not in told


def test_a_quiet_app_is_left_alone(web: App) -> None:
    world = web.scenario
    world.settle()
    before = len(world.writes())
    world.advance(3600)
    world.wait_idle()
    assert [write.path for write in world.writes()[before:]] == []


def test_the_commit_of_a_version_is_the_one_that_changed_it_last(web: App) -> None:
    pushed = web.push_object(SETTINGS, config_map(color="green"))
    web.wait_offered("v1")
    assert web.status["candidate"]["commit"] == pushed
    image = web.push_image("v2")
    web.wait_offered("v2")
    assert web.status["candidate"]["commit"] == image


def test_a_revert_of_the_commit_that_brought_the_live_configuration_rolls_back_at_once(web: App) -> None:
    """As a revert of the commit that brought an image does (gitops.md §3)."""
    blue = web.digest("v1")
    pushed = web.push_object(SETTINGS, config_map(color="green"))
    green = web.digest("v1")
    web.wait_offered("v1")
    web.merge_offer()
    web.wait(lambda: web.selected() == short(green), "green is live")
    web.wait_told("promoted")
    web.revert(pushed)
    web.wait(lambda: web.selected() == short(blue), "blue is live")
    web.wait_told("rolled-back")
    web.wait(lambda: web.primary_digest() == blue, "and in Git")
    primary = yaml.safe_load(web.scenario.remote.show("main", f"{web.folder}/primary.yaml") or "")
    assert primary["configuration"] == [{"kind": "ConfigMap", "name": "settings", "data": {"color": "blue"}}]


def test_a_deleted_copy_is_made_again(web: App) -> None:
    (name,) = copies(web)
    web.scenario.cluster.delete(f"{config_maps(web.key.namespace)}/{name}")
    web.wait(lambda: held(web) == [{"color": "blue"}], "it is back")


def test_a_replaced_copy_is_made_again(web: App) -> None:
    """Deleted, and made anew with our labels and other content: neither its pods nor we would read that."""
    world, ((name, live),) = web.scenario, copies(web).items()
    metadata = {key: live["metadata"][key] for key in ("name", "namespace", "labels", "annotations", "ownerReferences")}
    world.stop()
    world.cluster.delete(f"{config_maps(web.key.namespace)}/{name}")
    world.cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"color": "red"}})
    world.start()
    web.wait(lambda: held(web) == [{"color": "blue"}], "it holds what it held")
    assert copies(web)[name]["immutable"] is True


def test_bad_configuration_is_an_error_and_what_was_good_goes_on_serving(web: App) -> None:
    world, serving = web.scenario, web.selected()
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata:\n  port: 80\n"
    world.publish("a number", {f"{web.folder}/{SETTINGS}": text})
    said = web.wait_condition("InvalidSpec")["message"]
    assert f"{web.folder}/{SETTINGS}:5: data.port: expected text, found a number (put it in quotes)" in said
    world.publish("no YAML", {f"{web.folder}/{SETTINGS}": "a: [1"})
    world.wait_idle()
    assert web.selected() == serving
    assert list(web.versions()) == ["v1"]
    assert held(web) == [{"color": "blue"}]
    web.push_object(SETTINGS, config_map(color="blue"))
    web.wait_phase("Healthy")


def test_what_is_taken_out_of_tracking_is_read_as_it_is(web: App) -> None:
    off = config_map(annotations={"gitops-bg.dev/config-tracking": "disabled"}, color="blue")
    web.push_object(SETTINGS, off)
    web.wait_offered("v1")
    (container,) = _template(web, web.digest("v1"))["spec"]["containers"]
    assert container["envFrom"][0]["configMapRef"]["name"] == "settings"


def _template(web: App, digest: str) -> dict:
    return dict(web.replica_set(digest)["spec"]["template"])


def test_two_versions_with_the_same_content_share_a_copy_and_apps_never_do(web: App) -> None:
    world = web.scenario
    web.promote("v2")
    other = reading(world.app("api"))
    other.objects[SETTINGS] = config_map(color="blue")
    other.deploy("v1")
    assert len(copies(web)) == 1
    assert len(copies(other)) == 1
    assert copies(web).keys() != copies(other).keys()


def test_copies_go_with_the_last_version_that_used_them(world: Scenario) -> None:
    world.start()
    web = reading(world.app())
    web.strategy |= {"autoPromotionEnabled": True, "scaleDownDelaySeconds": 0}
    web.spec["revisionHistoryLimit"] = 1
    web.objects[SETTINGS] = config_map(color="blue")
    web.deploy("v1")
    for color in ("green", "red", "gold"):
        web.push_object(SETTINGS, config_map(color=color))
        web.wait(lambda: web.primary_digest() == web.digest("v1"), f"{color} is promoted")
        web.wait(lambda: web.selected() == short(web.digest("v1")), f"{color} is live")
    web.wait(lambda: held(web) == [{"color": "gold"}, {"color": "red"}], "two are left")
    assert read_by(web, web.digest("v1")) == {"color": "gold"}


def test_a_rebuilt_cluster_comes_back_with_the_promoted_configuration_not_the_newest(web: App) -> None:
    world, promoted = web.scenario, web.digest("v1")
    web.push_object(SETTINGS, config_map(color="green"))
    web.wait_offered("v1")
    world.stop()
    world.cluster.delete(f"/apis/{names.API_VERSION}/namespaces/{web.key.namespace}/{names.PLURAL}/web")
    for folder in (replica_sets, services, config_maps):
        for one in world.cluster.list(folder(web.key.namespace)):
            world.cluster.delete(f"{folder(web.key.namespace)}/{one['metadata']['name']}")
    eventually(lambda: not world.cluster.list(replica_sets(web.key.namespace)), what="all it owned is gone")
    eventually(lambda: not copies(web), what="the copies, too")
    world.start(fresh_mirror=True)
    web.wait(lambda: web.selected() == short(promoted), "what was promoted is live")
    assert read_by(web, promoted) == {"color": "blue"}


WHERE = {"in its live copy": False, "only in main's history": True}


@pytest.mark.parametrize("is_lost", WHERE.values(), ids=WHERE)
def test_an_offline_rollback_is_committed_with_the_configuration_it_went_back_to(web: App, is_lost: bool) -> None:
    """Git's files have green by now. Once main has blue again, its copy is made again, too."""
    world, blue = web.scenario, web.digest("v1")
    (copy_of_blue,) = copies(web)
    web.push_object(SETTINGS, config_map(color="green"))
    web.wait_offered("v1")
    web.merge_offer()
    web.wait(lambda: web.primary_digest() == web.digest("v1"), "green is promoted")
    web.wait(lambda: web.selected() == short(web.digest("v1")), "green is live")
    web.wait_told("promoted")
    world.wait_idle()
    if is_lost:
        world.cluster.delete(f"{config_maps(web.key.namespace)}/{copy_of_blue}")
        world.wait_idle()
        assert copy_of_blue not in copies(web), "Git's files do not have it"
    web.ask(Request("1", OperatorCommand.ROLLBACK, "ada", world.clock(), "too slow"))
    web.wait(lambda: web.selected() == short(blue), "blue is live")
    web.wait(lambda: web.primary_digest() == blue, "and in Git")
    web.wait(lambda: copy_of_blue in copies(web), "and its copy is there")

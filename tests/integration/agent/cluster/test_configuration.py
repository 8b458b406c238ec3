"""ConfigMaps and Secrets of an app's folder are part of its versions: with Git, an agent and a cluster."""

from __future__ import annotations

import pytest
import yaml

from gitops_bg.core import names
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.version import short
from tests.support.cluster.paths import config_maps
from tests.support.configuration import PASSWORDS, SETTINGS, config_map, copies, held, reading, secret
from tests.support.scenario import App, Scenario


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
    world.settle()
    before = len(world.writes())
    world.advance(3600)
    world.wait_idle()
    assert [write.path for write in world.writes()[before:]] == [], "a quiet app is left alone"


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


def test_a_revert_of_the_commit_that_brought_the_live_configuration_rolls_back_at_once(web: App) -> None:
    """As a revert of the commit that brought an image does (gitops.md §3): that commit is the version's."""
    blue = web.digest("v1")
    pushed = web.push_object(SETTINGS, config_map(color="green"))
    green = web.digest("v1")
    web.wait_offered("v1")
    assert web.status["candidate"]["commit"] == pushed
    web.merge_offer()
    web.wait(lambda: web.selected() == short(green), "green is live")
    web.wait_told("promoted")
    web.revert(pushed)
    web.wait(lambda: web.selected() == short(blue), "blue is live")
    web.wait_told("rolled-back")
    web.wait(lambda: web.primary_digest() == blue, "and in Git")
    primary = yaml.safe_load(web.scenario.remote.show("main", f"{web.folder}/primary.yaml") or "")
    assert primary["configuration"] == [{"kind": "ConfigMap", "name": "settings", "data": {"color": "blue"}}]


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


def test_an_offline_rollback_is_committed_with_the_configuration_it_went_back_to(web: App) -> None:
    """Only main's history has blue by now. Once main has it again, its copy is made again."""
    world, blue = web.scenario, web.digest("v1")
    (copy_of_blue,) = copies(web)
    web.push_object(SETTINGS, config_map(color="green"))
    web.wait_offered("v1")
    web.merge_offer()
    web.wait(lambda: web.primary_digest() == web.digest("v1"), "green is promoted")
    web.wait(lambda: web.selected() == short(web.digest("v1")), "green is live")
    web.wait_told("promoted")
    world.wait_idle()
    world.cluster.delete(f"{config_maps(web.key.namespace)}/{copy_of_blue}")
    world.wait_idle()
    assert copy_of_blue not in copies(web), "Git's files do not have it"
    web.ask(Request("1", OperatorCommand.ROLLBACK, "ada", world.clock(), "too slow"))
    web.wait(lambda: web.selected() == short(blue), "blue is live")
    web.wait(lambda: web.primary_digest() == blue, "and in Git")
    web.wait(lambda: copy_of_blue in copies(web), "and its copy is there")

"""Flagger's tracking of ConfigMaps and Secrets (flagger.md §1.6), and better: a change restarts green."""

import yaml

from gitops_bg.core.model.version import short
from tests.support.cluster.paths import config_maps
from tests.support.configuration import PASSWORDS, SETTINGS, config_map, copies, read_by, reading, secret
from tests.support.scenario import App, Scenario


def configured(world: Scenario) -> App:
    """The app with a ConfigMap and a Secret, its v1 live; the agent runs."""
    web = reading(world.app())
    web.objects |= {SETTINGS: config_map(color="blue"), PASSWORDS: secret(db="first")}
    world.start()
    return web.deploy("v1")


def _service_writes(world: Scenario) -> list:
    return [write for write in world.writes() if write.path.endswith("/services/web") and write.status < 300]


def test_flagger_beat_e_a_change_of_configuration_restarts_green(world: Scenario) -> None:
    """A new candidate with pods of its own, offered and promoted; live pods never read it before. Back by one write."""
    web = configured(world)
    blue = web.digest("v1")
    web.push_object(SETTINGS, config_map(color="green"))
    green = web.digest("v1")
    web.wait_offered("v1")
    assert web.selected() == short(blue)
    assert web.selected("web-preview") == short(green)
    assert (read_by(web, blue), read_by(web, green)) == ({"color": "blue"}, {"color": "green"})

    promotion = web.merge_offer()
    web.wait(lambda: web.selected() == short(green), "green is live")
    web.wait_told("promoted")
    world.wait_idle()
    before = len(_service_writes(world))
    web.revert(promotion)
    web.wait(lambda: web.selected() == short(blue), "blue is live again")
    web.wait_told("rolled-back")
    world.wait_idle()
    assert len(_service_writes(world)) == before + 1
    assert read_by(web, blue) == {"color": "blue"}


def test_flagger_beat_e_setting_the_configuration_back_cancels_the_run(world: Scenario) -> None:
    """Flagger knows no promoted configuration, so a revert of it is a full run there."""
    web = configured(world)
    live = web.digest("v1")
    pushed = web.push_object(SETTINGS, config_map(color="green"))
    web.wait_offered("v1")
    web.revert(pushed)
    web.objects[SETTINGS] = config_map(color="blue")
    web.wait_phase("Healthy")
    web.wait_told("cancelled")
    web.wait(lambda: not web.offered(), "the offer is withdrawn")
    assert web.selected() == short(live)
    assert "promoted" not in web.ledger_events()


def test_flagger_config_tracking_promotion_copies_config_maps_and_secrets(world: Scenario) -> None:
    """The promoted content is in main, whole, binaryData and type too; the copies cannot be changed in place."""
    web = configured(world)
    changed = {**config_map(color="green"), "binaryData": {"icon": "AP8="}}
    web.push_object(SETTINGS, changed)
    web.push_object(PASSWORDS, {**secret(db="second"), "type": "shop/db"})
    web.wait_offered("v1")
    web.merge_offer()
    web.wait(lambda: web.selected() == short(web.digest("v1")), "it is live")
    primary = yaml.safe_load(world.remote.show("main", f"{web.folder}/primary.yaml") or "")
    assert primary["configuration"] == [
        {"kind": "ConfigMap", "name": "settings", "data": {"color": "green"}, "binaryData": {"icon": "AP8="}},
        {"kind": "Secret", "name": "passwords", "type": "shop/db", "data": {"db": "c2Vjb25k"}},
    ]
    live = [*copies(web).values(), *copies(web, "Secret").values()]
    assert all(each["immutable"] for each in live)
    assert {each["type"] for each in copies(web, "Secret").values()} == {"Opaque", "shop/db"}


def test_flagger_config_tracking_a_deleted_copy_comes_back(world: Scenario) -> None:
    """Flagger never repairs its copies (flagger.md §2)."""
    web = configured(world)
    (name,) = copies(web)
    world.cluster.delete(f"{config_maps(world.namespace)}/{name}")
    web.wait(lambda: name in copies(web), "it is back")
    assert read_by(web, web.digest("v1")) == {"color": "blue"}


def test_flagger_config_tracking_off_leaves_the_object_shared(world: Scenario) -> None:
    """Flagger's own annotation: a change of it is no new version, and pods read it under its own name."""
    off = {"flagger.app/config-tracking": "disabled"}
    web = reading(world.app())
    web.objects[SETTINGS] = config_map(annotations=off, color="blue")
    world.start()
    web.deploy("v1")
    before = web.digest("v1")
    web.push_object(SETTINGS, config_map(annotations=off, color="green"))
    world.wait_idle()
    assert web.digest("v1") == before
    assert web.phase() == "Healthy"
    assert list(web.versions()) == ["v1"]
    live = world.live("replicasets", web.versions()["v1"].name)
    assert live is not None
    (container,) = live["spec"]["template"]["spec"]["containers"]
    assert container["envFrom"][0]["configMapRef"]["name"] == "settings"

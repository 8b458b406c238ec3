"""An agent runs the apps of its own environment: the release there, with the overlay; and writes only there."""

from __future__ import annotations

import pytest
import yaml

from gitops_bg.core.model.version import Source
from gitops_bg.spec.environments.release import release_document, release_of
from tests.support.scenario import App, Scenario

ENVIRONMENTS = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: Environments
environments:
- {name: dev, clusters: [dev-1]}
- {name: prod, clusters: [test], after: {proven: 2h}}
"""
OVERLAY = {"spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "web", "env": []}]}}}}


def released(app: App, tag: str, number: int) -> str:
    """The text of release.yaml."""
    target = yaml.safe_load(app.target_yaml(tag))
    return release_document(app.key, release_of(target, (), Source("9be1" * 10), number), f"{app.folder}/release.yaml")


def enter(app: App, tag: str, number: int) -> str:
    """Let a release come into the environment; return the commit."""
    return publish_released(app, tag, number)


def publish_released(app: App, tag: str, number: int, folder: str = "prod", message: str = "") -> str:
    """Commit release.yaml, by default as one that lets it in."""
    text = released(app, tag, number)
    said = yaml.safe_load(text)
    trailers = f"Bg-App: {app.key}\nBg-Event: entered\nBg-Release: r{number} {said['digest']}\n"
    files = {f"{app.folder}/{folder}/release.yaml": text}
    return app.scenario.publish(message or f"web: take r{number} in {folder}\n\n{trailers}", files)


@pytest.fixture
def web(world: Scenario) -> App:
    """The app `web` in prod, as `live_in_prod`."""
    return live_in_prod(world)


def live_in_prod(world: Scenario) -> App:
    """An app in prod, its release r1 live there; main's target is further already, which no dev has served."""
    app = world.app(environment="prod")
    app.container = {"env": [{"name": "MODE", "value": "shared"}]}
    overlay = yaml.safe_dump(OVERLAY)
    world.publish("Environments", {"environments.yaml": ENVIRONMENTS, f"{app.own_folder}/overlay.yaml": overlay})
    world.publish("In dev, too", {f"{app.folder}/dev/overlay.yaml": "{}\n"})
    app.add("v9")
    enter(app, "v1", 1)
    world.start()
    app.wait_live("v1")
    app.wait_told()
    return app


def test_the_release_of_the_environment_is_live_and_its_primary_lies_in_the_folder_of_the_environment(web: App) -> None:
    show = web.scenario.remote.show
    assert show("main", f"{web.folder}/prod/primary.yaml")
    assert not show("main", f"{web.folder}/primary.yaml")
    assert not show("main", f"{web.folder}/dev/primary.yaml")
    assert web.object()["spec"]["strategy"]["blueGreen"]["activeService"] == "web"
    (replica_set,) = [each for each in web.versions().values() if each.tag == "v1"]
    assert replica_set.replicas == 3


def test_the_release_is_in_the_primary_the_record_and_the_status(web: App) -> None:
    primary = yaml.safe_load(web.scenario.remote.show("main", f"{web.folder}/prod/primary.yaml") or "")
    (version,) = web.record.versions
    assert version.release is not None
    assert (primary["release"]["number"], primary["release"]["digest"]) == (1, version.release.digest)
    assert (web.status["environment"], web.status["active"]["release"]) == ("prod", "r1")


def test_another_release_of_the_same_version_is_noted_and_restarts_nothing(web: App) -> None:
    web.replicas = 1  # of the base; the overlay has its own number
    enter(web, "v1", 2)
    web.wait(lambda: web.status["active"].get("release") == "r2", "the version is of r2")
    web.scenario.wait_idle()
    assert (web.live_tag(), list(web.versions()), web.offered()) == ("v1", ["v1"], False)


def test_in_the_first_environment_a_release_has_the_number_of_its_first_version(world: Scenario) -> None:
    app = world.app(environment="dev")
    text = ENVIRONMENTS.replace("dev-1", "other").replace("test", "dev-1").replace("other", "test")
    world.publish("Environments", {"environments.yaml": text, f"{app.own_folder}/overlay.yaml": "{}\n"})
    app.add("v1")
    world.start()
    app.wait_live("v1")
    app.wait_told()
    assert app.status["active"]["release"] == "r1"
    (version,) = app.record.versions
    assert version.release is not None
    target = yaml.safe_load(app.target_yaml("v1"))
    assert version.release.digest == release_of(target, (), Source("")).id.digest


def test_a_push_to_the_base_moves_nothing_here(web: App) -> None:
    before = web.status
    web.push_image("v10")
    web.scenario.wait_idle()
    assert web.live_tag() == "v1"
    assert not web.offered()
    assert web.status["phase"] == before["phase"] == "Healthy"
    assert "v10" not in web.versions()


def test_a_release_that_enters_is_promoted_on_the_branch_of_the_environment_and_goes_back_by_a_revert(web: App) -> None:
    enter(web, "v2", 2)
    web.wait(web.offered, "the promotion is offered")
    assert web.promotion_branch == f"gitops-bg/promote-in/prod/{web.scenario.namespace}/web"
    merged = web.merge_offer()
    web.wait_live("v2")
    web.wait_told("promoted")
    changed = web.scenario.remote.run("diff", "--name-only", f"{merged}^1", merged, cwd=web.scenario.remote.bare)
    assert changed.split() == [f"{web.folder}/prod/primary.yaml"]
    web.revert(merged)
    web.wait_live("v1")


def test_a_mistake_in_environments_yaml_is_told_and_a_way_back_moves_all_the_same(web: App) -> None:
    enter(web, "v2", 2)
    web.wait(web.offered, "the promotion is offered")
    merged = web.merge_offer()
    web.wait_live("v2")
    web.wait_told("promoted")
    broken = ENVIRONMENTS.replace("clusters: [test]", "clusters: [elsewhere]")
    web.scenario.publish("Forget a cluster", {"environments.yaml": broken})
    said = web.wait_condition("InvalidSpec")
    assert "environments.yaml:1: environments: names the cluster test in no environment" in said["message"]
    web.revert(merged)
    web.wait_live("v1")


def test_a_release_that_somebody_wrote_by_hand_reaches_no_live_traffic(web: App) -> None:
    publish_released(web, "v66", 66, message="Tidy up")
    said = web.wait_condition("InvalidSpec")["message"]
    assert f"{web.folder}/prod/release.yaml: no environment before prod ever had r66, and no commit lets it in" in said
    web.scenario.wait_idle()
    assert (web.live_tag(), list(web.versions()), web.offered()) == ("v1", ["v1"], False)
    publish_released(web, "v1", 1, message="Back again")
    web.wait_phase("Healthy")


def test_a_release_that_an_environment_before_had_may_be_brought_by_any_commit(web: App) -> None:
    enter(web, "v2", 2)
    web.wait(web.offered, "the promotion is offered")
    enter(web, "v1", 1)
    publish_released(web, "v2", 2, message="As it was entered before")
    web.wait(web.offered, "the promotion is offered")


def test_what_the_overlay_lacks_keeps_no_release_out_that_may_bring_it(web: App) -> None:
    settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {A: b}\n"
    refers = {"name": "web", "envFrom": [{"configMapRef": {"name": "settings"}}]}
    overlay = yaml.safe_dump({"spec": {"template": {"spec": {"containers": [refers]}}}})
    web.container = {"envFrom": refers["envFrom"]}
    files = {"settings.yaml": settings, "target.yaml": web.target_yaml("v10"), "prod/overlay.yaml": overlay}
    web.scenario.publish("Settings", {f"{web.folder}/{name}": text for name, text in files.items()})
    said = web.wait_condition("InvalidSpec")["message"]
    assert "refers to ConfigMap settings, which this release does not have" in said
    waits = [each["reason"] for each in web.status["waits"] if each["gate"] == "release"]
    assert [each.startswith("nothing comes in: the ledger of dev-1 does not count") for each in waits] == [True]


def test_a_fresh_agent_finds_its_environment_in_the_past_of_a_file_that_is_broken(web: App) -> None:
    web.scenario.publish("Break it", {"environments.yaml": ENVIRONMENTS + "- {name: prod, clusters: [x]}\n"})
    web.scenario.restart(fresh_mirror=True)
    web.wait_condition("InvalidSpec")
    assert web.live_tag() == "v1"
    assert web.scenario.remote.show("main", f"{web.folder}/prod/primary.yaml")


def test_an_app_without_a_folder_for_the_environment_is_no_app_of_this_cluster(world: Scenario) -> None:
    app = world.app()
    app.add("v1")
    world.publish("In dev", {"environments.yaml": ENVIRONMENTS, f"{app.folder}/dev/overlay.yaml": "{}\n"})
    agent = world.start()
    world.wait_idle()
    assert agent.catalog.apps() == frozenset()
    assert world.live("bluegreendeployments", "web") is None
    publish_released(app, "v1", 1)
    app.wait_live("v1")


def test_an_app_that_no_release_entered_yet_waits_for_one(world: Scenario) -> None:
    app = world.app(environment="prod")
    app.add("v1")
    files = {f"{app.folder}/dev/overlay.yaml": "{}\n", f"{app.folder}/prod/overlay.yaml": "{}\n"}
    world.publish("In both", {"environments.yaml": ENVIRONMENTS, **files})
    world.start()
    app.wait(lambda: app.scenario.live("bluegreendeployments", "web"), "it is there")
    world.wait_idle()
    assert app.versions() == {}
    app.wait(lambda: app.status.get("conditions"), "it says how it is")
    assert "InvalidSpec" not in [each["type"] for each in app.status["conditions"] if each["status"] == "True"]
    assert app.phase() != "Invalid", app.status
    enter(app, "v1", 1)
    app.wait_live("v1")


def test_an_agent_whose_cluster_no_environment_ever_named_does_nothing_and_says_nothing_is_gone(
    world: Scenario,
) -> None:
    app = world.app(environment="prod")
    app.add("v1")
    text = ENVIRONMENTS.replace("clusters: [test]", "clusters: [elsewhere]")
    world.publish("Environments", {"environments.yaml": text, f"{app.folder}/dev/overlay.yaml": "{}\n"})
    publish_released(app, "v1", 1)
    agent = world.start()
    world.wait_idle()
    assert world.live("bluegreendeployments", "web") is None
    assert "in no environment" in str(agent.catalog.reading.found(app.key).config.problems[0])  # type: ignore[union-attr]
    world.publish("Name it", {"environments.yaml": ENVIRONMENTS})
    app.wait_live("v1")


def test_without_the_file_a_folder_in_that_of_an_app_is_nobodys(world: Scenario) -> None:
    app = world.app()
    world.publish("A folder", {f"{app.folder}/prod/overlay.yaml": "kind: [", f"{app.folder}/dev/x.yaml": "{}\n"})
    world.start()
    app.deploy("v1")
    assert app.phase() == "Healthy"
    assert "environment" not in app.status
    assert world.remote.show("main", f"{app.folder}/primary.yaml")

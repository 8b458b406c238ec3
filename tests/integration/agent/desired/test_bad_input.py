"""Bad files: the app gets a condition and a ledger entry, nothing live changes, the others go on (DESIGN §10)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.repos import build as fixtures
from tests.fixtures.repos import texts
from tests.support.cluster.clusters import SandboxCluster
from tests.support.git.remote import GitRemote
from tests.support.scenario import App, Scenario, scenario

FIXTURES = {
    "broken-yaml": ("broken", "target.yaml"),
    "duplicate-keys": ("twice", "replicas"),
    "wrong-namespace": ("astray", "namespace"),
    "huge-file": ("huge", "target.yaml"),
    "symlink": ("link", "link"),
    "anchor-bomb": ("bomb", "target.yaml"),
    "non-utf-8": ("latin", "UTF-8"),
}


class Remote(GitRemote):
    """A fixture repository as a remote; nobody works in a clone of it."""

    def __init__(self, bare: Path) -> None:
        self.folder, self.bare, self.clone, self.branch = bare.parent, bare, bare, "main"


@pytest.fixture
def private_sandbox(tmp_path: Path) -> Iterator[SandboxCluster]:
    """The fixtures' namespace `shop` exists only once."""
    with SandboxCluster.run(tmp_path) as cluster:
        cluster.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
        yield cluster


@pytest.mark.parametrize("name", FIXTURES)
def test_bad_file_of_an_app_is_its_condition_and_its_ledger_entry_and_nobody_elses(
    name: str, private_sandbox: SandboxCluster, tmp_path: Path
) -> None:
    remote = Remote(fixtures.build(name, tmp_path / "remote"))
    broken_app, said = FIXTURES[name]
    with scenario(private_sandbox, tmp_path / "agent", namespace="shop", remote=remote) as world:
        world.start()
        web, broken = world.app(), world.app(broken_app)

        web.wait_live("1.0.0")
        invalid = broken.wait_condition("InvalidSpec")

        assert said in invalid["message"]
        assert f"apps/shop/{broken_app}/" in invalid["message"]
        assert broken.phase() == "Invalid"
        assert not broken.versions()
        broken.wait_told("invalid")
        assert f"apps/shop/{broken_app}/" in broken.ledger()[-1]["Reason"]
        web.wait_told("deployed")
        assert "invalid" not in web.ledger_events()


BROKEN_TARGETS = {
    "broken YAML": texts.BROKEN.decode(),
    "duplicate keys": texts.DUPLICATE_KEYS.decode(),
    "not a Deployment": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n",
    "empty": "",
    "an anchor bomb": texts.ANCHOR_BOMB.decode(),
}


@pytest.mark.parametrize("kind", BROKEN_TARGETS)
def test_target_that_breaks_leaves_the_live_version_and_its_size_alone(web: App, kind: str) -> None:
    before = web.versions()["v1"]

    web.scenario.publish("Break it", {f"{web.folder}/target.yaml": BROKEN_TARGETS[kind]})

    web.wait_condition("InvalidSpec")
    web.scenario.wait_idle()
    assert web.versions() == {"v1": before}
    assert web.live_tag() == "v1"
    web.wait_told("invalid")

    web.push_image("v2")
    web.wait_told("valid")
    web.wait_offered("v2")


SENTENCES = {
    "unknown field": ({"strategy": {"previewservice": "x"}}, "app.yaml:13: ", "did you mean previewService?"),
    "activeService = previewService": (
        {"strategy": {"previewService": "web"}},
        "app.yaml:10: ",
        "must be another Service than activeService",
    ),
    "limits that contradict each other": (
        {"strategy": {"scaleDownDelayRevisionLimit": 2}, "spec": {"revisionHistoryLimit": 1}},
        "app.yaml:13: ",
        "2 is more than revisionHistoryLimit (1)",
    ),
    "a deadline that nothing can meet": (
        {"spec": {"minReadySeconds": 600}},
        "app.yaml:6: ",
        "600 is not more than minReadySeconds",
    ),
    "a label that the target selects by": (
        {"strategy": {"activeMetadata": {"labels": {"app": "other"}}}},
        "app.yaml:15: ",
        "the target selects its pods by this label",
    ),
    "no Service at all": ({"strategy": {"activeService": None}}, "app.yaml:9: ", "is required"),
}


@pytest.mark.parametrize("kind", SENTENCES)
def test_impossible_app_yaml_is_said_with_file_and_line_and_the_last_good_state_serves(web: App, kind: str) -> None:
    change, place, said = SENTENCES[kind]
    good = (dict(web.strategy), dict(web.spec))
    web.strategy, web.spec = good[0] | change.get("strategy", {}), good[1] | change.get("spec", {})  # type: ignore[attr-defined]
    web.configure()
    message = web.wait_condition("InvalidSpec")["message"]
    assert place in message
    assert said in message
    assert web.phase() == "Invalid"
    assert (web.live_tag(), web.versions()["v1"].available) == ("v1", 2)
    web.strategy, web.spec = good
    web.configure()
    web.wait_condition("InvalidSpec", "False")


def test_template_without_the_selectors_labels_is_said_with_file_and_line(web: App) -> None:
    text = web.target_yaml("v2").replace("matchLabels:\n      app: web", "matchLabels:\n      app: api")
    web.scenario.publish("v2", {f"{web.folder}/target.yaml": text})
    message = web.wait_condition("InvalidSpec")["message"]
    assert "target.yaml:" in message
    assert "api is not what the template's labels say (web)" in message
    assert set(web.versions()) == {"v1"}
    assert web.live_tag() == "v1"


def test_app_yaml_that_breaks_is_replaced_by_the_last_good_one(web: App) -> None:
    web.push_image("v2")
    web.wait_offered("v2")
    before = web.object()["spec"]

    web.scenario.publish("Break it", {f"{web.folder}/app.yaml": "spec: {strategy: 7}\n"})

    web.wait_condition("InvalidSpec")
    web.scenario.wait_idle()
    assert web.object()["spec"] == before
    assert {tag: version.available for tag, version in web.versions().items()} == {"v1": 2, "v2": 2}
    assert web.live_tag() == "v1"


def test_app_that_was_never_deployed_and_has_a_broken_app_yaml_gets_an_object_that_says_so(world: Scenario) -> None:
    world.start()
    broken = world.app("broken")
    files = {f"{broken.folder}/app.yaml": "kind: [\n", f"{broken.folder}/target.yaml": broken.target_yaml("v1")}
    world.publish("Add broken", files)

    invalid = broken.wait_condition("InvalidSpec")
    assert f"{broken.folder}/app.yaml:" in invalid["message"]
    assert not broken.versions()
    assert world.live("services", "broken") is None

    broken.configure()
    broken.wait_live("v1")
    broken.wait_told("valid")


def test_primary_yaml_edited_by_hand_moves_nothing(web: App) -> None:
    web.promote("v2")
    text = web.scenario.remote.show("main", f"{web.folder}/primary.yaml") or ""

    web.scenario.publish("Sneak it in", {f"{web.folder}/primary.yaml": text.replace(":v2", ":v9")})

    invalid = web.wait_condition("InvalidSpec")
    assert "edited by hand" in invalid["message"]
    assert web.live_tag() == "v2"
    assert "v9" not in web.versions()


def test_rollback_works_with_a_broken_target(web: App) -> None:
    promotion = web.promote("v2")
    web.scenario.publish("Break it", {f"{web.folder}/target.yaml": "{"})
    web.wait_condition("InvalidSpec")

    web.revert(promotion)

    web.wait_live("v1")


def test_broken_settings_are_every_apps_condition_and_stop_nothing_live(web: App) -> None:
    web.scenario.publish("Break the settings", {"gitops-bg.yaml": "kind: Settings\nmaxDeletedAppsPercent: many\n"})

    invalid = web.wait_condition("InvalidSpec")
    assert "gitops-bg.yaml" in invalid["message"]
    assert web.live_tag() == "v1"

    web.scenario.publish("Mend them", {"gitops-bg.yaml": "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n"})
    web.wait_condition("InvalidSpec", "False")
    web.promote("v2")

"""Bad files: the app gets a condition and a ledger entry, nothing live changes, the others go on (DESIGN §10)."""

from tests.fixtures.repos import texts
from tests.support.scenario import App, Scenario

BAD_TARGETS = {
    "broken": (texts.BROKEN, "target.yaml"),
    "twice": (texts.DUPLICATE_KEYS, "replicas"),
    "astray": (texts.target("other", "astray", "1.0.0"), "namespace"),
    "huge": (b"# " + b"x" * (1024 * 1024) + b"\n", "target.yaml"),
    "bomb": (texts.ANCHOR_BOMB, "target.yaml"),
    "latin": (texts.NOT_UTF_8, "UTF-8"),
    "link": (None, "link"),
}


def test_bad_file_of_an_app_is_its_condition_and_its_ledger_entry_and_nobody_elses(world: Scenario) -> None:
    """All in one push, beside a good one; `link` has a symbolic link in place of its target."""
    apps = {name: world.app(name) for name in BAD_TARGETS}
    for name, (content, _) in BAD_TARGETS.items():
        world.remote.write(f"{apps[name].folder}/app.yaml", apps[name].app_yaml())
        target = world.remote.clone / apps[name].folder / "target.yaml"
        if content is None:
            target.symlink_to("../web/target.yaml")
        else:
            target.write_bytes(content)
    world.remote.run("add", "--all")
    world.remote.commit("Trouble", author="Eve Careless <eve@example.com>")
    world.push()
    world.start()
    web = world.app().deploy("1.0.0")

    for name, (_, said) in BAD_TARGETS.items():
        broken = apps[name]
        invalid = broken.wait_condition("InvalidSpec")
        assert said in invalid["message"]
        assert f"{broken.folder}/" in invalid["message"]
        assert broken.phase() == "Invalid"
        assert not broken.versions()
        broken.wait_told("invalid")
        assert f"{broken.folder}/" in broken.ledger()[-1]["Reason"]
    assert "invalid" not in web.ledger_events()


def test_target_that_breaks_leaves_the_live_version_and_its_size_alone(web: App) -> None:
    before = web.versions()["v1"]
    another_label = web.target_yaml("v2").replace("matchLabels:\n      app: web", "matchLabels:\n      app: api")
    for text, said in (
        (texts.BROKEN.decode(), "target.yaml:"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n", "ConfigMap"),
        ("", "empty"),
        (another_label, "api is not what the template's labels say (web)"),
    ):
        web.scenario.publish("Break it", {f"{web.folder}/target.yaml": text})
        web.wait(lambda said=said: said in web.condition("InvalidSpec")["message"], said)
        assert f"{web.folder}/target.yaml:" in web.condition("InvalidSpec")["message"]
        web.scenario.wait_idle()
        assert web.versions() == {"v1": before}
        assert web.live_tag() == "v1"
    web.wait_told("invalid")

    web.push_image("v2")
    web.wait_told("valid")
    web.wait_offered("v2")


def test_app_yaml_that_breaks_is_said_with_file_and_line_and_replaced_by_the_last_good_one(web: App) -> None:
    web.push_image("v2")
    web.wait_offered("v2")
    before = web.object()["spec"]
    good = dict(web.strategy)

    web.strategy |= {"autoPromotionEnabled": True, "previewservice": "x"}  # Nothing of a broken file counts.
    web.configure()

    message = web.wait_condition("InvalidSpec")["message"]
    assert "app.yaml:13: " in message
    assert "did you mean previewService?" in message
    assert web.phase() == "Invalid"
    web.scenario.wait_idle()
    assert web.object()["spec"] == before
    assert {tag: version.available for tag, version in web.versions().items()} == {"v1": 2, "v2": 2}
    assert web.live_tag() == "v1"
    web.strategy = good
    web.configure()
    web.wait_condition("InvalidSpec", "Absent")


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


def test_primary_yaml_edited_by_hand_moves_nothing_and_a_rollback_works_with_a_broken_target(web: App) -> None:
    promotion = web.promote("v2")
    text = web.scenario.remote.show("main", f"{web.folder}/primary.yaml") or ""

    edited = web.scenario.publish("Sneak it in", {f"{web.folder}/primary.yaml": text.replace(":v2", ":v9")})

    invalid = web.wait_condition("InvalidSpec")
    assert "edited by hand" in invalid["message"]
    assert web.live_tag() == "v2"
    assert "v9" not in web.versions()
    web.revert(edited)
    web.wait_condition("InvalidSpec", "Absent")
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
    web.wait_condition("InvalidSpec", "Absent")
    web.promote("v2")

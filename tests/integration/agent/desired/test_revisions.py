"""`spec.revision`: a version of before in place of the target until it is removed; what nobody knows scales nothing."""

from __future__ import annotations

from collections.abc import Callable

from gitops_bg.core.model.version import short
from tests.support.configuration import SETTINGS, config_map, read_by, reading
from tests.support.scenario import App, Scenario

NAMED: tuple[Callable[[App, str], object], ...] = (
    lambda web, commit: 1,
    lambda web, commit: "v1",
    lambda web, commit: web.digest("v1"),
    lambda web, commit: web.digest("v1")[:13],
    lambda web, commit: commit,
)


def pin(web: App, revision: object) -> str:
    web.spec["revision"] = revision
    return web.configure()


def test_O3_O12_a_version_of_before_is_offered_and_goes_live_as_any_other(world: Scenario) -> None:
    """Named by number, digest or commit; what is live then is what app.yaml says."""
    world.start()
    web = world.app()
    first = web.add("v1")
    web.wait_live("v1")
    web.wait_told()
    web.promote("v2")
    web.promote("v3")
    *others, last = (named(web, first) for named in NAMED)
    for revision in others:
        pin(web, revision)
        web.wait_offered("v1")
        del web.spec["revision"]
        web.configure()
        web.wait(lambda: not web.offered(), "it is offered no more")
    pin(web, last)
    web.merge_promotion("v1")
    web.wait_live("v1")
    assert web.condition("InvalidSpec")["status"] == "Absent"
    web.wait_told("rolled-back")

    del web.spec["revision"]
    web.configure()
    world.wait_idle()
    gates = [each["gate"] for each in web.status["waits"] if each.get("version") == 3]
    assert ("hold" in gates, web.live_tag()) == (True, "v1"), "what was rolled back stays away, as after any way back"


def test_what_is_pushed_or_reverted_meanwhile_waits(world: Scenario) -> None:
    world.start()
    web = world.app().deploy("v1")
    second, _ = web.push_and_promote("v2")
    pin(web, 2)
    third = web.push_image("v3")
    world.wait_idle()
    assert (sorted(web.versions()), web.live_tag(), web.offered()) == (["v1", "v2"], "v2", False)

    del web.spec["revision"]
    web.configure()
    web.wait_offered("v3")

    pin(web, 2)
    world.settle()
    web.revert(third, second)
    world.settle()
    assert web.live_tag() == "v2"
    del web.spec["revision"]
    web.configure()
    web.wait_live("v1")


def test_its_configuration_comes_back_with_it(world: Scenario) -> None:
    world.start()
    web = reading(world.app())
    web.objects[SETTINGS] = config_map(level="info")
    web.deploy("v1")
    first = web.digest("v1")
    web.push_object(SETTINGS, config_map(level="debug"))
    web.merge_promotion("v1")
    web.wait_live("v1")
    assert web.selected() != short(first)
    pin(web, 1)
    web.wait(lambda: web.primary_digest(web.promotion_branch) == first if web.offered() else False, "it is offered")
    web.merge_offer()
    web.wait(lambda: web.selected() == short(first), "version 1 is live again")
    assert read_by(web, first) == {"level": "info"}


def test_O22_one_that_nobody_knows_is_said_and_scales_nothing(world: Scenario) -> None:
    """The condition InvalidSpec names the field; versions, traffic and offers stay as they are."""
    world.start()
    earlier = world.publish("A page", {"README.md": "here\n"})
    web = world.app().deploy("v1")
    before = web.versions()
    for revision, said in (
        (9, "spec.revision: there is no version v9 of this app, so the target is left as it is"),
        ("v1:" + 10 * "0", f"there is no version v1:{10 * '0'} of this app"),
        (40 * "0", f"main has no commit {10 * '0'}, so the target is left as it is"),
        (earlier, f"spec.revision: at commit {earlier[:10]}: {web.folder}/app.yaml: is missing"),
    ):
        pin(web, revision)
        web.wait(lambda said=said: said in web.condition("InvalidSpec")["message"], said)
        world.wait_idle()
        assert (web.versions(), web.live_tag(), web.offered()) == (before, "v1", False)
    web.spec.pop("revision")
    web.configure()
    web.wait_condition("InvalidSpec", "Absent")


def test_a_revert_of_a_push_that_a_pin_holds_back_sends_no_traffic_to_the_pinned_version(world: Scenario) -> None:
    world.start()
    web = world.app().deploy("v1")
    web.promote("v2")
    third, _ = web.push_and_promote("v3")
    pin(web, 1)
    web.wait_offered("v1")
    world.settle()
    web.revert(third)
    world.settle()
    assert web.live_tag() == "v3"
    web.merge_offer()
    web.wait_live("v1")

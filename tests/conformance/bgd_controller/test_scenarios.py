"""G1 to G7: what Google's bgd-controller promises, kept (bgd-controller.md §2).

Its two fixed ReplicaSets are ours by digest; its colors are the colors of versions. Crashes at every write (the
rest of G7) are in `test_bgd_limitations_crashes.py`.
"""

from gitops_bg.core import names
from tests.support.cluster.paths import pods, replica_sets, services
from tests.support.scenario import App, Scenario
from tests.support.sightings import Sightings


def test_G1_create_brings_the_first_version_up_blue_at_full_size_and_live(world: Scenario) -> None:
    world.start()
    web = world.app().deploy("v1")

    (first,) = web.versions().values()
    assert (first.tag, first.color, first.replicas, first.available) == ("v1", "blue", 2, 2)
    assert web.selected() == first.digest
    assert web.status["active"]["color"] == "blue"
    assert web.wait_condition("Available")["reason"] == "Serving"
    web.wait_phase("Healthy")


def test_G2_change_of_image_moves_traffic_only_to_available_pods_and_then_scales_the_old_ones_down(web: App) -> None:
    world = web.scenario
    with Sightings(world.cluster, world.namespace) as seen:
        web.push_image("v2")
        web.wait_offered("v2")
        assert web.live_tag() == "v1"
        web.merge_promotion("v2")
        web.wait_live("v2")
        web.wait_told("promoted")
        assert web.status["active"]["color"] == "green"
        assert web.versions()["v1"].replicas == 2, "the old version stays warm"
        world.advance(301)
        web.wait(lambda: web.versions()["v1"].replicas == 0, "the old version is scaled down")
    assert [move.available_there for move in seen.moves("web")] == [2]
    seen.assert_traffic_was_safe("web")
    assert web.versions()["v2"].color == "green"


def test_G3_revert_to_the_previous_spec_takes_up_the_kept_replica_set_again(web: App) -> None:
    before = web.versions()["v1"]
    promotion = web.promote("v2")

    web.revert(promotion)
    web.wait_live("v1")

    assert web.versions()["v1"].uid == before.uid
    assert web.versions()["v1"].available == 2
    assert web.live_tag() == "v1"


def test_G3_revert_scales_the_kept_replica_set_up_again_where_it_was_at_0(web: App) -> None:
    before = web.versions()["v1"]
    promotion = web.promote("v2")
    web.scenario.advance(301)
    web.wait(lambda: web.versions()["v1"].replicas == 0, "v1 is archived")

    with Sightings(web.scenario.cluster, web.scenario.namespace) as seen:
        web.revert(promotion)
        web.wait_live("v1")
        web.wait_told("rolled-back")

    assert web.versions()["v1"].uid == before.uid
    seen.assert_traffic_was_safe("web")


def test_G4_third_version_takes_the_place_of_the_inactive_one(web: App) -> None:
    web.spec["revisionHistoryLimit"] = 0
    web.configure()
    first = web.versions()["v1"]
    web.promote("v2")
    web.promote("v3")
    web.scenario.advance(301)

    # The last good version is kept whatever the limit says (I6); v1 is beyond it.
    web.wait(lambda: set(web.versions()) == {"v2", "v3"}, "v1 is gone")
    third = web.versions()["v3"]
    assert third.color == first.color == "blue"
    assert third.uid != first.uid
    assert web.live_tag() == "v3"


def test_G5_no_change_means_no_write(web: App) -> None:
    world = web.scenario
    web.promote("v2")
    world.settle()
    before = (world.writes(), world.remote.branches())

    for _ in range(5):
        world.wake()
        world.wait_idle()
        assert world.agent is not None
        world.agent.wake_apps(world.agent.cluster.apps())
        world.wait_idle()

    assert (world.writes(), world.remote.branches()) == before


def test_G6_delete_through_git_leaves_nothing_behind(web: App) -> None:
    world = web.scenario
    web.spec["deletionPolicy"] = "delete"
    web.configure()
    web.wait(lambda: web.object()["spec"].get("deletionPolicy") == "delete", "the policy is known")
    web.push_image("v2")
    web.wait_offered("v2")

    world.publish("Remove web", {web.folder: None})

    _wait_until_nothing_is_left(web)
    web.wait(lambda: web.ledger_events()[-1] == "deleted", "the ledger says so")


def test_G6_delete_of_the_object_by_hand_takes_nothing_along_that_serves(web: App) -> None:
    """The collector only takes the reference off what it owned; who means a deletion says so in Git (decision 22)."""
    world = web.scenario
    world.stop()

    done = world.cluster.kubectl("delete", "bgd", "web", "-n", world.namespace)

    assert done.returncode == 0, done.stderr
    web.wait(lambda: world.live(names.PLURAL, "web") is None, "the object is gone")
    web.wait(lambda: not _owned_by_apps(web), "the collector has been there")
    assert web.versions()
    assert all(world.live("services", name) for name in ("web", "web-preview"))


def test_G7_restart_after_each_step_ends_in_the_same_state(world: Scenario) -> None:
    world.start()
    web = world.app()
    web.add("v1")
    web.wait_live("v1")
    world.restart()
    web.wait_primary("v1")
    world.restart()
    web.push_image("v2")
    web.wait_preview("v2")
    world.restart()
    promotion = web.merge_promotion("v2")
    world.restart()
    web.wait_live("v2")
    web.revert(promotion)
    world.restart()
    web.wait_live("v1")
    web.wait_told("rolled-back")

    assert [event for event in web.ledger_events() if event in {"deployed", "promoted", "rolled-back"}] == [
        "deployed",
        "promoted",
        "rolled-back",
    ]
    assert {tag: version.replicas for tag, version in web.versions().items()} == {"v1": 2, "v2": 2}
    web.wait_phase("Held")


def _owned_by_apps(web: App) -> list[str]:
    world = web.scenario
    owned = (*world.cluster.list(replica_sets(world.namespace)), *world.cluster.list(services(world.namespace)))
    return [
        one["metadata"]["name"]
        for one in owned
        if any(owner["kind"] == names.KIND for owner in one["metadata"].get("ownerReferences", []))
    ]


def _wait_until_nothing_is_left(web: App) -> None:
    world = web.scenario
    for kind, name in ((names.PLURAL, "web"), ("services", "web"), ("services", "web-preview")):
        web.wait(lambda kind=kind, name=name: world.live(kind, name) is None, f"{kind} {name} is gone")
    web.wait(lambda: not web.versions(), "every ReplicaSet is gone")
    web.wait(lambda: not world.cluster.list(pods(world.namespace)), "every pod is gone")

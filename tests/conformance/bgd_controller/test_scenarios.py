"""G1 to G7: what Google's bgd-controller promises, kept (bgd-controller.md §2).

Its two fixed ReplicaSets are ours by digest; its colors are the colors of versions. Crashes at every write (G7) are in
`test_limitations_crashes.py`.
"""

from gitops_bg.core import names
from tests.conformance.counting import wait_counts
from tests.conformance.steps import rollouts, seconds_of, wait_sizes
from tests.support.cluster.paths import pods, replica_sets, services
from tests.support.scenario import App
from tests.support.sightings import Sightings


def test_G1_argo_25_create_brings_the_first_version_up_blue_at_full_size_and_live(web: App) -> None:
    """Live and Healthy; its rollout started and finished, in that order; Promoted; no time of waiting."""
    (version,) = web.versions().values()
    assert (version.tag, version.color, version.replicas, version.available) == ("v1", "blue", 2, 2)
    assert web.selected() == version.digest
    assert web.status["active"]["color"] == "blue"
    assert web.wait_condition("Available")["reason"] == "Serving"
    web.wait_phase("Healthy")
    (first,) = rollouts(web)
    assert (first["number"], first["version"], first["outcome"]) == (1, 1, "Promoted")
    assert first["waitedSeconds"] == 0
    assert "waitingSince" not in first
    assert 0 <= seconds_of(first) < 30


def test_G2_L4_L19_argo_28_flagger_promotion_waits_for_people_moves_once_and_leaves_the_old_version_warm(
    web: App,
) -> None:
    """Offered, it waits for its merge, a day that counts as waiting; then live, in main and in the ledger as Promoted;
    the old version stays at full size for its delay, and goes then: (2,2,2,2,2).
    """
    world = web.scenario
    with Sightings(world.cluster, world.namespace) as seen:
        web.push_image("v2")
        web.wait_phase("AwaitingPromotion")
        assert "waitingSince" in rollouts(web)[0]
        world.advance(24 * 3600)
        world.wait_idle()
        assert web.live_tag() == "v1"
        assert [gate["kind"] for gate in web.status["gates"] if not gate["open"]] == ["approval"]

        web.merge_promotion("v2")
        web.wait_live("v2")
        web.wait_told("promoted")
        web.wait_phase("Healthy")
        assert web.status["active"]["color"] == "green"
        assert web.primary_digest() == web.digest("v2")
        assert web.ledger_events() == ["candidate", "deployed", "candidate", "promoted"]
        assert web.ledger()[-1]["To"].endswith(web.digest("v2"))
        last = rollouts(web)[0]
        assert (last["outcome"], "waitingSince" in last) == ("Promoted", False)
        assert 24 * 3600 <= last["waitedSeconds"] < 24 * 3600 + 30
        assert seconds_of(last) >= 24 * 3600

        world.advance(200)
        world.wait_idle()
        assert web.versions()["v1"].available == 2, "the old version stays warm"
        world.advance(101)
        wait_sizes(web, v1=0, v2=2)
    assert [(move.available_at_origin, move.available_there) for move in seen.moves("web")] == [(2, 2)]
    seen.assert_traffic_was_safe("web")
    assert not seen.shrunk_while_selected("web")
    assert web.versions()["v2"].color == "green"
    wait_counts(web, 2, 2, 2, 2, 2)


def test_G3_revert_to_the_previous_spec_takes_up_the_kept_replica_set_again_also_from_0(web: App) -> None:
    before = web.versions()["v1"]
    web.revert(web.promote("v2"))
    web.wait_live("v1")
    web.wait_told("rolled-back")
    assert (web.versions()["v1"].uid, web.versions()["v1"].available) == (before.uid, 2)

    promotion = web.promote("v3")
    web.scenario.advance(301)
    web.wait(lambda: web.versions()["v1"].replicas == 0, "v1 is archived")
    with Sightings(web.scenario.cluster, web.scenario.namespace) as seen:
        web.revert(promotion)
        web.wait_live("v1")
        web.wait_told("rolled-back", times=2)
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


def test_G5_L2_no_change_means_no_write_also_of_a_new_agent(web: App) -> None:
    world = web.scenario
    web.promote("v2")
    web.push_image("v3")
    web.wait_offered("v3")
    web.wait_told()
    world.settle()
    before = (world.writes(), world.remote.branches())

    for _ in range(3):
        world.wake()
        world.wait_idle()
        assert world.agent is not None
        world.agent.wake_all(world.agent.cluster.apps())
        world.wait_idle()
    for fresh_mirror in (False, True):
        world.restart(fresh_mirror=fresh_mirror)
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

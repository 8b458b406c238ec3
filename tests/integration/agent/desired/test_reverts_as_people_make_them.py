"""Reverts of pushes as forges and people make them, told with everything real; the whole table is `test_provenance`."""

from datetime import UTC, datetime

import yaml

from tests.support.scenario import App, Scenario
from tests.support.sightings import Sightings
from tests.support.waiting import eventually

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def set_target(web: App, tag: str, message: str, date: datetime | None = None) -> str:
    """What a forge merges: the target at a tag with a message of its own; dates may be those of a rebase."""
    world: Scenario = web.scenario
    world.pull()
    world.remote.write(f"{web.folder}/target.yaml", web.target_yaml(tag))
    world.remote.commit(message, date=date)
    return world.push()


def test_squashed_revert_of_a_request_with_an_old_date_goes_back_at_once(web: App) -> None:
    set_target(web, "v2", "web v2 (#12)")
    web.merge_promotion("v2")
    web.wait_live("v2")
    web.wait_told("promoted")

    with Sightings(web.scenario.cluster, web.scenario.namespace) as seen:
        set_target(web, "v1", 'Revert "web v2 (#12)" (#13)\n\nReverts shop/config#12', LONG_AGO)
        web.wait_live("v1")
        web.wait_primary("v1")
        web.wait_told("rolled-back")

    seen.assert_traffic_was_safe("web")
    assert len(seen.moves("web")) == 1
    assert [hold.digest for hold in web.record.holds] == [web.digest("v2")]


def test_push_reverted_after_its_merge_and_before_traffic_moved_moves_nothing(web: App) -> None:
    world = web.scenario
    pushed = web.push_image("v2")
    web.wait_offered("v2")
    world.cluster.set_ready(world.namespace, {"gitops-bg.dev/digest": web.versions()["v2"].digest}, False)
    web.wait(lambda: web.versions()["v2"].available == 0, "v2 is not ready")
    web.merge_offer()
    web.wait_phase("Promoting")

    with Sightings(world.cluster, world.namespace) as seen:
        web.revert(pushed)
        web.wait_primary("v1")
        web.wait_told("held")
        world.cluster.set_ready(world.namespace, {"gitops-bg.dev/digest": web.versions()["v2"].digest}, True)
        web.wait_phase("Healthy")
        world.wait_idle()

    assert not seen.moves("web")
    assert web.live_tag() == "v1"
    assert "promoted" not in web.ledger_events()
    assert not web.offered()


def test_revert_of_the_revert_of_a_push_lifts_the_hold_and_of_that_one_goes_back_again(web: App) -> None:
    pushed = web.push_image("v2")
    web.merge_promotion("v2")
    web.wait_live("v2")
    web.wait_told("promoted")
    undone = web.revert(pushed)
    web.wait_live("v1")
    web.wait_primary("v1")
    assert [hold.digest for hold in web.record.holds] == [web.digest("v2")]

    again = web.revert(undone)
    web.merge_promotion("v2")
    web.wait_live("v2")
    web.wait_told("promoted", times=2)
    assert not web.record.holds

    web.revert(again)
    web.wait_live("v1")
    web.wait_primary("v1")


def test_a_retry_is_older_than_a_revert_whatever_changed_app_yaml_later(web: App) -> None:
    """A promotion merged while the app is suspended, a retry, a revert, the end of the suspension: all in one look."""
    world = web.scenario
    web.push_image("v2")
    web.wait_offered("v2")
    web.spec["suspend"] = {"reason": "incident"}
    web.configure()
    web.wait_phase("Suspended")
    world.stop()
    promotion = web.merge_offer()
    web.spec["retry"] = {"digest": web.digest("v2"), "number": 1, "by": "ada"}
    web.configure()
    web.revert(promotion)
    del web.spec["suspend"]
    web.configure()
    world.start()

    web.wait_phase("Held")
    assert web.live_tag() == "v1"
    assert [hold.digest for hold in web.record.holds] == [web.digest("v2")]
    eventually(lambda: not web.offered(), what="it is not offered again")

    web.spec["retry"] = {"digest": web.digest("v2"), "number": 2, "by": "ada"}
    web.configure()
    web.wait_offered("v2")


def test_two_retries_in_one_look_are_both_heard(web: App) -> None:
    """v2 was rolled back; it is retried, v3 promoted and retried, then v3's push is reverted: all in one look."""
    world = web.scenario
    web.revert(web.promote("v2"))
    web.wait_phase("Held")
    world.stop()
    _retry(web, "v2", 1)
    pushed = web.push_image("v3")
    _promote(web, "v3", pushed)
    _retry(web, "v3", 2)
    web.revert(pushed)
    world.start()

    web.wait_live("v2")
    web.wait_primary("v2")
    assert [hold.digest for hold in web.record.holds] == [web.digest("v3")]


def _retry(web: App, tag: str, number: int) -> None:
    web.spec["retry"] = {"digest": web.digest(tag), "number": number, "by": "ada"}
    web.configure()


def _promote(web: App, tag: str, pushed: str) -> None:
    """By hand, as version 3."""
    world, path = web.scenario, f"{web.folder}/primary.yaml"
    named = {**yaml.safe_load(world.remote.show("main", path) or ""), "version": 3, "digest": web.digest(tag)}
    named |= {"template": web.pod_template(tag), "source": {"commit": pushed, "author": "Ada"}}
    world.publish(f"promote {tag}", {path: yaml.safe_dump(named)})

"""A suspended app stops everything except rollbacks, with a reason and an end (DESIGN §4)."""

from tests.support.scenario import App, Scenario


def test_suspended_app_does_not_carry_out_a_merged_promotion_until_it_is_resumed(world: Scenario) -> None:
    """Not though its record is lost, either. Found so: while not every active Service showed one version, it counted as
    never deployed, and v2 went live.
    """
    world.start()
    web: App = world.app()
    web.strategy |= {"activeService": None, "activeServices": ["web", "web-admin"]}
    web.deploy("v1")
    web.push_image("v2")
    web.wait_offered("v2")
    web.spec["suspend"] = {"reason": "incident", "by": "ada"}
    web.configure()
    web.wait_phase("Suspended")
    assert web.condition("Suspended")["message"] == "ada: incident"
    web.merge_offer()
    world.settle()
    assert web.live_tag() == "v1"

    world.cluster.request("DELETE", f"/api/v1/namespaces/{web.key.namespace}/services/web-admin")
    world.settle()
    web.delete_object()
    world.settle()
    world.advance(61)
    world.settle()
    assert (web.live_tag(), web.phase()) == ("v1", "Suspended")
    assert web.ledger_events().count("deployed") == 1

    del web.spec["suspend"]
    web.configure()

    web.wait_live("v2")
    web.wait_told("resumed")

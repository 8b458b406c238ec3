"""A way back of an environment is one of all its clusters, whatever each has served (E6)."""

from __future__ import annotations

from tests.integration.agent.environments.conftest import MakeFleet

WAVES = (
    "- {name: prod, clusters: [prod-eu, prod-us], autoPromotionEnabled: true,"
    " waves: [[prod-eu], [prod-us]], between: 2h}\n"
)


def test_a_cluster_of_a_later_wave_goes_back_at_once_to_a_version_that_it_never_served(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(("prod-eu", "prod-us"), WAVES)
    eu, us = fleet.apps["prod-eu"], fleet.apps["prod-us"]
    us.scenario.stop()
    fleet.wait_live("prod-eu", "v1")
    fleet.soak("prod-eu", 600)
    eu.push_image("v2")
    fleet.wait_live("prod-eu", "v2")
    us.scenario.start()
    fleet.wait_live("prod-us", "v2")
    fleet.revert_promotion("prod")
    fleet.wait_live("prod-eu", "v1")
    fleet.wait_live("prod-us", "v1")

"""`replicas: 0` is not Healthy, 0 of 0 pods open no gate, and what was on offer is taken back until there are pods."""

from __future__ import annotations

from tests.support.scenario import App


def test_nothing_is_on_offer_and_nothing_goes_live_at_zero(web: App) -> None:
    web.push_image("v2")
    web.wait_offered("v2")
    web.replicas = 0
    web.push_image("v2", "no replicas")
    web.wait_phase("ScaledToZero")
    web.wait(lambda: all(each.replicas == 0 for each in web.versions().values()), "no pods are wanted")
    web.wait(lambda: not web.offered(), "what cannot go live is not on offer")
    web.scenario.wait_idle()
    assert web.live_tag() == "v1"
    assert web.condition("Available")["reason"] == "ScaledToZero"
    assert "0 of 0 pods prove nothing" in str(web.status["gates"])

    web.replicas = 2
    web.push_image("v2", "two replicas")
    web.wait_offered("v2")
    web.merge_offer()
    web.wait_live("v2")
    web.wait_phase("Healthy")

"""A push, its merged promotion and its revert, while agents start and die; the end is the same, whoever died when."""

from __future__ import annotations

from tests.support.agent.mortality import Mortals
from tests.support.scenario import App

SWITCHES = ["deployed", "promoted", "rolled-back"]
"""What the ledger tells of live traffic, of the first story about an app; of each further one, all but the first."""


def tell(web: App, agents: Mortals, *, first: str, second: str) -> None:
    """From `first` to `second` and back; an app that is not there yet is deployed with `first`."""
    live = web.live_tag
    if not live():
        web.add(first)
        agents.until(lambda: live() == first, f"{first} is live")
        agents.until(lambda: web.primary_digest() == web.digest(first), f"{first} is in Git")
    web.push_image(second)
    agents.until(lambda: web.primary_digest(web.promotion_branch) == web.digest(second), f"{second} is offered")
    promotion = web.merge_offer()
    agents.until(lambda: live() == second, f"{second} is live")
    agents.until(lambda: web.status["active"]["digest"] == web.digest(second), "the record says so")
    assert web.versions()[first].replicas == 2, "the version that served stays warm"
    web.revert(promotion)
    agents.until(lambda: live() == first, f"{first} is live again")
    agents.until(lambda: not web.record.routing.switch and web.record.held(web.digest(second)), "the record says so")
    agents.until(lambda: not web.offered(), "the promotion branch is gone")


def assert_end(web: App, first: str, second: str) -> None:
    """Traffic is at `first`, in Git and in the cluster; `second` is on hold."""
    active = web.versions()[first]
    assert (active.replicas, active.available) == (2, 2)
    assert web.selected() == active.digest
    assert web.primary_digest() == web.digest(first)
    assert [hold.digest for hold in web.record.holds] == [web.digest(second)]
    web.wait_phase("Held")

"""What a promotion or a rollback of a group would change, before anybody asks for it; and that it comes true."""

from __future__ import annotations

import pytest

from gitops_bg.core.groups.forecast import Difference, Forecast, forecast
from gitops_bg.core.groups.model import PromotionRejected
from gitops_bg.core.groups.record import TransitionKind
from tests.core.groups.simulation import World, store, version


def foreseen(world: World, target: str) -> Forecast:
    return forecast(world.decided(), target)


def test_a_promotion_of_one_of_two_candidates() -> None:
    world = store()
    world.versions["v3"] = version(cart="/cart")
    world.settle()
    assert foreseen(world, "v2") == Forecast(
        TransitionKind.PROMOTION,
        "v1",
        "v2",
        stages=(
            Difference("v1", "Active", "Legacy"),
            Difference("v2", "Candidate", "Active"),
            Difference("v3", "Candidate", ""),
        ),
        requests=(
            Difference("/cart", "cart-v1", "cart-v2"),
            Difference("/old", "cart-v1", "nobody"),
            Difference("/new", "nobody", "cart-v2"),
        ),
        services=(Difference("cart", "cart-v1", "cart-v2"),),
    )


def test_a_rollback_is_the_way_back() -> None:
    world = store()
    for name in ("v1", "v2"):
        world.active = name
        world.settle()
    found = foreseen(world, "v1")
    assert (found.kind, found.source, found.target) == (TransitionKind.ROLLBACK, "v2", "v1")
    assert Difference("/old", "nobody", "cart-v1") in found.requests


@pytest.mark.parametrize("target", ["v1", "v9"])
def test_what_cannot_be_is_rejected(target: str) -> None:
    world = store()
    world.settle()
    with pytest.raises(PromotionRejected):
        foreseen(world, target)


def test_what_is_foreseen_comes_true() -> None:
    world = store()
    world.settle()
    found, before = foreseen(world, "v2"), dict(world.services)
    world.active = "v2"
    world.settle()
    for each in found.requests:
        assert world.ask(each.what) == ("404" if each.after == "nobody" else each.after)
    for each in found.services:
        assert (before[each.what], world.services[each.what]) == (each.now, each.after)

"""What main would make of a group: the same as what becomes of it, before anything is written."""

from __future__ import annotations

import pytest

from gitops_bg.core.groups.forecast import Ahead, Forecast, SampleRequest, forecast
from gitops_bg.core.groups.inputs import DesiredGroup, GroupSpec
from gitops_bg.core.groups.record import TransitionKind
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisStage, MeasurementPlan, Metric
from gitops_bg.core.model.auxiliary import as_stored
from tests.core.groups.simulation import STORE, World, store, version
from tests.support.group_plans import explain_text, planned


def ahead(world: World) -> Forecast:
    spec = None if world.problems else GroupSpec(world.active, world.archive_size, world.gateway)
    desired = DesiredGroup(spec, dict(world.versions))
    return forecast(STORE, desired, world.observed(), world.decide().record, world.now)


def answers(found: Forecast) -> dict[tuple[str, str], tuple[str, str]]:
    return {(each.request.path, each.request.version): (each.before, each.after) for each in found.answers}


def test_nothing_is_ahead_of_a_group_at_rest() -> None:
    world = store()
    world.settle()
    found = ahead(world)
    assert (found.ahead, found.stages, found.answers, found.followers) == (None, (), (), ())
    assert found.same_answers > 0


def test_a_promotion_is_foretold_while_its_gates_are_shut() -> None:
    world = store()
    world.settle()
    world.active, world.ill = "v2", {"cart-v2"}
    found = ahead(world)
    assert found.ahead == Ahead(TransitionKind.PROMOTION, "v1", "v2")
    assert [(each.name, each.before, each.after) for each in found.stages] == [
        ("v1", "Active", "Legacy"),
        ("v2", "Candidate", "Active"),
    ]
    assert [(each.name, each.before, each.after) for each in found.followers] == [("cart", "cart-v1", "cart-v2")]
    assert answers(found) == {
        ("/cart", ""): ("cart-v1", "cart-v2"),
        ("/new", ""): ("404", "cart-v2"),
        ("/new", "v1"): ("404", "denied"),
        ("/old", ""): ("cart-v1", "404"),
        ("/old", "v2"): ("denied", "404"),
    }


@pytest.mark.parametrize("moves", [["v2"], ["v2", "v1"], ["v2", "v1", "v2"], ["v2", "v3"]])
def test_what_is_foretold_is_what_becomes_of_it(moves: list[str]) -> None:
    world = store()
    world.settle()
    for name in moves:
        if name == "v3":
            world.versions["v3"] = version("3", cart="/cart /third", auth="/auth")
            world.settle()
        world.active = name
        found = ahead(world)
        world.settle()
        assert {each.name: each for each in found.routes} == {k: as_stored(v) for k, v in world.routes.items()}
        assert dict(found.services) == world.services


def test_a_move_under_way_is_foretold_to_its_end_and_one_that_goes_back_is_none() -> None:
    world = store()
    world.settle()
    world.active, world.accepts = "v2", None
    world.step()
    assert ahead(world).ahead == Ahead(TransitionKind.PROMOTION, "v1", "v2")
    world.active = "v1"
    world.step()
    found = ahead(world)
    assert (found.ahead, found.followers) == (None, ())


@pytest.mark.parametrize("asked_for", ["v2", "v3"])
def test_the_way_back_from_a_version_that_failed_is_foretold_whatever_main_asks_for(asked_for: str) -> None:
    plan = MeasurementPlan((Metric("smoke", "web", "{}", consecutive_error_limit=0),))
    world = store(after_it=plan)
    world.settle()
    world.active = "v2"
    world.settle()
    world.versions["v3"] = version(cart="/cart")
    world.active = asked_for
    world.settle()
    world.finds[AnalysisStage.POST], world.gone = AnalysisPhase.FAILED, {"cart-v1"}
    world.settle()
    assert world.stages.startswith("v1L v2A")
    found = planned(world).forecast
    assert found.ahead == Ahead(TransitionKind.ROLLBACK, "v2", "v1")
    assert {each.name: each.after for each in found.followers} == {"cart": "cart-v1"}
    assert "  before requests move to v1:" in explain_text(world)


def test_what_is_rejected_and_what_is_invalid_changes_nothing() -> None:
    world = store()
    world.settle()
    world.active = "v9"
    assert (ahead(world).ahead, ahead(world).answers) == (None, ())
    world.problems = True
    found = ahead(world)
    assert (found.ahead, found.answers, dict(found.services)) == (None, (), world.services)


def test_a_change_of_routes_within_the_active_version_is_foretold_without_a_move() -> None:
    world = store()
    world.settle()
    world.versions["v1"] = version("changed", cart="/cart", auth="/auth /login")
    found = ahead(world)
    assert found.ahead is None
    assert answers(found)["/login", ""] == ("404", "auth-v1")
    assert answers(found)["/old", ""] == ("cart-v1", "404")
    assert SampleRequest("/cart") not in [each.request for each in found.answers]


def test_without_a_gateway_only_services_are_foretold() -> None:
    world = store(gateway=None)
    world.settle()
    world.active = "v2"
    found = ahead(world)
    assert (found.routes, found.answers, found.same_answers) == ((), (), 0)
    assert [each.name for each in found.followers] == ["cart"]

"""What comes next for a group, and what a person can do: one sentence and its commands for each situation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_bg.core.groups.model import TransitionStep
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.analysis import LATEST, AnalysisPhase, AnalysisStage, MeasurementPlan, Metric
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.journal import PullRequest, PullState
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.status.group_advice import NextStep, next_step
from tests.core.groups.simulation import STORE, World, store
from tests.core.records import overriding


def outlook(world: World) -> NextStep:
    return next_step(STORE, world.desired(), world.observed(), world.decide())


def said(world: World) -> tuple[str, list[str]]:
    found = outlook(world)
    return found.next, [each.command or each.what for each in found.advice]


def test_a_new_group_is_made_and_comes_up() -> None:
    assert said(store()) == ("the agent makes the ReleaseGroup, and its services come up", [])


def test_at_rest_each_candidate_may_be_promoted() -> None:
    world = store()
    world.settle()
    nothing = "nothing: v1 serves until group.yaml names another version"
    assert said(world) == (nothing, ["gitops-bg promote shop/store --to v2"])


def test_a_candidate_that_could_not_be_promoted_is_no_choice_but_its_service_is_to_be_looked_at() -> None:
    """Found so: `to do: promote v2`, whose services were Invalid, so that it waited for ever."""
    world = store()
    world.gone = {"cart-v2"}
    world.settle()
    assert said(world)[1] == ["gitops-bg explain shop/cart-v2"]


def test_after_a_promotion_the_way_back_is_named() -> None:
    world = store()
    world.settle()
    world.active = "v2"
    world.settle()
    nothing = "nothing: v2 serves until group.yaml names another version"
    assert said(world) == (nothing, ["gitops-bg rollback shop/store --to v1"])


def test_a_promotion_that_waits_names_the_service_to_look_at() -> None:
    world = store()
    world.settle()
    world.active, world.ill = "v2", {"cart-v2"}
    waits = "v1 serves on; requests begin to move to v2 by themselves once every gate is open"
    assert said(world) == (waits, ["gitops-bg explain shop/cart-v2"])


def test_a_version_on_hold_moves_by_nobody_but_a_person() -> None:
    world = store(before=MeasurementPlan((Metric("smoke", "web", count=1, failure_limit=0),)))
    world.settle()
    world.active, world.finds = "v2", {AnalysisStage.PRE: AnalysisPhase.FAILED}
    world.settle()
    found, (todo, *_) = said(world)
    assert found == "v1 serves on; v2 waits until somebody has it tried again"
    assert todo.startswith("gitops-bg retry shop/store, ")


def test_a_gate_that_shuts_before_requests_move_is_named() -> None:
    world = store(accepts=False)
    world.settle()
    world.active = "v2"
    world.settle()
    world.accepts, world.suspend = True, Suspension("a holiday")
    decision = world.settle()
    ready = {each.type: each for each in decision.conditions}["Ready"]
    assert ready.message == "promotion from v1 to v2: prepare; suspended: a holiday"
    found, (todo, *_) = said(world)
    header = "once the Gateway has taken the rules with the version's header"
    assert found == f"{header} and every gate is open, all other requests move from v1 to v2"
    assert "gitops-bg resume" in todo


def test_a_promotion_that_the_cluster_has_no_routes_for_says_the_remedy() -> None:
    world = store()
    world.settle()
    world.active, world.knows_routes = "v2", False
    assert said(world)[1] == ["install the Gateway API, or take gateway out of group.yaml"]


def test_each_step_of_a_move_says_the_next_and_the_way_back() -> None:
    world = store()
    world.settle()
    world.active, world.accepts = "v2", None
    world.record = world.decide().record
    back = ["gitops-bg rollback shop/store --to v1"]
    taken = "once the Gateway has taken the rules with the version's header, all other requests move from v1 to v2"
    assert said(world) == (taken, back)
    moving = world.record.transition
    assert moving is not None
    world.record = replace(world.record, transition=replace(moving, step=TransitionStep.SWITCH))
    assert said(world) == ("once the Gateway has taken its routes, v2 is active", back)
    world.active = "v1"
    assert said(world) == ("requests stay with v1, or go back to it: group.yaml asks for v1", [])


def test_a_way_back_out_of_a_switch_without_pods_to_go_to_names_them_and_the_way_on() -> None:
    world = store()
    world.settle()
    world.active = "v2"
    world.stop_once("cart", follows="cart-v2")
    world.active, world.gone = "v1", {"cart-v1"}
    world.settle()
    goes_back = "requests stay with v1, or go back to it: group.yaml asks for v1"
    ill = "gitops-bg explain shop/cart-v1"
    assert said(world) == (goes_back, [ill, "gitops-bg promote shop/store --to v2"])
    world.active, world.suspend = "v2", Suspension("a holiday")
    world.settle()
    assert said(world) == (goes_back, [ill, "when it is over: gitops-bg resume shop/store"])


def test_what_is_rejected_and_what_is_invalid_move_nothing() -> None:
    world = store()
    world.settle()
    world.active = "v9"
    assert said(world)[0] == "v1 serves on; what main asks for is rejected"
    world.problems = True
    assert said(world) == ("v1 serves on; nothing moves until its files are valid", ["gitops-bg check"])


def test_an_ill_service_of_the_active_version_is_named() -> None:
    world = store()
    world.settle()
    world.ill = {"auth-v1"}
    assert said(world) == (
        "v1 serves on; its services recover by themselves if they can",
        ["gitops-bg explain shop/auth-v1"],
    )


COMING = "serve nobody yet: a service does once its pods are ready and its own gates are open"


def test_a_first_version_that_waits_says_that_nothing_serves_and_what_to_look_at() -> None:
    """Found so in a freeze: `v1 serves on; its services recover by themselves if they can`."""
    world = store(gone={"cart-v1", "auth-v1"})
    world.settle()
    both = ["gitops-bg explain shop/auth-v1", "gitops-bg explain shop/cart-v1"]
    assert said(world) == (f"auth-v1, cart-v1 {COMING}", both)
    world.gone = {"cart-v1"}
    world.settle()
    assert said(world) == (f"cart-v1 {COMING}".replace("serve ", "serves "), both[1:])


# --- analyses ---

POST = AnalysisStage.POST
ONCE = MeasurementPlan((Metric("smoke", "web", f'{{"url": "http://cart-{LATEST}"}}', consecutive_error_limit=0),))
BACK = "gitops-bg rollback shop/store --to v1"


def promoted(found: AnalysisPhase | None = None, **changes: object) -> World:
    """The group after its promotion to v2, which is measured."""
    world = store(**{"after_it": ONCE, **changes})
    world.settle()
    world.active = "v2"
    world.settle()
    if found is not None:
        world.finds[POST] = found
        world.settle()
    return world


def test_while_what_serves_is_measured_it_is_said_where_a_failure_leads() -> None:
    assert said(promoted()) == ("v2 serves on while it is measured; if it fails, requests go back to v1", [BACK])


def test_a_paused_analysis_waits_for_somebody() -> None:
    nothing, advice = said(promoted(AnalysisPhase.INCONCLUSIVE))
    assert nothing == "v2 serves on; its analysis is inconclusive, and waits for somebody"
    assert advice[0] == BACK


def test_after_a_way_back_it_is_said_who_tells_main() -> None:
    world = promoted()
    world.finds[POST], world.takes_commits = AnalysisPhase.FAILED, False
    world.settle()
    override = world.record.override
    assert override is not None
    by_hand = ("v1 serves on; v2 is not promoted again by itself", [BACK, "gitops-bg retry shop/store"])
    assert said(world) == by_hand
    world.takes_commits = True
    assert said(world) == by_hand, "main refused the commit before"
    world.record = overriding(world.record, replace(override, diverged=False))
    assert said(world) == ("v1 serves on; the agent commits active: v1 to main", [])


def test_a_way_back_that_has_no_pods_to_go_to_names_them() -> None:
    world = promoted()
    world.finds[POST], world.gone = AnalysisPhase.FAILED, {"cart-v1"}
    world.settle()
    assert said(world) == (
        "requests go back from v2 to v1 as soon as that answers",
        ["gitops-bg explain shop/cart-v1"],
    )


def test_a_broken_template_keeps_the_group_where_it_is() -> None:
    world = store()
    world.settle()
    world.templates = (Problem("analysis/cart.yaml", "is wrong", 3),)
    assert said(world) == ("v1 serves on; nothing is promoted until its files are valid", ["gitops-bg check"])


def test_nothing_is_said_to_stop_a_way_back_and_nobody_is_led_to_what_failed() -> None:
    world = promoted()
    world.finds[POST], world.gone, world.templates = (
        AnalysisPhase.FAILED,
        {"cart-v1"},
        (Problem("analysis/cart.yaml", "is wrong", 3),),
    )
    world.settle()
    assert said(world)[0] == "requests go back from v2 to v1 as soon as that answers"
    world.gone, world.accepts = set(), None
    world.step()
    assert world.record.transition is not None
    assert said(world) == ("requests go back from v2 to v1 now, whatever the Gateway says", [])
    world.problems = True
    assert said(world)[0] == "v2 serves on; nothing moves until its files are valid"


def test_a_lost_record_that_main_cannot_make_again_says_what_to_put_back() -> None:
    world = promoted(AnalysisPhase.SUCCESSFUL)
    world.record, world.versions, world.active = GroupRecord(), {"v1": world.versions["v1"]}, "v1"
    assert said(world) == (
        "what serves serves on; nothing moves until the record can be made again from main",
        ["put back the folder that the condition names, or do what else it says, and push"],
    )


PULL = PullRequest(7, "https://forge/7")


@pytest.mark.parametrize(
    ("branch", "pull", "merge"),
    [
        ("", None, ""),
        ("a-branch", None, "merge a-branch, which "),
        ("a-branch", PULL, "merge https://forge/7, which "),
        ("a-branch", replace(PULL, state=PullState.CLOSED), "merge a-branch, which "),
    ],
)
def test_a_way_back_that_main_refuses_is_the_pull_request_to_merge(
    branch: str, pull: PullRequest | None, merge: str
) -> None:
    world = store(after_it=MeasurementPlan((Metric("smoke", "web", "{}", consecutive_error_limit=0),)))
    world.settle()
    world.finds[AnalysisStage.POST] = AnalysisPhase.FAILED
    world.takes_commits, world.branch, world.pull, world.active = False, branch, pull, "v2"
    decision = world.settle()
    assert world.stages == "v1A v2C"
    (diverged,) = (each for each in decision.conditions if each.type == "Diverged")
    assert f"; {merge}set" in diverged.message
    (first, _) = outlook(world).advice
    assert first.what.startswith(merge or "name v1 in group.yaml")
    assert bool(first.command) is not bool(merge)

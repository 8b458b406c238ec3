"""Routes and Services as `group diff` compares them, the plan of a group as text, and what `explain` says: pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from rich.console import Console, Group

from gitops_bg.cli.views.subject import statement_lines
from gitops_bg.core.groups.inputs import LiveRoute, StableService
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisStage
from gitops_bg.core.model.auxiliary import (
    Backend,
    Deny,
    ExtensionRef,
    HttpMatch,
    HttpRoute,
    HttpRule,
    ParentRef,
    as_stored,
)
from gitops_bg.core.model.journal import PullRequest, PullState
from gitops_bg.core.model.statements import Cause, Says, Statement
from gitops_bg.views.differences import route_differences, service_differences
from gitops_bg.views.explanation import Explanation, json_explanation, json_of_statements, statements_about
from gitops_bg.views.plan import json_plan
from tests.core.groups.simulation import STORE, store
from tests.core.inspect.test_outlook import promoted
from tests.support.group_plans import explain_text, plan_text, planned

CART = HttpRule((HttpMatch("/cart"),), Backend("cart-v1", 80))
AUTH = HttpRule((HttpMatch("/auth"),), Backend("auth-v1", 80), timeout="10s")
ROUTE = HttpRoute("store", ("shop.example.com",), (ParentRef("public"),), (CART, AUTH))


def routes(live: LiveRoute | None, wanted: HttpRoute | None) -> list[str]:
    found = route_differences({"store": live} if live else {}, {"store": wanted} if wanted else {})
    return [each.sentence for each in found]


def test_routes_that_say_the_same_do_not_differ() -> None:
    assert routes(LiveRoute(ROUTE), ROUTE) == []


def test_each_match_that_leads_elsewhere_is_one_line_whatever_stands_before_it() -> None:
    moved = replace(CART, to=Backend("cart-v2", 80))
    denied = HttpRule((HttpMatch("/old"),), Deny(extension=ExtensionRef("x", "Answer", "no")))
    rewritten = HttpRule((HttpMatch("/new"),), Backend("cart-v2", 80), rewrite="/")
    assert routes(LiveRoute(ROUTE), replace(ROUTE, rules=(denied, rewritten, moved))) == [
        "HTTPRoute store: /cart: cart-v1:80 → cart-v2:80",
        "HTTPRoute store: /auth: - auth-v1:80, at most 10s",
        "HTTPRoute store: /old: + Answer no",
        "HTTPRoute store: /new: + cart-v2:80, rewritten to /",
    ]


def test_another_order_of_the_rules_is_a_difference() -> None:
    assert routes(LiveRoute(ROUTE), replace(ROUTE, rules=(AUTH, CART))) == [
        "HTTPRoute store: its rules: in another order → in the wanted order"
    ]


@pytest.mark.parametrize(
    ("live", "line"),
    [
        (LiveRoute(None), "HTTPRoute store: says what no agent writes → as main asks for it"),
        (
            LiveRoute(ROUTE, foreign="it is managed by Helm"),
            "HTTPRoute store: it is managed by Helm → as main asks for it",
        ),
    ],
)
def test_a_route_that_is_not_as_agents_write_it_is_one_line(live: LiveRoute, line: str) -> None:
    assert routes(live, ROUTE) == [line]


def test_a_new_route_is_shown_in_full_and_one_too_many_as_well() -> None:
    assert routes(None, ROUTE)[0] == "HTTPRoute store: parentRefs: + Gateway public"
    assert routes(LiveRoute(ROUTE), None)[1] == "HTTPRoute store: hostnames: - shop.example.com"


def test_services_that_follow_others_are_shown_and_foreign_ones_by_their_owner() -> None:
    live = {"cart": StableService("cart-v1"), "auth": StableService(), "job": StableService(foreign="Helm's")}
    found = service_differences(live, {"cart": "cart-v2", "auth": "auth-v1", "search": "search-v2"})
    assert [each.sentence for each in found] == [
        "Service auth: follows no member → follows auth-v1",
        "Service cart: follows cart-v1 → follows cart-v2",
        "Service job: - Helm's",
        "Service search: + follows search-v2",
    ]


# --- plans ---


def test_a_plan_of_a_group_at_rest_has_nothing_to_do() -> None:
    world = store()
    world.settle()
    assert plan_text(world)[0] == "shop/store: Healthy, nothing to do"
    assert json_plan(planned(world))["requests"] == []


def test_a_plan_shows_the_move_its_shut_gates_and_who_answers_then() -> None:
    world = store()
    world.settle()
    world.active, world.ill = "v2", {"cart-v2"}
    lines = [" ".join(line.split()) for line in plan_text(world)]
    assert lines[:4] == [
        "shop/store: Waiting",
        "Promotion from v1 to v2",
        "it waits for:",
        "shut availability cart-v2: pods are missing",
    ]
    assert "/cart cart-v1 cart-v2" in lines
    assert "/old, v2 denied 404" in lines
    assert "cart cart-v1 cart-v2" in lines


def test_a_plan_for_what_group_yaml_does_not_ask_for_says_that_policies_were_not_asked() -> None:
    world = store()
    world.settle()
    world.active = "v2"
    assert plan_text(world, "v2")[1] == "  as if group.yaml asked for v2; policies are asked once it does"
    assert [json_plan(planned(world, each))["askedFor"] for each in ("v2", "")] == ["v2", None]


def test_a_plan_of_a_rejected_promotion_says_why_and_moves_nothing() -> None:
    world = store()
    world.settle()
    world.active = "v9"
    assert plan_text(world)[1].startswith("  rejected: NoSuchVersion: ")
    assert json_plan(planned(world))["move"] is None


def test_a_plan_of_invalid_files_names_the_line() -> None:
    world = store()
    world.settle()
    world.problems = True
    assert plan_text(world)[:2] == ["shop/store: Invalid", "  ! group.yaml:3: is wrong"]


def test_what_is_done_at_once_is_numbered() -> None:
    world = store()
    world.settle()
    world.services["cart"] = ""
    assert "  1. point Service cart at the pods of cart-v1" in plan_text(world)


def test_every_route_of_a_group_compares_equal_once_it_is_settled() -> None:
    world = store()
    world.settle()
    live = {name: LiveRoute(as_stored(each)) for name, each in world.routes.items()}
    assert list(route_differences(live, {name: as_stored(each) for name, each in world.routes.items()})) == []


# --- explanations ---


def test_an_explanation_says_who_wants_what_serves_instead_of_what_main_names() -> None:
    world = promoted()
    world.finds[AnalysisStage.POST], world.takes_commits = AnalysisPhase.FAILED, False
    world.settle()
    found = Explanation(STORE, world.desired(), world.observed(), world.decide(), world.now)
    assert [(each["version"], each["says"]) for each in json_explanation(found)["statements"]] == [
        ("v2", "refused"),
        ("v1", "wanted"),
    ]
    assert "  v1 was wanted live at" in "\n".join(explain_text(world))


PULL = PullRequest(7, "https://forge/7")


@pytest.mark.parametrize(
    ("pull", "line", "state"),
    [
        (PULL, "  pull request #7 is to be merged: https://forge/7", "open"),
        (
            replace(PULL, state=PullState.CLOSED, closed_by="ada"),
            "  ada closed pull request #7, https://forge/7: reopen it, or ask for something",
            "closed",
        ),
        (
            replace(PULL, state=PullState.CLOSED),
            "  somebody closed pull request #7, https://forge/7: reopen it, or ask for",
            "closed",
        ),
    ],
)
def test_an_explanation_names_the_pull_request_of_the_group_s_branch(pull: PullRequest, line: str, state: str) -> None:
    world = store()
    world.settle()
    assert not any("pull request" in each for each in explain_text(world))
    world.pull = pull
    assert line in explain_text(world)
    found = Explanation(STORE, world.desired(), world.observed(), world.decide(), world.now)
    assert json_explanation(found)["pullRequest"] == {
        "number": 7,
        "url": "https://forge/7",
        "state": state,
        **({"closedBy": pull.closed_by} if pull.closed_by else {}),
    }


# --- who said what, of apps and groups ---

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SAID = (
    Statement("v1:9", Says.REFUSED, NOON, Cause.LATE, "long ago"),
    Statement("v1:2", Says.REFUSED, NOON, Cause.ROLLED_BACK, 'Revert "web 2"', "Ada", "9be1ab12cd" * 4),
    Statement("v1:2", Says.CLEARED, NOON, reason="retried", by="Bob"),
    Statement("v1:2", Says.REFUSED, NOON, Cause.LATE, "not available within 600 s"),
    Statement("v1:1", Says.WANTED, NOON, Cause.LATE, "not available within 600 s"),
)
NAMES = {"v1:1": "v1", "v1:2": "v2"}


def test_a_statement_says_what_was_said_when_by_whom_and_by_which_commit() -> None:
    console = Console(width=200, color_system=None, force_terminal=False)
    with console.capture() as shown:
        console.print(Group(*statement_lines(statements_about(SAID, {"v1:2"}), NAMES.__getitem__, 2)))
    assert [line.rstrip() for line in shown.get().splitlines()] == [
        '  v2 was refused at 2026-01-01 12:00:00Z by Ada, commit 9be1ab12cd: Revert "web 2"',
        "  v2 was cleared at 2026-01-01 12:00:00Z by Bob: retried",
        "  v2 was refused at 2026-01-01 12:00:00Z by the agent: not available within 600 s",
        "  v1 was wanted live at 2026-01-01 12:00:00Z by the agent: not available within 600 s",
    ]


def test_programs_get_the_same_with_the_name_of_the_version() -> None:
    refused, *others = json_of_statements(statements_about(SAID, {"v1:2"}), NAMES.__getitem__)
    assert (refused["version"], refused["says"], refused["by"], refused["cause"]) == (
        "v2",
        "refused",
        "Ada",
        "rolled-back",
    )
    assert [each["says"] for each in others] == ["cleared", "refused", "wanted"]


def test_nobody_is_told_of_a_version_that_is_of_no_concern_but_always_where_traffic_goes() -> None:
    assert [each.says for each in statements_about(SAID, ())] == [Says.WANTED]

"""How rules are packed into HTTPRoutes: within the limits, in their order, and always into the same ones."""

from __future__ import annotations

from gitops_bg.core.groups.model import GroupGateway
from gitops_bg.core.groups.routing import MOST_MATCHES_OF_A_RULE, HostRule, sharded
from gitops_bg.core.model.auxiliary import Backend, HttpMatch, HttpRoute, HttpRule, ParentRef
from gitops_bg.core.model.version import GroupKey

STORE = GroupKey("shop", "store")
GATEWAY = GroupGateway((ParentRef("public"),), hosts=("a.io",), version_header="X")


def rule(to: str, path: str, header: str = "", **more: str) -> HttpRule:
    headers = (("X", header),) if header else ()
    return HttpRule((HttpMatch(path, headers=headers),), Backend(to, 80), **more)


def packed(*rules: HttpRule, hosts: tuple[str, ...] = ("a.io",)) -> tuple[HttpRoute, ...]:
    return sharded(STORE, GATEWAY, [HostRule(hosts, each) for each in rules])


def said(route: HttpRoute) -> list[tuple[str, list[str]]]:
    return [
        (each.to.service if isinstance(each.to, Backend) else "", [match.path for match in each.matches])
        for each in route.rules
    ]


def test_matches_that_lead_to_the_same_place_share_a_rule() -> None:
    (route,) = packed(rule("a", "/1", "1"), rule("b", "/2", "1"), rule("a", "/3", "1"), rule("b", "/4", "1"))
    assert said(route) == [("a", ["/1", "/3"]), ("b", ["/2", "/4"])]


def test_a_match_that_names_no_version_has_a_rule_of_its_own() -> None:
    """Else the rule with more text wins in implementations that rank by it, whatever a request names."""
    (route,) = packed(rule("a", "/1", "1"), rule("a", "/1"), rule("a", "/2"), rule("a", "/3", "1"), rule("a", "/3"))
    assert said(route) == [("a", ["/1", "/3"]), ("a", ["/1"]), ("a", ["/2"]), ("a", ["/3"])]


def test_no_rule_overtakes_another_one_of_its_path() -> None:
    (route,) = packed(rule("a", "/x", "1"), rule("b", "/x", "2"), rule("a", "/x", "3"), rule("a", "/y", "1"))
    assert said(route) == [("a", ["/x"]), ("b", ["/x"]), ("a", ["/x", "/y"])]


def test_rules_that_rewrite_or_have_other_time_limits_stay_apart() -> None:
    (route,) = packed(
        rule("a", "/1", "1", rewrite="/"),
        rule("a", "/2", "1", rewrite="/"),
        rule("a", "/3", "1"),
        rule("a", "/4", "1", timeout="1s"),
    )
    assert len(route.rules) == 4


def test_a_rule_takes_as_many_matches_as_the_gateway_api_allows() -> None:
    (route,) = packed(*(rule("a", f"/{number}", "1") for number in range(MOST_MATCHES_OF_A_RULE)))
    assert [len(each.matches) for each in route.rules] == [64]
    (route,) = packed(*(rule("a", f"/{number}", "1") for number in range(MOST_MATCHES_OF_A_RULE + 1)))
    assert [len(each.matches) for each in route.rules] == [64, 1]


def test_sixteen_rules_and_128_matches_are_one_httproute_and_one_more_is_several() -> None:
    assert len(packed(*(rule(f"s{number}", f"/{number}") for number in range(16)))) == 1
    assert len(packed(*(rule(f"s{number}", f"/{number}") for number in range(17)))) == 2
    assert len(packed(*(rule(f"s{number % 2}", f"/{number}", "1") for number in range(128)))) == 1
    assert len(packed(*(rule(f"s{number % 3}", f"/{number}", "1") for number in range(129)))) == 2


def test_two_paths_are_parted_and_only_one_path_alone_is_cut() -> None:
    two = packed(*(rule(f"s{number}", f"/{number % 2}", str(number)) for number in range(20)))
    assert (len(two), two[0].name) == (2, "store")
    one = packed(*(rule(f"s{number}", "/0", str(number)) for number in range(20)))
    assert [len(route.rules) for route in one] == [16, 4]


def test_the_names_of_httproutes_are_the_same_in_every_release() -> None:
    """Another hash would rename all routes of all groups in one moment."""
    many = packed(*(rule(f"s{number}", f"/p{number}") for number in range(40)))
    assert {route.name: [match.path for each in route.rules for match in each.matches][:2] for route in many} == NAMES
    (other,) = packed(rule("a", "/1"), hosts=("b.io",))
    assert other.name == "store-a1162331"


NAMES = {
    "store": ["/p0", "/p4"],
    "store-187ef55d": ["/p3", "/p7"],
    "store-56aac42a": ["/p2", "/p5"],
    "store-b709ce63": ["/p1", "/p6"],
}


def test_no_httproute_of_one_group_has_the_name_of_another_group() -> None:
    names = {route.name for route in packed(*(rule(f"s{number}", f"/p{number}") for number in range(40)))}
    assert names.isdisjoint(f"store-{number}" for number in range(100))

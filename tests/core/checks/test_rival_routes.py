"""Whose HTTPRoutes count as those of owners that left main: the agent asks before it decides."""

from gitops_bg.core.checks.auxiliary import with_formers
from gitops_bg.core.model.auxiliary import RivalRoute, RouteClaim
from gitops_bg.core.model.version import AppKey


def rival(name: str, **owner: str) -> RivalRoute:
    return RivalRoute(name, "", RouteClaim(()), "", **owner)


def test_only_owners_that_are_live_and_left_main_count_as_former_ones() -> None:
    others = (rival("store", group="store"), rival("old", app="old"), rival("gone", group="gone"), rival("x"))
    marked = with_formers(others, [AppKey("shop", "old")], ["market", "gone"])
    assert [each.name for each in marked if each.former] == ["old", "gone"]

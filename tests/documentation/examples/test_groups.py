"""The example of docs/features/groups.md: its HTTPRoute is what is rendered, and its table says who answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_bg.cluster.manifests.services import http_route
from gitops_bg.core.groups.model import GroupGateway
from gitops_bg.core.groups.routing import render
from gitops_bg.core.model.auxiliary import Backend, Deny, ParentRef
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import GroupKey
from tests.core.groups.gateway import DENIED, NOBODY
from tests.core.groups.simulation import World, version
from tests.support.group_plans import explain_text, plan_text

PAGE = (Path(__file__).parents[3] / "docs" / "features" / "groups.md").read_text(encoding="utf-8")
STORE = GroupKey("shop", "store")
GATEWAY = GroupGateway((ParentRef("public"),), ("shop.example.com",), deny=Deny(backend=Backend("gitops-bg-deny", 80)))


ROW = (
    r"^\| `(/\w+)`(?:, (?:`X-Version: (v\d)`|(with any version)))? "  # the request
    r"\| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$"  # who answers: before, after the promotion, after the rollback, again
)
MOVES = ("v1", "v2", "v1", "v2")


def example() -> Iterator[World]:
    """The three services of the page, after each move."""
    first, second = version(cart="/cart /old", auth="/auth"), version(cart="/cart /new", search="/search")
    world = World({"v1": first, "v2": second})
    for active in MOVES:
        world.active = active
        world.settle()
        yield world


def rendered(world: World) -> dict[str, Any]:
    (route,) = render(world.decided().state, STORE, GATEWAY)
    return http_route("shop", {}, route)


def test_the_httproutes_of_the_page_are_those_that_are_rendered() -> None:
    written = re.findall(r"```yaml\n(apiVersion: gateway.networking.k8s.io/v1\n.*?)```", PAGE, re.DOTALL)
    active_first, active_second = (yaml.safe_load(each)["spec"] for each in written)
    found = [rendered(world)["spec"] for world in example()]
    assert found == [active_first, active_second, active_first, active_second]


def test_the_table_of_the_page_says_who_answers() -> None:
    rows = re.findall(ROW, PAGE, re.MULTILINE)
    assert len(rows) == 10
    for step, world in enumerate(example()):
        for path, version_named, every, *answers in rows:
            for name in ("", "v1", "v2", "v9") if every else (version_named,):
                said = answers[step].partition(":")[0]
                asked = (path, name, MOVES[step])
                assert world.ask(path, name) == {"404": NOBODY, "denied": DENIED}.get(said, said), asked


def waiting() -> World:
    """The group of the page while main asks for v2, and somebody has suspended it."""
    world = next(example())
    world.active, world.suspend = "v2", Suspension("a holiday", "ada", world.now + timedelta(hours=8))
    world.settle()
    return world


@pytest.mark.parametrize(("verb", "printed"), [("plan", plan_text), ("explain", explain_text)])
def test_what_the_page_shows_of_a_group_that_waits_is_what_is_printed(
    verb: str, printed: Callable[[World], list[str]]
) -> None:
    shown = re.search(rf"\$ gitops-bg {verb} shop/store\n(.*?)```", PAGE, re.DOTALL)
    assert shown is not None
    assert shown[1].splitlines() == printed(waiting())

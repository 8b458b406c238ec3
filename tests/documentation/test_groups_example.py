"""The example of docs/groups.md: its HTTPRoute is what is rendered, and its table says who answers."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.padding import Padding

from gitops_bg.cli.commands.group.plan import tables
from gitops_bg.cli.views.gate_rows import gate_rows
from gitops_bg.cluster.manifests.http_routes import http_route
from gitops_bg.core.groups.forecast import forecast
from gitops_bg.core.groups.gates import gates_of
from gitops_bg.core.groups.model import GroupGateway, GroupKey
from gitops_bg.core.groups.routing import render
from gitops_bg.core.model.http_routes import Backend, Deny, ParentRef
from tests.core.groups.gateway import DENIED, NOBODY
from tests.core.groups.simulation import World, version

PAGE = (Path(__file__).parents[2] / "docs" / "groups.md").read_text(encoding="utf-8")
POLICIES_LATER = "  policies are asked once group.yaml asks for it"
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


def test_the_plan_of_the_page_is_what_is_printed() -> None:
    world = next(example()).decided()
    foreseen, screen = forecast(world, "v2"), io.StringIO()
    console = Console(file=screen, width=80)
    for each in (*tables(foreseen, "X-Version"), gate_rows(gates_of(world, "v2"), world.now)):
        console.print(Padding(each, (0, 0, 0, 2)))
    printed = [line.rstrip() for line in screen.getvalue().splitlines()]
    shown = re.search(r"\$ gitops-bg group plan shop/store v2\n.*?\n(.*?)```", PAGE, re.DOTALL)
    assert shown is not None
    said = [line for line in shown[1].splitlines() if line not in ("  before that:", POLICIES_LATER)]
    assert printed == said

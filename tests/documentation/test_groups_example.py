"""The example of docs/groups.md: its HTTPRoute is what is rendered, and its table says who answers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from gitops_bg.cluster.manifests.http_routes import http_route
from gitops_bg.core.groups.model import GroupGateway, GroupKey
from gitops_bg.core.groups.routing import render
from gitops_bg.core.model.http_routes import Backend, Deny, ParentRef
from tests.core.groups.gateway import DENIED, NOBODY
from tests.core.groups.simulation import World, store

PAGE = (Path(__file__).parents[2] / "docs" / "groups.md").read_text(encoding="utf-8")
STORE = GroupKey("shop", "store")
GATEWAY = GroupGateway((ParentRef("public"),), ("shop.example.com",), deny=Deny(backend=Backend("gitops-bg-deny", 80)))


ROW = (
    r"^\| `(/\w+)`(?:, (?:`X-Version: (v\d)`|(with any version)))? "  # the request
    r"\| (.*?) \| (.*?) \| (.*?) \|$"  # who answers: before, after the promotion, after the rollback
)


def rendered(world: World) -> dict[str, Any]:
    (route,) = render(world.decided().state, STORE, GATEWAY)
    return http_route("shop", {}, route)


def test_the_httproute_of_the_page_is_the_one_that_is_rendered() -> None:
    world = store()
    world.settle()
    (written,) = re.findall(r"```yaml\n(apiVersion: gateway.networking.k8s.io/v1\n.*?)```", PAGE, re.DOTALL)
    assert yaml.safe_load(written)["spec"] == rendered(world)["spec"]


def test_the_table_of_the_page_says_who_answers() -> None:
    rows = re.findall(ROW, PAGE, re.MULTILINE)
    assert len(rows) == 7
    for step, active in enumerate(("v1", "v2", "v1")):
        world = store()
        for each in ("v1", "v2", "v1")[: step + 1]:
            world.active = each
            world.settle()
        assert world.active == active
        for path, version, every, *answers in rows:
            for name in ("", "v1", "v2", "v9") if every else (version,):
                said = answers[step].partition(":")[0]
                assert world.ask(path, name) == {"404": NOBODY, "denied": DENIED}.get(said, said), (path, name, active)

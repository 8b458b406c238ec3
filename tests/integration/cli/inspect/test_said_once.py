"""A screen says each sentence once, whatever has happened to the app."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from gitops_bg.cli.main import app as command_line
from tests.integration.cli.conftest import Cli, with_candidate
from tests.support import manifests
from tests.support.groups import Store
from tests.support.scenario import App, Scenario
from tests.support.waiting import eventually

SCREENS = (
    ("explain", "{app}"),
    ("get", "{app}"),
    ("get", "{app}", "-o", "wide"),
    ("get", "-n", "{namespace}"),
    ("get", "-n", "{namespace}", "-o", "wide"),
    ("status", "{app}", "--timeout", "1s"),
)


def sentences(screen: str) -> list[str]:
    """The parts of sentences that stand on a screen: four words or more, between colons, semicolons and columns; not
    what branches of a tree have alike.
    """
    parts = (part.strip() for part in re.split(r"[:;]\s|\s{2,}|[│├└─\n]+", screen))
    return [part for part in parts if len(part.split()) >= 4 and part[0] not in "→#"]


def demand_once(cli: Cli, *words: str) -> None:
    screen = CliRunner().invoke(command_line, words, env=cli.env).output
    assert screen.strip()
    assert [each for each, times in Counter(sentences(screen)).items() if times > 1] == [], screen


def demand_all_once(cli: Cli, app: App) -> None:
    for words in SCREENS:
        demand_once(cli, *(each.format(app=app.key, namespace=app.key.namespace) for each in words))


def waits(_cli: Cli, web: App) -> None:
    with_candidate(web)


def is_suspended(cli: Cli, web: App) -> None:
    with_candidate(web)
    cli("suspend", str(web.key), "--reason", "the database moves to another host")
    web.scenario.wake()
    web.wait_phase("Suspended")


def cannot_start(_cli: Cli, web: App) -> None:
    web.push_image("bad")
    web.wait(lambda: "ImagePullBackOff" in str(web.status), "its pods cannot start")


def went_back(_cli: Cli, web: App) -> None:
    _, merge = web.push_and_promote("v2")
    web.revert(merge)
    web.wait_live("v1")
    web.wait_phase("Held")


def is_frozen(cli: Cli, web: App) -> None:
    """Its namespace is, while a version waits for a person and a newer one cannot start."""
    with_candidate(web)
    cli("freeze", "-n", web.key.namespace, "--reason", "the database moves to another host")
    web.scenario.wake()
    web.wait(lambda: "another host" in str(web.status), "it is frozen")


HAPPENINGS = [waits, is_suspended, cannot_start, went_back, is_frozen]


@pytest.mark.parametrize("happens", HAPPENINGS, ids=lambda each: each.__name__)
def test_no_screen_of_an_app_says_a_sentence_twice(cli: Cli, web: App, happens: Callable[[Cli, App], None]) -> None:
    happens(cli, web)
    demand_all_once(cli, web)


def test_no_screen_of_an_app_says_a_sentence_twice_before_it_is_adopted(cli: Cli, world: Scenario) -> None:
    """Its own pods do not start."""
    made = manifests.deployment(world.namespace, tag="v0", app="web")
    world.cluster.apply(made, manager="kubectl")
    world.cluster.apply(manifests.service(world.namespace, app="web"), manager="kubectl")
    eventually(lambda: len(world.cluster.ready_addresses(world.namespace, "web")) == 2, what="it serves")
    world.start()
    web = world.app()
    web.spec["adopt"] = {"deployment": "web", "scaleDown": "progressively"}
    web.add("bad", "Adopt web")
    web.wait(lambda: web.condition("Adopting")["status"] == "True" and "PullBackOff" in str(web.status), "it waits")
    demand_all_once(cli, web)


@pytest.mark.parametrize("verb", ["explain", "get"])
def test_no_screen_of_a_group_says_a_sentence_twice(cli: Cli, world: Scenario, verb: str) -> None:
    store = Store(world)
    store.begin()
    demand_once(cli, verb, f"{world.namespace}/store")

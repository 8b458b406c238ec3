"""A screen says each sentence once, whatever has happened to the app."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from gitops_bg.cli.main import app as command_line
from tests.integration.cli.conftest import Cli, with_candidate
from tests.support.groups import Store
from tests.support.scenario import App, Scenario

SCREENS = (("explain",), ("get",), ("status", "--timeout", "1s"))


def sentences(screen: str) -> list[str]:
    """The parts of sentences that stand on a screen: four words or more, between colons, semicolons and columns; not
    what branches of a tree have alike.
    """
    parts = (part.strip() for part in re.split(r"[:;]\s|\s{2,}|[│├└─\n]+", screen))
    return [part for part in parts if len(part.split()) >= 4 and part[0] not in "→#"]


def demand_once(cli: Cli, verb: str, name: str, *options: str) -> None:
    screen = CliRunner().invoke(command_line, [verb, name, *options], env=cli.env).output
    assert name in screen or verb == "status"
    assert [each for each, times in Counter(sentences(screen)).items() if times > 1] == [], screen


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


@pytest.mark.parametrize("happens", [waits, is_suspended, cannot_start, went_back], ids=lambda each: each.__name__)
def test_no_screen_of_an_app_says_a_sentence_twice(cli: Cli, web: App, happens: Callable[[Cli, App], None]) -> None:
    happens(cli, web)
    for verb, *options in SCREENS:
        demand_once(cli, verb, str(web.key), *options)


@pytest.mark.parametrize("verb", ["explain", "get"])
def test_no_screen_of_a_group_says_a_sentence_twice(cli: Cli, world: Scenario, verb: str) -> None:
    store = Store(world)
    store.begin()
    demand_once(cli, verb, f"{world.namespace}/store")

"""`--dry-run` of every verb that decides: it says what would be done, and writes neither to Git nor to the cluster."""

from __future__ import annotations

from typing import Any

import pytest
import typer

from gitops_bg.cli.lazy_commands import LazyCommand
from gitops_bg.cli.main import app as command_line
from gitops_bg.cli.registry import DECIDE, GATE_VERBS, GROUP_VERBS, VERBS
from gitops_bg.core import names
from tests.integration.cli.conftest import Cli
from tests.support.scenario import App

READS = {
    "reconcile",
    "gate status",
    "group new",
    "group get",
    "group tree",
    "group explain",
    "group plan",
    "group diff",
} | {"group history"}
"""They decide nothing; `group new` writes into a work tree alone."""


def options_of(name: str) -> set[str]:
    command: Any = typer.main.get_command(command_line)
    for part in name.split():
        command = command.get_command(typer.Context(command), part)
    loaded = command.loaded() if isinstance(command, LazyCommand) else command
    return {option for each in loaded.params for option in each.opts}


@pytest.mark.parametrize(
    "verb",
    [verb.name for verb in VERBS[DECIDE]]
    + [f"gate {verb.name}" for verb in GATE_VERBS]
    + [f"group {verb.name}" for verb in GROUP_VERBS],
)
def test_every_verb_that_decides_has_it(verb: str) -> None:
    assert ("--dry-run" in options_of(verb)) is (verb not in READS)


def heads(web: App) -> str:
    return web.scenario.remote.run("for-each-ref", cwd=web.scenario.remote.bare)


def asked(web: App) -> str:
    live = web.scenario.live("bluegreendeployments", web.key.name) or {}
    return str((live.get("metadata", {}).get("annotations") or {}).get(names.REQUEST))


@pytest.fixture
def moved(web: App) -> App:
    """v2 is live, v3 waits for somebody."""
    web.promote("v2")
    web.push_image("v3")
    web.wait_offered("v3")
    web.wait_told()
    return web


SAID = {
    "set-image": (["APP", "web=registry.example/web:v9"], "would commit to main: web: set image"),
    "promote": (["APP"], "main would name v3"),
    "rollback": (["APP"], "main would name v1"),
    "rollback --offline": (["APP"], "live traffic would go to v1"),
    "undo": (["APP", "--to", "1"], "would commit to main"),
    "abort": (["APP"], "stops v3"),
    "retry": (["APP"], "+  retry:"),
    "restart": (["APP"], "+  restartAt:"),
    "suspend": (["APP", "-r", "incident"], "would commit to main: web: suspend"),
    "resume": (["APP"], "main has it"),
    "freeze": (["-r", "incident"], "would commit to main: Freeze"),
}


def test_it_says_what_would_be_done_and_does_nothing(cli: Cli, moved: App) -> None:
    before = heads(moved), asked(moved)
    for verb, (arguments, said) in SAID.items():
        given = [*verb.split(), *(str(moved.key) if each == "APP" else each for each in arguments)]
        assert said in cli(*given, "--dry-run"), verb
        told = cli.json(*given, "--dry-run")
        assert (told["apps"][0] if "apps" in told else told)["dryRun"] is True, verb
        assert (heads(moved), asked(moved)) == before, verb


def test_abort_says_before_it_moves_live_traffic(cli: Cli, web: App) -> None:
    """Of what is live and not proven yet: on stderr, before anything is asked of the agent."""
    web.promote("v2")
    shown = cli("abort", str(web.key), "--dry-run")
    assert "stops v2" in shown
    assert "live traffic goes back to v1" in shown
    assert web.live_tag() == "v2"
    cli("abort", str(web.key))
    web.wait_live("v1")

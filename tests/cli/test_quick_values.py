"""Plain values of options mean what typer says they mean, though typer is not asked."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.core import TyperCommand
from typer.testing import CliRunner

from gitops_bg.cli.lazy_commands import QuickOption, quick
from gitops_bg.cli.options.values import positive_seconds


class Way(StrEnum):
    TEXT = "text"
    JSON = "json"


def told(
    name: Annotated[str, typer.Argument()],
    more: Annotated[list[str] | None, typer.Argument()] = None,
    way: Annotated[Way, typer.Option()] = Way.TEXT,
    file: Annotated[Path | None, typer.Option(envvar="QUICK_FILE")] = None,
    seconds: Annotated[float, typer.Option(parser=positive_seconds)] = 3.0,
    number: Annotated[int | None, typer.Option(min=1)] = None,
    every: Annotated[bool, typer.Option("--all/--some")] = False,
    word: Annotated[str, typer.Option(callback=lambda value: value.upper())] = "word",
) -> None:
    typer.echo(repr((name, more, way, file, seconds, number, every, word)))


class Quick(TyperCommand):
    def get_params(self, ctx: Any) -> Any:
        return [quick(each) for each in super().get_params(ctx)]


CALLS: dict[str, list[str]] = {
    "nothing but what is demanded": ["web"],
    "everything": ["web", "a", "b", "--way", "json", "--file", "x.yaml", "--seconds", "2m", "--number", "4", "--all"],
    "a word that is none of the list": ["web", "--way", "xml"],
    "a word in other letters": ["web", "--way", "JSON"],
    "a number that is none": ["web", "--number", "four"],
    "a number that is too small": ["web", "--number", "0"],
    "a duration that is none": ["web", "--seconds", "soon"],
    "what a callback changes": ["web", "--word", "loud"],
    "what is demanded is missing": [],
    "an empty text": [""],
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("environment", [{}, {"QUICK_FILE": "/etc/hosts"}], ids=["options", "environment"])
def test_a_call_ends_as_it_does_without_the_short_cut(name: str, environment: dict[str, str]) -> None:
    ends = []
    for kind in (TyperCommand, Quick):
        app = typer.Typer(add_completion=False)
        app.command("told", cls=kind)(told)
        done = CliRunner().invoke(app, CALLS[name], env=environment)
        ends.append((done.exit_code, done.output))
    assert ends[0] == ends[1]


def test_an_option_that_typer_made_becomes_a_quick_one_once() -> None:
    app = typer.Typer(add_completion=False)
    app.command("told", cls=Quick)(told)
    command: Any = typer.main.get_command(app)
    twice = [quick(quick(each)) for each in command.params]
    assert sum(type(each) is QuickOption for each in twice) == 6

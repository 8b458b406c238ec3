"""Options in groups are what typer makes of the same options one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from gitops_bg.cli.lazy_commands import with_option_groups
from gitops_bg.cli.main import main


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """A group in a group."""

    reason: Annotated[str, typer.Option("--reason")]
    until: Annotated[str, typer.Option("--until")] = "for ever"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    """Two groups and an option."""

    inner: Inner
    force: Annotated[bool, typer.Option("--force")] = False


def freeze(name: Annotated[str, typer.Argument()], how: Outer) -> None:
    """Say what came in."""
    typer.echo(f"{name} {how.inner.reason} {how.inner.until} {how.force}")


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    app.command()(with_option_groups(freeze))
    return app


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["web", "--reason", "INC-1"], "web INC-1 for ever False"),
        (["web", "--reason", "INC-1", "--until", "noon", "--force"], "web INC-1 noon True"),
    ],
)
def test_each_option_gets_to_its_group(app: typer.Typer, arguments: list[str], said: str) -> None:
    assert CliRunner().invoke(app, arguments).output.strip() == said


def test_an_option_without_a_default_is_demanded(app: typer.Typer) -> None:
    ended = CliRunner().invoke(app, ["web"])
    assert ended.exit_code == 2
    assert "Missing option" in ended.output
    assert "--reason" in ended.output


def test_no_help_shows_a_name_of_the_code(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A default that is no text of ours would be printed as Python prints it."""
    monkeypatch.setattr("sys.argv", ["gitops-bg", "freeze", "--help"])
    with pytest.raises(SystemExit):
        main()
    assert " object at 0x" not in capsys.readouterr().out

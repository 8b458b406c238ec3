"""Runs `gitops-bg` as a user does: the verbs, in this process; the environment says where everything is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner, Result

from gitops_bg.cli.lazy_commands import LazyCommand
from gitops_bg.cli.main import app as command_line
from tests.support import printed
from tests.support.git.remote import GitRemote

AUTHOR = "Grace Hopper <grace@example.com>"


def all_verbs() -> Iterator[tuple[str, frozenset[str]]]:
    """Every verb of the command line, as its parser has it, with its options; those of groups of verbs as well."""
    top: Any = typer.main.get_command(command_line)
    yield from _below(top, "")


def _below(command: Any, named: str) -> Iterator[tuple[str, frozenset[str]]]:
    for name in command.list_commands(typer.Context(command)):
        verb = command.get_command(typer.Context(command), name)
        if hasattr(verb, "list_commands"):
            yield from _below(verb, f"{named}{name} ")
        else:
            loaded = verb.loaded() if isinstance(verb, LazyCommand) else verb
            yield f"{named}{name}", frozenset(option for each in loaded.params for option in each.opts)


class Cli:
    """Runs verbs in this process; the environment says where everything is, as in a user's shell."""

    def __init__(self, remote: GitRemote, kubeconfig: Path, folder: Path) -> None:
        self.env = {
            "GITOPS_BG_REPO": remote.url,
            "GITOPS_BG_KUBECONFIG": str(kubeconfig),
            "GITOPS_BG_AUTHOR": AUTHOR,
            "XDG_CACHE_HOME": str(folder / "cache"),
            "COLUMNS": "240",
        }
        self.printed: set[str] = set()
        """The verbs that printed an object, each of which was held to its schema."""

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """Run a verb that is to end with this exit code; what it printed, stdout and stderr."""
        return self.run(*arguments, code=code).output

    def json(self, *arguments: str, code: int = 0) -> Any:
        """The same with ``-o json``, parsed."""
        return json.loads(self.run(*arguments, "-o", "json", code=code).stdout)

    def run(self, *arguments: str, code: int = 0) -> Result:
        result = CliRunner().invoke(command_line, list(arguments), env=self.env)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, f"{arguments}: exit {result.exit_code}\n{result.output}"
        self.printed |= printed.demand_documented(arguments, result.stdout, result.stderr)
        return result

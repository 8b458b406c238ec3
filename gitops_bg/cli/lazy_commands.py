"""Commands that are imported when they run: `--help` and completion know each by its sentence alone.

All libraries behind all verbs take two seconds of CPU to import; a verb pays only for its own. Knows no verb.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from gitops_bg.cli.options.bare_values import with_bare_values
from gitops_bg.cli.options.option_groups import with_option_groups
from gitops_bg.cli.options.quick_values import quick

_ROOM = "gitops_bg.cli.commands"


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb as `--help` lists it: its name, where its function is, and the first sentences of that function."""

    name: str
    place: str
    """``module`` below `gitops_bg.cli.commands`; ``module:function`` unless the function is called as the verb."""
    says: str

    def load(self) -> Any:
        """Import and return the function of the verb."""
        module, _, function = self.place.partition(":")
        return getattr(import_module(f"{_ROOM}.{module}"), function or self.name.replace("-", "_"))


class _QuickCommand(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the words of the command; an option that may stand alone gets the value that it means then."""
        return super().parse_args(ctx, with_bare_values(args))

    def get_params(self, ctx: Any) -> Any:
        """Return the options and arguments, that of help as well."""
        return [quick(each) for each in super().get_params(ctx)]


class LazyCommand(TyperCommand):
    """A verb that is not imported yet: what lists show of it."""

    def __init__(self, verb: Verb, panel: str | None = None) -> None:
        super().__init__(name=verb.name, help=verb.says, rich_help_panel=panel)
        self._verb = verb

    def loaded(self) -> Any:
        """Return the command itself, with its options."""
        alone = typer.Typer(add_completion=False)
        alone.command(self._verb.name, cls=_QuickCommand)(with_option_groups(self._verb.load()))
        return typer.main.get_command(alone)


class LazyGroup(TyperGroup):
    """Commands of which only the one that runs, or is asked for help, is imported."""

    def get_params(self, ctx: Any) -> Any:
        """Return the options, those of help and of completion as well."""
        return [quick(each) for each in super().get_params(ctx)]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command, as its superclass does, and import it."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.loaded() if isinstance(command, LazyCommand) else command, rest


def group_of(name: str, says: str, verbs: Iterable[Verb], panel: str) -> LazyGroup:
    """Return a command that has verbs of its own."""
    commands: Mapping[str, Any] = {verb.name: LazyCommand(verb) for verb in verbs}
    return LazyGroup(name=name, help=says, commands=dict(commands), no_args_is_help=True, rich_help_panel=panel)

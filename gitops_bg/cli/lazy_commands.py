"""Commands that are imported when they run: `--help` and completion know each by its sentence alone.

All libraries behind all verbs take two seconds of CPU to import; a verb pays only for its own. Knows no verb.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from gitops_bg.cli.errors import NameNotFound
from gitops_bg.cli.options.option_groups import with_bare_values, with_option_groups
from gitops_bg.cli.options.quick_values import quick

_ROOM, _WORDS = "gitops_bg.cli.commands", "gitops_bg.words"


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb as `--help` lists it: its name, where its function is, and the first sentences of that function."""

    name: str
    place: str
    """``module`` below `gitops_bg.cli.commands`; ``module:function`` unless the function is called as the verb."""
    says: str
    of_group: str = ""
    """The place of the function that does the same for a release group; empty where there is none."""

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


class _OfEitherKind(_QuickCommand):
    """A verb that somebody may ask about a release group: it is one where no app has the name."""

    of_group: Verb

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the words of the command, and keep them."""
        ctx.meta[_WORDS] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb about the app, or else about the group of the name. Raises what the former said where there is
        neither.
        """
        words = ctx.meta[_WORDS]
        try:
            return super().invoke(ctx)
        except NameNotFound as missing:
            try:
                return self._about_group(ctx, words)
            except NameNotFound:
                raise missing from None
            except TyperException as error:
                raise NameNotFound(f"{missing}; of a release group: {error.format_message()}") from None

    def _about_group(self, ctx: Any, words: list[str]) -> Any:
        from gitops_bg.cli.views.output import notes_held_back

        command = LazyCommand(self.of_group).loaded()
        with notes_held_back(NameNotFound), command.make_context(ctx.info_name, words, parent=ctx.parent) as inner:
            return command.invoke(inner)


class LazyCommand(TyperCommand):
    """A verb that is not imported yet: what lists show of it."""

    def __init__(self, verb: Verb, panel: str | None = None) -> None:
        super().__init__(name=verb.name, help=verb.says, rich_help_panel=panel)
        self._verb = verb

    def loaded(self) -> Any:
        """Return the command itself, with its options."""
        alone, of_group = typer.Typer(add_completion=False), self._verb.of_group
        cls = _OfEitherKind if of_group else _QuickCommand
        alone.command(self._verb.name, cls=cls)(with_option_groups(self._verb.load()))
        command = typer.main.get_command(alone)
        if isinstance(command, _OfEitherKind):
            command.of_group = Verb(self._verb.name, of_group, self._verb.says)
        return command


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

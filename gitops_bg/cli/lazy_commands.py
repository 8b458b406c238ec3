"""What typer lacks: commands that are imported when they run, dataclasses of options that many verbs share, options
whose value may be left out, and plain values read without pydantic. Knows no verb.

All libraries behind all verbs take two seconds of CPU to import; a verb pays only for its own. `--help` and completion
know each verb by its sentence alone.
"""

import dataclasses
import inspect
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.exceptions import TyperException

from gitops_bg.cli.errors import NameNotFound
from gitops_bg.core.dataclass import dataclass

_BARE = {"--worktree": "."}
"""What an option means without a value."""


def with_bare_values(words: list[str]) -> list[str]:
    """Return the words of a command with a value after each option that stands alone, as in ``plan --worktree [DIR]``:
    at the end, or before an option.
    """
    found: list[str] = []
    for word, following in zip(words, [*words[1:], "-"], strict=False):
        found.append(word)
        if word in _BARE and following.startswith("-"):
            found.append(_BARE[word])
    return found


def with_option_groups(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``function`` with each dataclass parameter replaced by its fields, one option for each, for typer to read.
    Such groups may contain groups.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if _is_group(hint)}
    own = [
        parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in groups
    ]
    parameters = [*own, *(parameter for group in groups.values() for parameter in _parameters(group))]

    def called(**values: Any) -> Any:
        made = {name: _made(group, values) for name, group in groups.items()}
        return function(**values, **made)

    called.__name__, called.__doc__ = function.__name__, function.__doc__
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return called


def _is_group(hint: Any) -> bool:
    return isinstance(hint, type) and dataclasses.is_dataclass(hint)


def _parameters(group: type) -> Iterator[inspect.Parameter]:
    hints = typing.get_type_hints(group, include_extras=True)
    for field in dataclasses.fields(group):
        hint = hints[field.name]
        if _is_group(hint):
            yield from _parameters(hint)
        else:
            default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
            yield inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _made(group: type, values: dict[str, Any]) -> Any:
    """Build the group's value; remove its fields from ``values``."""
    hints = typing.get_type_hints(group)
    return group(
        **{
            field.name: _made(hints[field.name], values) if _is_group(hints[field.name]) else values.pop(field.name)
            for field in dataclasses.fields(group)
        }
    )


# --- whether a program reads the answer: known before the command is, so that every error can be an object ---

_OF_PROGRAMS = frozenset(("json", "yaml"))
_LONG, _SHORT = "--output", "-o"


def wants_programs(arguments: Sequence[str]) -> bool:
    """Return whether the arguments of a command ask for JSON or YAML; the last ``-o`` decides, as it does later.

    >>> [wants_programs(["get", *each]) for each in (["-o", "json"], ["--output=yaml"], ["-oyaml"])]
    [True, True, True]
    >>> wants_programs(["get", "-o", "json", "-o", "text"]), wants_programs(["get", "json", "-o"]), wants_programs([])
    (False, False, False)
    >>> wants_programs(["get", "--", "-o", "json"])
    False
    """
    own = list(arguments[: arguments.index("--")]) if "--" in arguments else list(arguments)
    wanted = ""
    for place, each in enumerate(own):
        if each in (_LONG, _SHORT):
            wanted = own[place + 1] if place + 1 < len(own) else ""
        elif each.startswith(f"{_LONG}="):
            wanted = each.partition("=")[2]
        elif each.startswith(_SHORT) and not each.startswith("--"):
            wanted = each.removeprefix(_SHORT)
    return wanted in _OF_PROGRAMS


# --- plain values without pydantic, whose import takes a tenth of a second of CPU ---
# typer builds a validator of pydantic for every option of a command, whether it is given or not. Texts, paths, words of
# a list and what a parser of ours reads need none; all else, and every value that is wrong, is left to typer.

_NOT_PLAIN = object()


class QuickOption(TyperOption):
    """An option of typer; only its plain values are read here."""

    def process_value(self, ctx: Any, value: Any) -> Any:
        """Return the value as its type."""
        read = _read(self, value)
        return super().process_value(ctx, value) if read is _NOT_PLAIN else _called_back(self, ctx, read)


class QuickArgument(TyperArgument):
    """An argument of typer; only its plain values are read here."""

    def process_value(self, ctx: Any, value: Any) -> Any:
        """Return the value as its type."""
        read = _read(self, value)
        return super().process_value(ctx, value) if read is _NOT_PLAIN else _called_back(self, ctx, read)


def quick(parameter: Any) -> Any:
    """Return the option or argument, whose plain values are read quickly from now on."""
    for kind, made in ((TyperOption, QuickOption), (TyperArgument, QuickArgument)):
        if type(parameter) is kind:
            parameter.__class__ = made  # it differs in `process_value` alone; typer makes no other class
    return parameter


def _called_back(parameter: Any, ctx: Any, value: Any) -> Any:
    return parameter.callback(ctx, parameter, value) if parameter.callback else value


def _read(parameter: Any, value: Any) -> Any:
    """Return the value as its type, or `_NOT_PLAIN`."""
    if parameter.multiple or parameter.nargs != 1 or (value is None and parameter.required):
        return _NOT_PLAIN
    if value is None:
        return None
    try:
        return _plain(parameter.type_descriptor, value)
    except ValueError:
        return _NOT_PLAIN


def _plain(described: Any, value: Any) -> Any:
    parser, kind = described.parameter_info.parser, described.annotation
    if parser is not None:
        return parser(value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    return kind(value) if kind in (str, Path) and isinstance(value, str | Path) else _NOT_PLAIN


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
        from gitops_bg.cli.output import notes_held_back

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

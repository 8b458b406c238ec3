"""Reads plain values of options without pydantic, and tells whether a program reads the answer."""

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from typer.core import TyperArgument, TyperOption

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

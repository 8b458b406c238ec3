"""What typer does not know of options: dataclasses of options that many verbs share, and options whose value may be
left out.
"""

import dataclasses
import inspect
import typing
from collections.abc import Callable, Iterator
from typing import Any

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

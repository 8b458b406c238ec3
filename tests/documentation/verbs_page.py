"""Writes docs/reference/commands.md: every verb of the command line with its arguments and options."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args

import typer

from gitops_bg.cli.lazy_commands import LazyCommand
from gitops_bg.cli.main import app

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"
COMMAND = "python -m tests.documentation --write-docs"
SHARED = {"Git": "which repository", "Cluster": "which cluster", "Output": "what is printed"}
"""The groups of options that many verbs have; each is told once."""
ENOUGH = 4
"""How many verbs have to have an option for that."""
Key = tuple[str, str, str]
"""What makes two options the same: their group, name and meaning."""

_HEAD = f"""\
# Commands

Written by `{COMMAND}` (`make docs`) from the command line itself; `gitops-bg VERB --help` shows the same. For rules
of all verbs, such as names of versions, output for programs and exit codes: [The command line](cli.md).

An option with an environment variable takes its value from there if it is not given.
"""

Verb = tuple[str, Any]


def page() -> str:
    """The whole page."""
    verbs = list(_verbs(typer.main.get_command(app), "gitops-bg"))
    uses = Counter(_key(each) for _, command in verbs for each in command.params)
    shared = {key for key, number in uses.items() if number >= ENOUGH and key[0] in SHARED}
    parts = [_HEAD, *(_verb(name, command, shared) for name, command in verbs)]
    return "\n".join([*parts, *(_shared(title, verbs, shared) for title in SHARED)])


def _verbs(command: Any, name: str) -> Iterator[Verb]:
    if not hasattr(command, "list_commands"):
        yield name, command.loaded() if isinstance(command, LazyCommand) else command
        return
    context = typer.Context(command)
    for each in command.list_commands(context):
        yield from _verbs(command.get_command(context, each), f"{name} {each}")


def _verb(name: str, command: Any, shared: set[Key]) -> str:
    loaded = list(command.params)
    help_text, _, example = inspect.cleandoc(command.help or "").partition("Example: ")
    arguments = [each for each in loaded if each.param_type_name == "argument"]
    usage = " ".join([name, *map(_metavar, arguments)])
    told = f"Usage: `{usage}`" + (f". Example: `{_plain(example)}`" if example else "")
    parts = [f"## {name}\n", f"{_plain(help_text)}\n", f"{told}\n"]
    own = [each for each in loaded if _key(each) not in shared and each.name != "help"]
    if rows := [_row(each) for each in own if each.param_type_name == "option"]:
        parts.append(_table(rows))
    own_of = {title: [each for each in loaded if _key(each) in shared and _key(each)[0] == title] for title in SHARED}
    if links := [_link(title, options) for title, options in own_of.items() if options]:
        parts.append(f"And the options of {', '.join(links)}.\n")
    return "\n".join(parts)


def _link(title: str, options: list[Any]) -> str:
    """Where options are told that many verbs have; one that a verb has alone is named."""
    only = f" (`{options[0].opts[0]}` alone)" if len(options) == 1 else ""
    return f"[{title}](#options-{title.lower()}){only}"


def _shared(title: str, verbs: list[Verb], shared: set[Key]) -> str:
    every = [each for _, command in verbs for each in command.params]
    rows = {_key(each): _row(each) for each in reversed(every) if _key(each) in shared and _key(each)[0] == title}
    head = f"## Options: {title}\n\nThey say {SHARED[title]}; not every verb has all of them.\n\n"
    return head + _table(list(rows.values())[::-1])


def _key(parameter: Any) -> Key:
    return (getattr(parameter, "rich_help_panel", None) or "", parameter.opts[0], parameter.help or "")


def _metavar(argument: Any) -> str:
    name = (argument.metavar or argument.name.upper()).rstrip(".").strip("{}[]")
    more = "…" if argument.nargs == -1 else ""
    return f"{name}{more}" if argument.required else f"[{name}{more}]"


def _row(option: Any) -> tuple[str, ...]:
    names = ", ".join(f"`{each}`" for each in (*option.opts, *option.secondary_opts))
    value = "" if option.is_flag else f" {option.metavar or _type(option)}"
    variables = [option.envvar] if isinstance(option.envvar, str) else list(option.envvar or ())
    told = " ".join(f"`{each}`" for each in variables)
    return (names + value.replace("|", "\\|"), told, _default(option), _plain(option.help or ""))


def _type(option: Any) -> str:
    annotation = option.type_descriptor.annotation
    kind = next((each for each in (annotation, *get_args(annotation)) if isinstance(each, type)), str)
    if issubclass(kind, Enum):
        return "|".join(str(each.value) for each in kind)
    return {int: "NUMBER", float: "NUMBER", Path: "FILE"}.get(kind, "TEXT")


def _default(option: Any) -> str:
    if option.required:
        return "required"
    shown = option.show_default
    value = shown if isinstance(shown, str) else option.default
    if value in (None, False, (), [], "") or callable(value):
        return ""
    return f"`{getattr(value, 'value', value)}`"


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"\[/?[a-z]+\]", "", text)).strip().replace("|", "\\|")


def _table(rows: list[tuple[str, ...]]) -> str:
    lines = [("Option", "Variable", "Default", "Meaning"), ("---",) * 4, *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)

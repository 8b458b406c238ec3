"""A verb is imported when it runs, and not before; what lists say of it is what it says itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.cli.lazy_commands import LazyCommand, LazyGroup, Verb
from gitops_bg.cli.registry import GROUP_VERBS, GROUPS, LOOK, VERBS, commands
from tests.support.imports import ENGINE, HEAVY, OF_OTHERS, imported_by

ALL = [verb for verbs in VERBS.values() for verb in verbs] + [verb for *_, verbs in GROUPS for verb in verbs]


def sentences(help_text: str) -> str:
    """The first paragraph, on one line."""
    return " ".join(help_text.partition("\n\n")[0].split())


@pytest.mark.parametrize("verb", ALL, ids=lambda verb: verb.place)
def test_a_verb_is_listed_with_its_own_first_sentences(verb: Verb) -> None:
    assert sentences(LazyCommand(verb).loaded().help) == verb.says


VIEWS = ("get", "tree", "explain", "plan", "diff", "history")
"""What shows an app and a release group by one view."""


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_of_both_kinds_has_the_same_options_for_both(name: str) -> None:
    (verb,) = (each for each in VERBS[LOOK] if each.name == name)
    (of_group,) = (each for each in GROUP_VERBS if each.name == name)
    assert verb.of_group == of_group.place
    options = [
        {option for each in LazyCommand(one).loaded().params for option in each.opts if option.startswith("-")}
        for one in (verb, of_group)
    ]
    assert options[0] == options[1]


def listed() -> Iterator[str]:
    for command in commands():
        if isinstance(command, LazyGroup):
            yield from (f"{command.name} {name}" for name in command.commands)
        else:
            yield command.name


def test_no_verb_is_listed_twice() -> None:
    names = list(listed())
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "arguments", [("--version",), ("--help",), ("get", "--help"), ("group", "--help")], ids=" ".join
)
def test_what_only_shows_text_imports_no_heavy_library_and_no_engine(arguments: tuple[str, ...]) -> None:
    assert imported_by(*arguments) & (HEAVY | ENGINE) == set()


def test_what_reads_files_alone_imports_nothing_that_speaks_to_servers(tmp_path: Path) -> None:
    """`check` is in every pull request and every commit hook."""
    imported_by("init", str(tmp_path / "config"))
    assert imported_by("check", str(tmp_path / "config")) & (OF_OTHERS | {"httpcore", "urllib3", "deepdiff"}) == set()

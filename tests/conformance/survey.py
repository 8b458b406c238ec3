"""Finds the tests that prove a scenario, by their names, and those that mention a field. Runs nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.conformance.reference import EVERY

TESTS = Path(__file__).parents[1]
OTHER_FOLDERS = ("core", "spec")
"""Where fields are tested besides here."""


@dataclass(frozen=True)
class Proof:
    """One test, and the scenarios that its name says it proves."""

    file: str
    """Relative to the repository."""
    name: str
    asserts: str
    """Its docstring, or, without one, its name as a sentence."""
    has_docstring: bool
    scenarios: tuple[str, ...]

    @property
    def on_a_cluster(self) -> bool:
        """Whether it runs against a cluster; a test of the engine alone proves no scenario."""
        return self.file.startswith(("tests/conformance/", "tests/integration/", "tests/e2e/"))


@cache
def proofs() -> tuple[Proof, ...]:
    """The proofs of every scenario, wherever they are; in the order of files and lines."""
    return tuple(proof for path in sorted(TESTS.rglob("test_*.py")) for proof in _proofs_in(path))


def proofs_of(scenario: str) -> list[Proof]:
    """The tests of one scenario."""
    return [proof for proof in proofs() if scenario in proof.scenarios]


def is_proven(scenario: str) -> bool:
    """Whether a test shows the scenario on a cluster."""
    return any(proof.on_a_cluster for proof in proofs_of(scenario))


def _proofs_in(path: Path) -> Iterator[Proof]:
    text = path.read_text()
    if not any(_scenarios(name) for name in re.findall(r"def (test_\w+)", text)):
        return  # Parsing takes longer than all the rest.
    for found in ast.walk(ast.parse(text)):
        if isinstance(found, ast.FunctionDef) and found.name.startswith("test_") and _scenarios(found.name):
            paragraph = " ".join((ast.get_docstring(found) or "").split())
            words = split(found.name)[1]
            asserts = paragraph or f"{words[:1].upper()}{words[1:]}."
            file = str(path.relative_to(TESTS.parent))
            yield Proof(file, found.name, asserts, bool(paragraph), _scenarios(found.name))


def _scenarios(name: str) -> tuple[str, ...]:
    """Those that a test proves: by its name, or because a scenario names it."""
    return split(name)[0] + tuple(each.id for each in EVERY.values() if each.test == name)


def split(name: str) -> tuple[tuple[str, ...], str]:
    """The scenarios at the beginning of a test's name, and the rest of it as words.

    >>> split("test_argo_21_22_24_nothing_of_that_name_is_touched")
    (('argo_21', 'argo_22', 'argo_24'), 'nothing of that name is touched')
    >>> split("test_L6_G7_crash")
    (('L6', 'G7'), 'crash')
    >>> split("test_argo_gap_crash_between_every_two_writes")
    (('argo_gap_crash',), 'between every two writes')
    """
    rest, found = name.removeprefix("test_"), []
    family = ""
    while True:
        fits = [each for each in EVERY if _begins(rest, each) or _begins(f"{family}_{rest}", each)]
        if not fits:
            return tuple(found), rest.replace("_", " ")
        longest = max(fits, key=len)
        consumed = longest if _begins(rest, longest) else longest.removeprefix(f"{family}_")
        rest = rest.removeprefix(consumed).removeprefix("_")
        found.append(longest)
        family = longest.partition("_")[0] if re.fullmatch(r"argo_\d+", longest) else ""


def _begins(text: str, scenario: str) -> bool:
    return text == scenario or text.startswith(f"{scenario}_")


@cache
def _sources() -> dict[str, str]:
    folders = (Path(__file__).parent, *(TESTS / folder for folder in OTHER_FOLDERS))
    paths = (path for folder in folders for path in sorted(folder.rglob("test_*.py")))
    return {str(path.relative_to(TESTS.parent)): path.read_text() for path in paths}


def names_in_this_suite() -> set[str]:
    """Every test of scenarios here: all but those of the documentation itself."""
    paths = (path for path in Path(__file__).parent.glob("test_*.py") if path.stem != "test_documented")
    return {name for path in paths for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)}


def mentions(field: str) -> list[str]:
    """The test files that mention a field, by its name in app.yaml or in Python; a plain word only as a key."""
    snake = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", field).lower()
    if field != snake:
        return [file for file, words in _words().items() if field in words or snake in words]
    as_key = re.compile(rf"""["']{field}["']\]?[:,\]]|\b{field}: ?\{{""")
    return [file for file, words in _words().items() if field in words and as_key.search(_sources()[file])]


@cache
def _words() -> dict[str, frozenset[str]]:
    return {file: frozenset(re.findall(r"\w+", text)) for file, text in _sources().items()}

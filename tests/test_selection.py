"""Each row of `actions.md` has a story with real Git, and `make test` runs it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.selection import HOLD_THE_SANDBOX, is_first, is_shown, is_told_twice
from tests.stories import STORIES

ROOT = Path(__file__).parents[1]


def rows() -> Iterator[tuple[str, str]]:
    """The first two columns of all tables of the page; an empty first one repeats that of the row above."""
    first = ""
    lines = (ROOT / "docs/reference/actions.md").read_text(encoding="utf-8").splitlines()
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("|") and not line.startswith("|---") and not below.startswith("|---"):
            you_do, situation, _ = (cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|"))
            first = you_do or first
            yield first, situation


def test_every_row_has_a_story_and_every_story_a_row() -> None:
    assert list(STORIES) == list(rows())


@pytest.mark.parametrize("node", sorted(set(STORIES.values())))
def test_make_test_runs_the_story(node: str) -> None:
    file, *names = node.split("::")
    found: list[ast.stmt] = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
    for name in names:
        (one,) = (each for each in found if isinstance(each, ast.FunctionDef | ast.ClassDef) and each.name == name)
        found = one.body
    marks = [ast.unparse(each) for each in getattr(one, "decorator_list", [])]
    assert not [each for each in marks if "slow" in each]
    assert is_shown(file)
    assert is_first(node)


def test_a_story_is_told_on_the_real_cluster_and_what_holds_the_sandbox_to_it_on_both() -> None:
    story = "tests/conformance/argo/test_functional.py::test[sandbox]"
    assert is_told_twice(story, "sandbox")
    assert not is_told_twice(story, "control-plane")
    assert not is_told_twice(story, None)
    assert not is_told_twice("tests/integration/test_two_clusters_watches.py::test[sandbox]", "sandbox")
    assert is_told_twice("tests/integration/traffic/test_groups.py::test[sandbox]", "sandbox")


@pytest.mark.parametrize("start", HOLD_THE_SANDBOX)
def test_what_holds_the_sandbox_to_the_real_cluster_is_there(start: str) -> None:
    assert [file for file in (ROOT / "tests").rglob("test_*.py") if file.relative_to(ROOT).as_posix().startswith(start)]

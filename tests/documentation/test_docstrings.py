"""What is written below a field is about that field."""

import ast
from itertools import pairwise
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "gitops_bg"
FILES = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("file", FILES)
def test_no_docstring_stands_below_another(file: str):
    lost = doubled(ast.parse((PACKAGE / file).read_text(encoding="utf-8")))
    assert not lost, f"lines {lost}: the field that each is about stands somewhere else"


def test_a_docstring_below_another_is_found():
    assert doubled(ast.parse("class A:\n    x: int\n    y: int\n    'of y'\n    'of x'\n")) == [5]


def doubled(tree: ast.AST) -> list[int]:
    bodies = (body for node in ast.walk(tree) if isinstance(body := getattr(node, "body", None), list))
    return [after.lineno for body in bodies for before, after in pairwise(body) if _both(before, after)]


def _both(*statements: ast.stmt) -> bool:
    return all(
        isinstance(each, ast.Expr) and isinstance(getattr(each.value, "value", None), str) for each in statements
    )

"""A docstring below a field documents that field."""

import ast
from itertools import pairwise
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "gitops_bg"


def test_no_docstring_stands_below_another():
    """The field that such a one is about stands somewhere else."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    lost = [f"{path.relative_to(PACKAGE)}:{line}" for path, text in texts.items() for line in doubled(ast.parse(text))]
    assert len(texts) > 100
    assert not lost


def test_a_docstring_below_another_is_found():
    assert doubled(ast.parse("class A:\n    x: int\n    y: int\n    'of y'\n    'of x'\n")) == [5]


def doubled(tree: ast.AST) -> list[int]:
    bodies = (body for node in ast.walk(tree) if isinstance(body := getattr(node, "body", None), list))
    return [after.lineno for body in bodies for before, after in pairwise(body) if _both(before, after)]


def _both(*statements: ast.stmt) -> bool:
    return all(
        isinstance(each, ast.Expr) and isinstance(getattr(each.value, "value", None), str) for each in statements
    )

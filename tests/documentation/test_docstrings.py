"""A docstring below a field documents that field."""

import ast
import re
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


IN_PLACE_OF_A_VERB = frozenset(
    re.findall(
        r"\w+",
        """
        A All An Another As Both Each Every For From How In Its New Nobody Nothing Of One Only Our People Somebody
        That The There These This Those Up Until What When Where Whether Which Who Whose Why Without
        """,
    )
)
"""First words of what says what there is, not what is done. Ruff's D401 knows some of them."""


def test_a_docstring_of_a_function_begins_with_what_it_does():
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    left = [f"{path.relative_to(PACKAGE)}:{line}" for path, text in texts.items() for line in named(ast.parse(text))]
    assert not left, "begin with a verb: Return, Yield, Write …"


def test_a_docstring_that_names_the_answer_is_found():
    properties = "class A:\n    @property\n    def x(self):\n        'The x.'\n"
    assert named(ast.parse(f"def f():\n    'Whether it is so.'\ndef g():\n    'Return it.'\n{properties}")) == [2]


def named(tree: ast.AST) -> list[int]:
    """The lines of such docstrings; what is read like a field is said like one."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return [
        node.body[0].lineno
        for node in functions
        if not any("property" in ast.unparse(each) for each in node.decorator_list)
        if node.name != "__init__" and re.split(r"\W", ast.get_docstring(node) or "")[0] in IN_PLACE_OF_A_VERB
    ]

"""Lint of our own: text from outside is divided and matched by its format, not by what Unicode calls a line or a digit.

Branches, messages and manifests may contain U+2028, U+0085, U+00A0, Arabic digits.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import gitops_bg

PACKAGES = ("repo", "agent", "core", "spec", "cluster")
EXCEPTIONS = {
    "core/foreign_text.py: splitlines": "a secret is hidden line by line, whatever somebody else takes for a line",
    "spec/expressions.py: Unicode": "counts loops, so that they are bounded: one too many is no harm",
    "spec/policies/expressions.py: Unicode": "looks for loops, so that they are bounded: one too many is no harm",
}
CLASSES = re.compile(r"\\[sSdDwWbB]")
LOOSE_END = re.compile(r"(?<!\\)\$(?![^\[]*\])")
FUNCTIONS = frozenset(("compile", "match", "fullmatch", "search", "sub", "split", "findall", "finditer"))


def findings(path: Path, text: str) -> Iterator[str]:
    """What a module does that is banned."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr == "splitlines":
            yield f"{path}: splitlines"
        if _is_pattern(node):
            yield from (f"{path}: {what}" for what in _wrong_in(node, ast.get_source_segment(text, node) or ""))


def _is_pattern(node: ast.AST) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    of_re = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "re"
    return of_re and isinstance(called, ast.Attribute) and called.attr in FUNCTIONS


def _wrong_in(node: ast.AST, source: str) -> Iterator[str]:
    assert isinstance(node, ast.Call)
    parts = [each.value for each in ast.walk(node.args[0]) if isinstance(each, ast.Constant)]
    written = "".join(
        each if isinstance(each, str) else each.decode() for each in parts if isinstance(each, str | bytes)
    )
    is_text = not any(isinstance(each, bytes) for each in parts)
    if is_text and CLASSES.search(written) and "ASCII" not in source:
        yield "Unicode"
    if LOOSE_END.search(written) and "MULTILINE" not in source:
        yield "$ before a last line feed"


def test_nothing_from_outside_is_matched_by_what_unicode_calls_a_line_a_blank_or_a_digit() -> None:
    """Else: `core.foreign_text.lines_of`, `re.ASCII`, and `\\Z` or `fullmatch` for the end."""
    root = Path(gitops_bg.__file__).parent
    modules = [file for package in PACKAGES for file in sorted((root / package).rglob("*.py"))]
    assert len(modules) > 250
    found = [each for file in modules for each in findings(file.relative_to(root), file.read_text())]
    assert set(found) == set(EXCEPTIONS)


def test_each_of_them_is_found() -> None:
    code = """
text.splitlines()
re.compile(r"\\s+x")
re.search(rf"{name}\\d", text)
re.compile(r"x$")
re.compile(rb"x$")
"""
    assert sorted(findings(Path("a.py"), code)) == [
        "a.py: $ before a last line feed",
        "a.py: $ before a last line feed",
        "a.py: Unicode",
        "a.py: Unicode",
        "a.py: splitlines",
    ]
    sound = 're.compile(r"\\s", re.ASCII); re.compile(rb"\\d"); re.compile(r"[$]x\\$"); re.compile("x$", re.MULTILINE)'
    assert list(findings(Path("a.py"), sound)) == []

"""What the text of a Python tree says of its size: lines, files, functions, names of classes. Nothing is imported."""

from __future__ import annotations

import ast
import io
import statistics
import subprocess
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = "gitops_bg/"
TOOLS = ("gitops_bg/sandbox/", "gitops_bg/cli/demo/")
"""For demos and tests; nothing of the product needs them, and they count apart."""
TESTS = "tests/"
_LAYOUT = frozenset(
    (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
)


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method: where it stands, and how many lines its body has, docstring not counted."""

    place: str
    lines: int


@dataclass(frozen=True)
class Source:
    """One file of Python."""

    path: str
    text: str

    @property
    def lines(self) -> int:
        """All lines."""
        return self.text.count("\n")

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed file."""
        return ast.parse(self.text, self.path)

    @cached_property
    def code(self) -> int:
        """Lines that hold code: no blank line, no comment, no docstring."""
        held: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type not in _LAYOUT:
                held.update(range(token.start[0], token.end[0] + 1))
        return len(held - set(_docstring_lines(self.tree)))

    def functions(self) -> Iterator[Function]:
        """Yield each function and method, nested ones too."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield Function(f"{self.path}:{node.lineno} {node.name}", _body_lines(node))

    def public_classes(self) -> Iterator[str]:
        """Yield the names of classes of the module that others may use."""
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name


@dataclass(frozen=True, slots=True)
class FunctionLengths:
    """How long functions are."""

    number: int
    median: float
    ninetieth: int
    longest: Function


def sources(folder: str, without: tuple[str, ...] = ()) -> list[Source]:
    """Return the files of Python below a folder that Git knows or would know, in order of their paths."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", f"{folder}*.py"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    kept = sorted({name for name in names if name and not name.startswith(without) and (ROOT / name).exists()})
    return [Source(name, (ROOT / name).read_text()) for name in kept]


def function_lengths(of: Iterable[Source]) -> FunctionLengths:
    """Return median, 90th percentile and the longest of the functions of these files."""
    functions = sorted((function for source in of for function in source.functions()), key=lambda each: each.lines)
    lengths = [function.lines for function in functions]
    return FunctionLengths(len(functions), statistics.median(lengths), lengths[len(lengths) * 9 // 10], functions[-1])


def shared_names(of: Iterable[Source]) -> dict[str, list[str]]:
    """Return the public names of classes that stand in more than one file, each with these files."""
    places: dict[str, list[str]] = defaultdict(list)
    for source in of:
        for name in source.public_classes():
            places[name].append(source.path)
    return {name: files for name, files in sorted(places.items()) if len(files) > 1}


def shared_functions(one: Iterable[Source], other: Iterable[Source]) -> list[str]:
    """Return the names of functions of modules that stand on both sides, as where one question is answered twice."""
    return sorted(_function_names(one) & _function_names(other))


def files_by_folder(of: Iterable[Source], depth: int) -> Counter[str]:
    """Return how many lines each folder has, folders cut to ``depth`` parts."""
    lines: Counter[str] = Counter()
    for source in of:
        lines["/".join(source.path.split("/")[:-1][:depth])] += source.lines
    return lines


def _function_names(of: Iterable[Source]) -> set[str]:
    return {node.name for source in of for node in source.tree.body if isinstance(node, ast.FunctionDef)}


def _docstring_lines(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of texts that stand alone: docstrings, and those of fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    length = (node.end_lineno or node.lineno) - node.lineno + 1
    docstring = node.body[0] if ast.get_docstring(node) is not None else None
    return length - ((docstring.end_lineno or 0) - docstring.lineno + 1 if docstring else 0)

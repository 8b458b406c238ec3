"""Mutants of the core: one small change of its source each, which the tables of `tests/core` must notice.

`python -m tests.mutants` tries all of them, `--sample N` as many, chosen by a fixed seed. Each runs in a fork of one
process that has imported pytest and nothing of the core; the tests that are nearest to the mutated function go first.
"""

import argparse
import ast
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
CORE = ROOT / "gitops_bg" / "core"
SURVIVORS = Path(__file__).with_name("survivors.txt")
SECONDS = 60

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


class Mutant(NamedTuple):
    """A change: in a file of the core, the how-manieth node of its tree, and what becomes of it."""

    file: str
    line: int
    what: str
    place: int

    def __str__(self) -> str:
        return f"{self.file}: {self.what}"


def mutants() -> list[Mutant]:
    """All of them, in a fixed order."""
    return [mutant for path in sorted(CORE.rglob("*.py")) for mutant in _of(path)]


def _of(path: Path) -> Iterator[Mutant]:
    name = str(path.relative_to(ROOT))
    tree = ast.parse(path.read_text(encoding="utf-8"))
    owners = _owners(tree)
    for place, node in enumerate(ast.walk(tree)):
        owner = owners.get(node)
        if owner is None:
            continue
        before = ast.unparse(node)
        after = _changed(node)
        if after is not None:
            yield Mutant(name, node.lineno, f"{owner}: {_short(before)} -> {_short(ast.unparse(after))}", place)


def _owners(tree: ast.Module) -> dict[ast.AST, str]:
    """The function each expression and statement belongs to; nothing outside of functions, no docstring."""
    owners: dict[ast.AST, str] = {}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name != "__str__":
            for statement in function.body:
                for node in ast.walk(statement):
                    owners[node] = function.name
    return owners


def _short(source: str) -> str:
    line = " ".join(source.split())
    return line if len(line) <= 90 else f"{line[:87]}..."


def _changed(node: ast.AST) -> ast.AST | None:  # one kind of mutation a line
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
            return ast.Compare(left, [_COMPARISONS[type(op)]()], [right])
        case ast.BoolOp(op=ast.And(), values=values):
            return ast.BoolOp(ast.Or(), values)
        case ast.BoolOp(op=ast.Or(), values=values):
            return ast.BoolOp(ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return ast.IfExp(test, orelse, body)
        case ast.If(test=test, body=body, orelse=orelse):
            return ast.If(ast.Constant(False), body, orelse)
        case ast.Constant(value=bool(value)):
            return ast.Constant(not value)
        case ast.Constant(value=int(value)):
            return ast.Constant(value + 1)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return ast.BinOp(left, ast.Sub(), right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return ast.BinOp(left, ast.Add(), right)
        case ast.Call(func=ast.Name(id="max"), args=args, keywords=keywords):
            return ast.Call(ast.Name("min", ast.Load()), args, keywords)
        case ast.Call(func=ast.Name(id="min"), args=args, keywords=keywords):
            return ast.Call(ast.Name("max", ast.Load()), args, keywords)
        case ast.Call(func=ast.Name(id="replace"), args=[first], keywords=[_, *rest]):
            return ast.Call(ast.Name("replace", ast.Load()), [first], rest)
    return None


def source_of(mutant: Mutant) -> str:
    """The whole file with the change."""
    tree = ast.parse((ROOT / mutant.file).read_text(encoding="utf-8"))
    node = next(one for place, one in enumerate(ast.walk(tree)) if place == mutant.place)
    changed = _changed(node)
    assert changed is not None
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is node:
                setattr(parent, field, changed)
            elif isinstance(value, list):
                setattr(parent, field, [changed if one is node else one for one in value])
    return ast.unparse(ast.fix_missing_locations(tree))


class _Mutated(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, mutant: Mutant) -> None:
        parts = Path(mutant.file).with_suffix("").parts
        self._name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self._source, self._file = source_of(mutant), mutant.file

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_loader(fullname, self) if fullname == self._name else None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(ROOT / self._file)
        exec(compile(self._source, self._file, "exec"), module.__dict__)


def tests_for(mutant: Mutant) -> list[str]:
    """The tables of `tests/core`, but for the slow random histories.

    First that of the module's own name, then those that import from it, then those that say the function's name.
    """
    module = ".".join(Path(mutant.file).with_suffix("").parts)
    own, function = f"test_{Path(mutant.file).stem}.py", mutant.what.partition(":")[0]

    def distance(path: Path) -> tuple[bool, bool, bool, str]:
        text = path.read_text(encoding="utf-8")
        return path.name != own, module not in text, function not in text, path.name

    tests = sorted((ROOT / "tests" / "core").glob("test_*.py"), key=distance)
    return [f"tests/core/{path.name}" for path in tests if path.name != "test_invariants.py"]


def is_killed(mutant: Mutant) -> bool:
    """Whether any test fails. Forks: what is imported here stays as it is."""
    child = os.fork()
    if child == 0:
        os._exit(_run(mutant))
    try:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
    except ChildProcessError:
        return True


def _run(mutant: Mutant) -> int:
    import pytest

    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # Of CPU: a loop without end is noticed, too.
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    sys.meta_path.insert(0, _Mutated(mutant))
    quiet = ["-q", "-x", "--no-header", "--noconftest", "-p", "no:cacheprovider", "-p", "no:xdist"]
    try:
        return int(pytest.main([*quiet, *tests_for(mutant)]) != 0)
    except BaseException:
        return 1


def sample(many: int) -> list[Mutant]:
    """So many of them, spread over the core; always the same as long as the source is."""
    return sorted(mutants(), key=lambda one: hashlib.sha256(str(one).encode()).digest())[:many]


def survivors() -> dict[str, str]:
    """Mutants that may live, each with the reason why: lines ``file: function: before -> after  # why``."""
    lines = SURVIVORS.read_text(encoding="utf-8").splitlines() if SURVIVORS.exists() else []
    told = (line.partition("  # ") for line in lines if line and not line.startswith("#"))
    return {mutant: why for mutant, _, why in told}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, help="only so many")
    parser.add_argument("--only", default="", help="only of files whose path contains this")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    chosen = [one for one in (sample(asked.sample) if asked.sample else mutants()) if asked.only in one.file]
    known, alive = survivors(), []
    with multiprocessing.Pool(asked.processes) as pool:
        for mutant, killed in zip(chosen, pool.imap(is_killed, chosen), strict=True):
            if not killed:
                alive.append(mutant)
                print(
                    f"{mutant}  # {known.get(str(mutant), '(unexplained)')}  [{mutant.file}:{mutant.line}]", flush=True
                )
    unexplained = [one for one in alive if str(one) not in known]
    print(f"{len(chosen)} mutants, {len(alive)} survived, {len(unexplained)} of them unexplained")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())

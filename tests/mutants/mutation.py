"""A mutant: one small change of one place in the source of the core."""

import ast
import hashlib
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
CORE = ROOT / "gitops_bg" / "core"
PROBE = "__reached__"
"""A builtin that answers None."""

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


class Owner(NamedTuple):
    """The outermost function that a node belongs to, by its qualified name, and the statement that it is part of."""

    function: str
    name: str
    """Of the innermost function."""
    line: int
    """The first of the statement."""


class Mutant(NamedTuple):
    """A change: in a file of the core, the how-manieth node of its tree, and what becomes of it."""

    file: str
    owner: Owner
    what: str
    place: int

    @property
    def statement(self) -> tuple[str, int]:
        """What a probe says who comes to the changed statement: its file, and its first line."""
        return self.file, self.owner.line

    def __str__(self) -> str:
        return f"{self.file}: {self.what}"


def mutants() -> list[Mutant]:
    """All of them, in a fixed order."""
    return [mutant for path in sorted(CORE.rglob("*.py")) for mutant in _of(path)]


def sample(many: int) -> list[Mutant]:
    """So many of them, spread over the core; the same ones wherever their functions are moved to."""
    return sorted(mutants(), key=lambda one: hashlib.sha256(one.what.encode()).digest())[:many]


def code_of(mutant: Mutant) -> CodeType:
    """The outermost function's code with the change."""
    path = ROOT / mutant.file
    tree = ast.parse(path.read_text(encoding="utf-8"))
    node = next(one for place, one in enumerate(ast.walk(tree)) if place == mutant.place)
    changed = _changed(node)
    assert changed is not None
    _replace(tree, node, ast.copy_location(changed, node))
    return _find(compile(ast.fix_missing_locations(tree), str(path), "exec"), mutant.owner.function)


def probed(chosen: Iterable[Mutant]) -> Iterator[CodeType]:
    """The code of each function that a mutant changes, with a call of `PROBE` before the changed statements."""
    functions: dict[str, dict[int, str]] = {}
    for mutant in chosen:
        functions.setdefault(mutant.file, {})[mutant.owner.line] = mutant.owner.function
    for file, by_line in functions.items():
        path = ROOT / file
        tree = _Probing(file, by_line).visit(ast.parse(path.read_text(encoding="utf-8")))
        code = compile(ast.fix_missing_locations(tree), str(path), "exec")
        yield from (_find(code, function) for function in set(by_line.values()))


class _Probing(ast.NodeTransformer):
    """Puts a probe before the statements that begin on some lines of a file."""

    def __init__(self, file: str, lines: Container[int]) -> None:
        self._file, self._lines = file, lines
        self._line = 0
        """Of the statement that is visited."""

    def visit(self, node: ast.AST) -> Any:
        if not isinstance(node, ast.stmt):
            return super().visit(node)
        outer, self._line = self._line, node.lineno
        self.generic_visit(node)
        self._line = outer
        return [ast.Expr(self._probe(node.lineno)), node] if node.lineno in self._lines else node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        """It may run long after its statement."""
        self.generic_visit(node)
        if self._line in self._lines:
            node.body = ast.BoolOp(ast.Or(), [self._probe(self._line), node.body])
        return node

    def _probe(self, line: int) -> ast.Call:
        return ast.Call(ast.Name(PROBE, ast.Load()), [ast.Constant((self._file, line))], [])


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
            yield Mutant(name, owner, f"{owner.name}: {_short(before)} -> {_short(ast.unparse(after))}", place)


def _owners(tree: ast.Module) -> dict[ast.AST, Owner]:
    """Of each expression and statement in functions; of nothing outside of them."""
    owners: dict[ast.AST, Owner] = {}

    def visit(node: ast.AST, scope: str, outermost: str, name: str, line: int) -> None:
        if isinstance(node, ast.stmt):
            line = node.lineno
        if outermost:
            owners[node] = Owner(outermost, name, line)
        for child in ast.iter_child_nodes(node):
            if isinstance(node, ast.FunctionDef) and child in node.body and node.name != "__str__":
                visit(child, scope, outermost or f"{scope}{node.name}", node.name, line)
            elif isinstance(node, ast.ClassDef) and not outermost:
                visit(child, f"{scope}{node.name}.", "", "", line)
            elif outermost or isinstance(node, ast.Module):
                visit(child, scope, outermost, name, line)

    visit(tree, "", "", "", 0)
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


def _replace(tree: ast.AST, node: ast.AST, by: ast.AST) -> None:
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is node:
                setattr(parent, field, by)
            elif isinstance(value, list):
                setattr(parent, field, [by if one is node else one for one in value])


def _find(code: CodeType, qualified_name: str) -> CodeType:
    """The function's code in that of its module."""
    within = [one for one in code.co_consts if isinstance(one, CodeType)]
    for one in within:
        if one.co_qualname == qualified_name:
            return one
        if qualified_name.startswith(f"{one.co_qualname}."):
            return _find(one, qualified_name)
    raise LookupError(qualified_name)

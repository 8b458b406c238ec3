"""What the calls in a test's source say in words: whether one of them is what a page shows. Runs nothing.

A test runs a command in a world of its own, with other names and numbers: compared is what is done, the verb, and how,
the options.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_PROGRAMS = frozenset(("gitops-bg", "kubectl", "git", "helm", "make"))
_WITH_VERBS = frozenset(("group", "gate", "policies"))
_NEVER_MEANT = frozenset(("-n", "--namespace"))
"""Where a command is done, not how."""


def essence(command: str) -> frozenset[str]:
    """The words of a command of a page that say what is done; none for a program that tests call in another way.

    >>> sorted(essence("gitops-bg gate open shop/web release --reason 'tested by QA'"))
    ['--reason', 'gate', 'open']
    >>> sorted(essence("gitops-bg plan --branch my-change -o markdown > comment.md")), essence("cat comment.md")
    (['--branch', '-o', 'plan'], frozenset())
    """
    program, *words = _until_the_next(shlex.split(command.replace("\\\n", " "), comments=True))
    if program not in _PROGRAMS:
        return frozenset()
    options = {each.partition("=")[0] for each in words if re.match(r"--?[a-z]", each)} - _NEVER_MEANT
    named = [each for at, each in enumerate(words) if re.fullmatch(r"[a-z][a-z-]*", each) and _bare(words, at)]
    many = 2 if named and named[0] in _WITH_VERBS else 1
    return frozenset((*named[:many], *options))


def said_by(source: Path) -> tuple[frozenset[str], ...]:
    """The words of each call of a file, and of each list of words in it."""
    return _said(source, source.stat().st_mtime_ns)


def _bare(words: list[str], at: int) -> bool:
    """Whether a word is no value of an option before it."""
    return at == 0 or not words[at - 1].startswith("-")


def _until_the_next(words: list[str]) -> list[str]:
    end = next((at for at, each in enumerate(words) if each in ("|", ">", "&&", ";")), len(words))
    return words[:end] or [""]


@cache
def _said(source: Path, _changed: int) -> tuple[frozenset[str], ...]:
    tree = ast.parse(source.read_text())
    known = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    groups = (node for node in ast.walk(tree) if isinstance(node, ast.Call | ast.Tuple | ast.List))
    return tuple(frozenset(_words(node, known)) for node in groups)


def _words(node: ast.AST, known: dict[str, ast.expr], deep: int = 0) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)):
            yield from text.split()
        case ast.JoinedStr(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _words(part, known, deep)
        case ast.Call(args=arguments):
            for argument in arguments:
                yield from _words(argument, known, deep)
        case ast.Starred(value=value) | ast.BinOp(left=value):
            yield from _words(value, known, deep)
        case ast.Name(id=name) if name in known and deep < 2:
            yield from _words(known[name], known, deep + 1)

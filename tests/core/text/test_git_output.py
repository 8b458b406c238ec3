"""Git's output is parsed in one place, as bytes; the time of a pattern over it is linear in its length."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitops_bg.repo import repository
from gitops_bg.repo.git.output import lines, parts, parts_of
from gitops_bg.repo.read import history
from gitops_bg.repo.read.reverts import markers_in, requests_of

REPO = Path(repository.__file__).parent
THE_ONE_PLACE = REPO / "git" / "output.py"


def _splits(tree: ast.AST) -> Iterator[str]:
    """Calls that split or decode what may come from Git."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            on_lines = any(
                isinstance(each, ast.Constant) and each.value in ("\n", b"\n", "\0", b"\0") for each in node.args
            )
            splits = node.func.attr in {"split", "rsplit", "partition", "rpartition"} and on_lines
            if splits or node.func.attr in {"splitlines", "decode"}:
                yield f"line {node.lineno}: .{node.func.attr}"


@pytest.mark.parametrize("file", sorted(REPO.rglob("*.py")), ids=lambda file: str(file.relative_to(REPO)))
def test_nobody_else_splits_or_decodes_what_git_prints(file: Path) -> None:
    if file != THE_ONE_PLACE:
        assert list(_splits(ast.parse(file.read_text()))) == []


def test_that_test_can_fail() -> None:
    assert len(list(_splits(ast.parse('a.splitlines(); a.split(b"\\n"); a.partition("\\0"); a.decode()')))) == 4


TYPED = "a\x01\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\r\nb".encode()


def test_nothing_that_people_can_type_is_an_end() -> None:
    assert parts(TYPED + b"\0" + TYPED + b"\0") == [TYPED, TYPED]
    assert lines(TYPED.replace(b"\n", b"") + b"\nb\n") == [TYPED.replace(b"\n", b""), b"b"]
    assert (parts(b""), lines(b"")) == ([], [])


@pytest.mark.parametrize("longest", [1000, 4, 1])
def test_parts_are_the_same_however_they_arrive_as_far_as_they_are_read(longest: int) -> None:
    output = TYPED + b"\0\0" + TYPED + b"\0"
    for size in range(1, len(output)):
        chunks = (output[at : at + size] for at in range(0, len(output), size))
        assert list(parts_of(chunks, longest)) == [part[:longest] for part in parts(output)]


MESSAGES: dict[str, Callable[[int], str]] = {
    "line feeds": lambda size: "\n" * size,
    "no words": lambda size: "-" * size,
    "lines of no words": lambda size: "- \n" * (size // 3),
    "beginnings of reverts": lambda size: "This reverts commit " * (size // 20),
    "beginnings of lines of reverts": lambda size: "\nThis reverts commit " * (size // 21),
    "reverts": lambda size: f"This reverts commit {'a' * 40}.\n" * (size // 62),
    "hex digits": lambda size: "This reverts commit " + "a" * size,
    "requests": lambda size: "Reverts a/b#12 " * (size // 15),
    "paths": lambda size: "Reverts " + "#!" * (size // 2),
    "quotes": lambda size: 'Revert "' + '"' * size,
    "brackets": lambda size: "web (" * (size // 10) + ")" * (size // 2),
    "trailers": lambda size: f"Bg-Rollback-To: {'a' * 40}\n" * (size // 57),
    "a trailer and blanks": lambda size: f"Bg-Rollback-To: {'a' * 40}" + " " * size + "x",
    "trailers without an end": lambda size: f"Bg-Rollback-To: {'a' * 40} \n" * (size // 58) + "x",
}


@pytest.mark.parametrize("kind", MESSAGES)
def test_message_of_a_megabyte_is_understood_in_proportion_to_its_length(kind: str) -> None:
    """Of processor time: a megabyte took minutes while the pattern looked across lines."""
    small, large = (_seconds(MESSAGES[kind](size)) for size in (250_000, 1_000_000))
    assert large < max(8 * small, 1.0)


def _seconds(message: str) -> float:
    begun = time.thread_time()
    history._source("c" * 40, "Ada", "a@b", "0", message)
    markers_in(message)
    requests_of(message)
    return time.thread_time() - begun

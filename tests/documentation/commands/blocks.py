"""Reads the blocks of a page: commands with what they print, files that the reader writes, and the marks before them.

A block of commands is fenced and called `console`: `$ ` begins a command, and lines that end with a backslash go on;
everything else is what it prints. A block of YAML whose first line is a comment with a path is a file. A mark is a
comment of HTML before a block, which a reader does not see:

    <!-- not run: why -->            and the commands are not run
    <!-- run by: tests/….py -->      a test of its own runs them: one call there says the verb and every option; or
                                     another page
    <!-- exits: 1 -->                they are run, and the last one ends with that code
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

CONSOLE = "console"
_MARK = re.compile(r"<!-- (not run|run by|exits): (.+?) -->")
_FENCE = re.compile(r"^( *)(```+)(\S*)\s*$")
_PATH = re.compile(r"^# ([\w./-]+\.ya?ml)$")
_HEADING = re.compile(r"^#+ (.+)$")
PROGRAMS = ("gitops-bg", "kubectl", "git", "helm", "docker", "make", "pip", "pipx", "curl", "mkdocs", ".venv/bin/")
_LOOKS_LIKE_A_COMMAND = re.compile(
    rf"^\s*(?:\$ \S|(?:export \w+=\S+|{'|'.join(map(re.escape, PROGRAMS))}) )", re.MULTILINE
)


@dataclass(frozen=True)
class Mark:
    """What is said of a block to who runs it."""

    kind: str
    """`not run`, `run by` or `exits`."""
    words: str


@dataclass(frozen=True)
class Block:
    """One block of a page."""

    line: int
    language: str
    text: str
    mark: Mark | None = None
    heading: str = ""
    """What the block stands below."""

    @property
    def file(self) -> str:
        """The path that the first line of a file names; empty for any other block."""
        found = _PATH.match(self.text.partition("\n")[0])
        return found[1] if found and self.language == "yaml" else ""

    @property
    def looks_like_commands(self) -> bool:
        """Whether a reader would type some of it."""
        return bool(_LOOKS_LIKE_A_COMMAND.search(self.text))


@dataclass(frozen=True)
class Command:
    """One command, and the lines that it prints below it."""

    line: int
    text: str
    printed: tuple[str, ...]


def blocks(page: str) -> Iterator[Block]:
    """The blocks of a page, in order; those that are only indented have no language."""
    lines = page.splitlines()
    mark: Mark | None = None
    heading = ""
    number = 0
    while number < len(lines):
        line = lines[number]
        if fence := _FENCE.match(line):
            end = next(at for at in range(number + 1, len(lines)) if lines[at].strip() == fence[2])
            text = "".join(f"{each.removeprefix(fence[1])}\n" for each in lines[number + 1 : end])
            yield Block(number + 1, fence[3], text, mark, heading)
            number, mark = end, None
        elif line.startswith("    ") and (number == 0 or not lines[number - 1].strip()):
            end = next((at for at in range(number, len(lines)) if not lines[at].startswith("    ")), len(lines))
            yield Block(number + 1, "", "".join(f"{each[4:]}\n" for each in lines[number:end]), mark, heading)
            number, mark = end - 1, None
        elif found := _MARK.fullmatch(line.strip()):
            mark = Mark(found[1], found[2])
        elif line.strip():
            found = _HEADING.match(line)
            heading = found[1] if found else heading
            mark = None
        number += 1


def commands(block: Block) -> list[Command]:
    """The commands of a block of commands.

    >>> [each.text for each in commands(Block(1, "console", "$ a \\\\\\n    b\\n…\\n$ c\\n"))]
    ['a \\\\\\n    b', 'c']
    """
    found: list[tuple[int, list[str], list[str]]] = []
    goes_on = False
    assert block.text.startswith("$ "), f"line {block.line}: begin the block with a command"
    for number, line in enumerate(block.text.splitlines(), block.line + 1):
        if line.startswith("$ "):
            found.append((number, [line[2:]], []))
        elif goes_on:
            found[-1][1].append(line)
        else:
            found[-1][2].append(line)
        goes_on = line.endswith("\\") and not (found and found[-1][2])
    return [Command(number, "\n".join(typed), tuple(printed)) for number, typed, printed in found]

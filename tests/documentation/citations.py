"""Finds every citation in code, tests and docs, and the heading that it leads to. `FORMS` says what one looks like.

A text that looks like a citation and has no such form is an error, too: a reader could not follow it.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import NamedTuple

ARCHITECTURE = "docs/architecture"
PEERS = f"{ARCHITECTURE}/peers"
DECISIONS = "docs/decisions"
ENGINE = f"{ARCHITECTURE}/engine.md"

_DATA = re.compile(r"(?<=;base64,)[A-Za-z0-9+/=]+")
"""What a file has of a picture in it: no text."""
_NUMBER = r"\d+(?:\.\d+)*"
_MORE = rf"(?:(?:,| and|, and| to) §{_NUMBER})*"


class Form(NamedTuple):
    """One form of citation: how it looks, and what it leads to."""

    name: str
    pattern: re.Pattern[str]
    resolve: Callable[["Library", re.Match[str]], Iterator[str]]
    """What does not resolve, as the user reads it."""


class Unresolved(NamedTuple):
    """A citation that leads nowhere."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


@dataclass(frozen=True)
class Library:
    """The texts of a repository by their paths, and what of them can be cited."""

    texts: Mapping[str, str]

    @cached_property
    def design(self) -> Mapping[str, str]:
        """Where each numbered heading of the design stands. A number that is given twice names both files."""
        found: dict[str, str] = {}
        for path in self.texts:
            if str(PurePosixPath(path).parent) == ARCHITECTURE:
                for number in self.headings(path):
                    found[number] = f"{found[number]} and {path}" if number in found else path
        return found

    def headings(self, path: str) -> tuple[str, ...]:
        """The numbers of the headings of a file: `4.5` of `## 4.5 Roll back`."""
        text = self.texts.get(path, "")
        return tuple(re.findall(rf"^#+ ({_NUMBER})\.?(?= )", text, re.MULTILINE))

    def anchors(self, path: str) -> frozenset[str]:
        """The headings of a file as links name them."""
        titles = re.findall(r"^#+ +(.+)$", self.texts.get(path, ""), re.MULTILINE)
        return frozenset(anchor(title) for title in titles)


def anchor(title: str) -> str:
    """A heading as a forge makes an anchor of it.

    >>> anchor("4.5 Roll back: `revert`, _now_")
    '45-roll-back-revert-_now_'
    """
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


# --- one function a form -------------------------------------------------------------------------------------


def _design(library: Library, match: re.Match[str]) -> Iterator[str]:
    for number in _numbers(match):
        if number not in library.design:
            yield f"no heading {number} in {ARCHITECTURE}/*.md"


def _peer(library: Library, match: re.Match[str]) -> Iterator[str]:
    path = f"{PEERS}/{match['file']}"
    if path not in library.texts:
        yield f"there is no {path}"
        return
    for number in _numbers(match):
        if number not in library.headings(path):
            yield f"no heading {number} in {path}"


def _decision(library: Library, match: re.Match[str]) -> Iterator[str]:
    for number in re.findall(r"\d+", match["numbers"] or match["path"]):
        if not any(path.startswith(f"{DECISIONS}/{number.zfill(4)}-") for path in library.texts):
            yield f"there is no {DECISIONS}/{number.zfill(4)}-….md"


def _invariant(library: Library, match: re.Match[str]) -> Iterator[str]:
    if f"\n| {match[0]} | " not in library.texts.get(ENGINE, ""):
        yield f"{ENGINE} has no such invariant"


def _elsewhere(_: Library, __: re.Match[str]) -> Iterator[str]:
    yield from ()


def _unknown(_: Library, match: re.Match[str]) -> Iterator[str]:
    around = match.string[max(0, match.start() - 20) : match.end() + 5]
    yield f"nobody can tell what it leads to in {around!r}: {ARCHITECTURE}/README.md says how to cite"


def _numbers(match: re.Match[str]) -> list[str]:
    return re.findall(rf"§({_NUMBER})", match[0])


FORMS = (
    Form("DESIGN §4.5, §5", re.compile(rf"\bDESIGN §{_NUMBER}{_MORE}"), _design),
    Form("gitops.md §3", re.compile(rf"(?<![\w/])(?P<file>[a-z][a-z-]*\.md) §{_NUMBER}{_MORE}"), _peer),
    Form(
        "decision 17, decisions 17 and 25",
        re.compile(r"\b[Dd]ecisions? (?P<numbers>\d+(?:(?:,| and|, and) \d+)*)\b|\bdocs/decisions/(?P<path>\d{4})"),
        _decision,
    ),
    Form("I4", re.compile(r"(?<![\w#-])I\d+\b"), _invariant),
    Form("RFC 6901 §3", re.compile(rf"\b(?:RFC \d+|YAML 1\.2) §{_NUMBER}{_MORE}"), _elsewhere),
    Form("anything else", re.compile(r"§.{0,12}|\bDESIGN\b(?! §\d)|\breference (?=[\w-]+\.md)|\.md [A-Z]\d"), _unknown),
)
"""In this order: what one form has taken, no later one looks at."""

_A_SIGN = re.compile(r"§|\.md [A-Z]\d|\bDESIGN\b|\breference\b|\b[Dd]ecisions?\b|docs/decisions/|\bI\d")
"""Most files cite nothing."""


# --- whole files ---------------------------------------------------------------------------------------------


def unresolved(library: Library, path: str) -> Iterator[Unresolved]:
    """Every citation of a file that leads nowhere, in the order of the forms."""
    if not _A_SIGN.search(library.texts[path]):
        return
    text, lines = _flat(library.texts[path])
    taken = bytearray(len(text))
    for form in FORMS:
        for match in form.pattern.finditer(text):
            if any(taken[match.start() : match.end()]):
                continue
            taken[match.start() : match.end()] = b"\1" * (match.end() - match.start())
            for what in form.resolve(library, match):
                yield Unresolved(path, lines[match.start()], f"{match[0]}: {what}")


def _flat(text: str) -> tuple[str, list[int]]:
    """A text whose lines are joined as a reader joins them, and the line of each character, counted from 1."""
    signs: list[str] = []
    lines: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = re.sub(r"^\s*(?:#:? +|> )?", "", line).rstrip() + " "
        signs.append(words)
        lines += [number] * len(words)
    return "".join(signs), lines


def dead_links(library: Library, path: str, exists: Callable[[str], bool]) -> Iterator[Unresolved]:
    """Every relative link of a page that leads to no file, or to no heading of it."""
    for number, line in enumerate(library.texts[path].splitlines(), 1):
        for link in re.findall(r"\]\(([^)\s]+)\)", line):
            if re.match(r"[a-z]+:", link):
                continue
            file, _, heading = link.partition("#")
            target = _normal(PurePosixPath(path).parent / file) if file else path
            if not exists(target):
                yield Unresolved(path, number, f"{link}: there is no {target}")
            elif heading and heading not in library.anchors(target):
                yield Unresolved(path, number, f"{link}: {target} has no such heading")


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


PLACES = ("gitops_bg", "tests", "docs", "deploy", "repo-template", "policies", ".ci")
"""Everything that people write; and the files beside these folders."""
HERE = "tests/documentation/"
"""Talks about citations, and so holds some that are none."""


def own(root: Path) -> tuple[str, ...]:
    """The files of this room, which are not read."""
    return tuple(path.relative_to(root).as_posix() for path in (root / HERE).glob("*.py"))


def read(root: Path) -> Library:
    """Every text of the repository that can cite, or be cited."""
    files = [*root.glob("*.md"), root / "pyproject.toml", root / "Makefile"]
    for place in PLACES:
        files += (root / place).rglob("*")
    texts: dict[str, str] = {}
    for file in sorted(files):
        path = file.relative_to(root).as_posix()
        if file.suffix in (".pyc", ".json", ".png") or not file.is_file() or path.startswith(HERE):
            continue
        texts[path] = _DATA.sub("", file.read_text(encoding="utf-8"))
    return Library(texts)

"""The one YAML reader for decisions: a value is what kubectl reads, or an error with its place.

Does not know what the documents mean. Every call has a parser of its own: they are not safe to share (pitfalls.md §4).
A cache by blob id belongs to the caller.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from typing import Any

from ruamel.yaml.events import ScalarEvent

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_text import MASK
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.yaml.parser import MAX_PROBLEMS, Composer, Node
from gitops_bg.spec.yaml.scalars import Path, is_hidden, quoted, written

# --- what stands in place of a manifest where Git, or a tool around it, left something else ---

_LFS = b"version https://git-lfs.github.com/spec/"
_GIT_CRYPT = b"\0GITCRYPT\0"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_CONFLICT = re.compile(rb"^(?:<{7}|\|{7}|>{7})(?= )|^={7}(?=\r?$)", re.MULTILINE)
"""A line that `git merge` writes around what it could not join; no line of a YAML mapping begins so."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What a file is instead of a manifest, and what its author does about that."""

    message: str
    remedy: str
    line: int = 1


def unreadable(data: bytes) -> Unreadable | None:
    """Return what is in place of the manifest; None where it may be one.

    >>> unreadable(b"a: 1\\n<<<<<<< HEAD\\nb: 2\\n").line
    2
    """
    if data.startswith(_LFS):
        remedy = "take it out of LFS: `git lfs untrack FILE`, then commit the file itself"
        return Unreadable("the file is a pointer of Git LFS, not the manifest: its content is not in Git", remedy)
    if data.startswith(_GIT_CRYPT):
        remedy = "leave it as it is, and have .gitattributes not encrypt it; the agent has no key of git-crypt"
        return Unreadable("the file is encrypted by git-crypt", remedy)
    if found := _CONFLICT.search(data):
        marker = found.group().decode()
        remedy = "choose between the two sides, remove the lines of <<<<<<<, ======= and >>>>>>>, and commit"
        return Unreadable(f"a merge left its conflict marker {marker}", remedy, data.count(b"\n", 0, found.start()) + 1)
    if b"\0" in data and not data.startswith(_UTF_16):
        return Unreadable("the file is no text: it is binary, or encrypted", "commit the manifest itself, as text")
    return None


# --- documents ---

_SHORTEST_WORD = 4
"""A shorter value may be a word of the problem itself: it is taken out where it stands in quotes."""
_FILES = 4
"""How many files keep the places of their fields."""
MAX_BYTES = 1024 * 1024
"""The largest file that is read; Kubernetes takes objects up to about 1.5 MiB."""


_SECRET = re.compile(rb"\bkind\b\W+\w*secret", re.IGNORECASE)
"""Marks a file in which every value may be secret: its fields may be misspelt, too. Names of Kubernetes and of others:
SealedSecret, SecretList, ExternalSecret.
"""


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document as plain JSON that can locate its fields."""

    file: str
    value: Any
    data: bytes = field(default=b"", repr=False)
    """The bytes it was read from; empty for a document without a file, whose problems then have no place."""
    number: int = 0

    @property
    def folder(self) -> str:
        """The folder of the file, without a trailing slash."""
        return self.file.rpartition("/")[0]

    def problem(self, path: Path, message: str, remedy: str = "", *, at_key: bool = False) -> Problem:
        """Return a problem with the field at ``path``; a missing path gets the place of its nearest parent.

        ``at_key`` gives the place of the key instead of that of the value. Parses the file again: for errors only.
        What the document says at a path that is hidden (`paths.is_hidden`) is not in the problem, whoever words it.
        """
        if is_hidden(path):
            message, remedy = (_without(text, self._hidden_value(path)) for text in (message, remedy))
            remedy = remedy.removesuffix(f': "{MASK}"')
        if not self.data:
            return Problem(self.file, message, field=written(path), remedy=remedy)
        nodes = locate(self.data, self.number)
        known = path
        while known and known not in nodes:
            known = known[:-1]
        if known not in nodes:
            return Problem(self.file, message, 1, 1, written(path), remedy)
        line, column = _place(nodes[known], at_key or known != path)
        return Problem(self.file, message, line, column, written(path), remedy)

    def quoting(self, path: Path) -> str:
        """Return the remedy that makes the scalar at ``path`` text: in quotes, as its author wrote it (``3.10``,
        ``0x1F``).

        Without the text where that may be secret, and where the document has no file.
        """
        node = None if is_hidden(path) or not self.data else locate(self.data, self.number).get(path)
        if node is None or node.kind is not ScalarEvent:
            return "quote it"
        return quoted(self.data.decode().removeprefix("\ufeff")[node.start : node.end])

    def _hidden_value(self, path: Path) -> Any:
        """Return the value at a hidden path, or at the last of its parents that exists and is hidden, too."""
        found = self.value
        for place, part in enumerate(path):
            try:
                found = found[part]
            except (KeyError, IndexError, TypeError):
                return found if is_hidden(path[:place]) else None
        return found


@dataclass(frozen=True, slots=True)
class FileReading:
    """The content of a file: its documents, or its problems; never both (DESIGN §10)."""

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...] = ()


def read(file: str, data: bytes) -> FileReading:
    """Return all documents of a file; empty ones are left out. ``file`` is the name in its problems.

    >>> [document.value for document in read("a.yaml", b"a: 1\\n---\\nb: [x]").documents]
    [{'a': 1}, {'b': ['x']}]
    >>> str(read("a.yaml", b"a: 010").problems[0])
    'a.yaml:1: a: unquoted 010 is a number to some YAML parsers, and another number or text to others (quote it: "010")'
    """
    refused = _refused(file, data)
    if refused is not None:
        return FileReading((), (refused,))
    composer = Composer(file, data, secret=_SECRET.search(data) is not None)
    composer.run()
    if composer.problems:
        return FileReading((), tuple(composer.problems))
    numbered = enumerate(composer.documents)
    return FileReading(tuple(Document(file, value, data, number) for number, value in numbered if value is not None))


def read_one(file: str, data: bytes) -> tuple[Document | None, tuple[Problem, ...]]:
    """Return the one document of a file, which must be a mapping; else None and the problems."""
    reading = read(file, data)
    if reading.problems:
        return None, reading.problems
    if not reading.documents:
        return None, (Problem(file, "the file is empty", 1, 1, "", "write the document, or delete the file"),)
    document, *others = reading.documents
    if others:
        message = f"{len(reading.documents)} documents where one is expected"
        return None, (others[0].problem((), message, "keep one; put the others into files of their own"),)
    if not isinstance(document.value, dict):
        return None, (document.problem((), f"expected fields, found {kind_of(document.value)}", "write `key: value`"),)
    return document, ()


def first_of(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Yield the first problems of one kind, and say where there are more; those are not even looked for."""
    last: Problem | None = None
    for number, problem in enumerate(problems):
        if last is not None and number == MAX_PROBLEMS:
            yield more_like(last)
            return
        last = problem
        yield problem


def first_of_each(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Yield the first problems of each file, and say of which files there are more."""
    found: Counter[str] = Counter()
    for problem in problems:
        found[problem.file] += 1
        if found[problem.file] <= MAX_PROBLEMS:
            yield problem
        elif found[problem.file] == MAX_PROBLEMS + 1:
            yield more_like(problem)


def more_like(problem: Problem) -> Problem:
    """Return what is said in place of all further problems of a file."""
    return Problem(problem.file, "the file has more problems like these", problem.line, remedy="mend these first")


def locate(data: bytes, number: int = 0) -> Mapping[Path, Node]:
    """Return the place of every field of document ``number``."""
    return _located(data).get(number, {})


@lru_cache(maxsize=_FILES)
def _located(data: bytes) -> Mapping[int, Mapping[Path, Node]]:
    """Return the place of every field, by document. About twice as slow as reading, and done once for all problems of a
    file: the last few files are remembered, for problems of two files may come by turns.
    """
    composer = Composer("", data, locating=True)
    composer.run()
    return composer.nodes


def kind_of(value: Any) -> str:
    """Return the type of a value, in plain words.

    >>> kind_of({}), kind_of(["x"]), kind_of("x"), kind_of(1), kind_of(None), kind_of(True)
    ('a mapping', 'a list', 'text', 'a number', 'nothing', 'a truth value')
    """
    match value:
        case None:
            return "nothing"
        case bool():
            return "a truth value"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case dict():
            return "a mapping"
        case _:
            return "a list"


def _refused(file: str, data: bytes) -> Problem | None:
    if len(data) > MAX_BYTES:
        # Whoever read it may have stopped at the limit: nobody here knows its size.
        limit = f"is larger than {MAX_BYTES // 1024} KiB"
        return Problem(file, limit, remedy="keep manifests small; put data elsewhere")
    if found := unreadable(data):
        return Problem(file, found.message, found.line, 1, "", found.remedy)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start]
        column = len(before.rpartition(b"\n")[2].decode(errors="replace")) + 1
        return Problem(file, "the file is not UTF-8", before.count(b"\n") + 1, column, "", "save it as UTF-8")
    return None


def _without(text: str, value: Any) -> str:
    """Return the text without a value: without all keys and scalars of a collection."""
    if isinstance(value, dict | list):
        for item in [*value, *value.values()] if isinstance(value, dict) else value:
            text = _without(text, item)
    elif value is not None:
        for form in {str(value), json.dumps(value)} - {""}:
            before, after = (r"(?<!\w)", r"(?!\w)") if len(form) >= _SHORTEST_WORD else ("(?<=['\"])", "(?=['\"])")
            text = re.sub(f"{before}{re.escape(form)}{after}", MASK, text)
    return text


def _place(node: Node, at_key: bool) -> tuple[int, int]:
    if node.key_line and (at_key or node.key_line != node.line):
        return node.key_line, node.key_column
    return node.line, node.column

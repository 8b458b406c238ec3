"""Builds plain JSON values from the event stream of the C parser, and records their places on request.

The strictness of `reader` is here: a value that is not the same for every reader is a problem, never a guess. Only for
`reader` and `spec.manifests.edit`.
"""

import codecs
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.cyaml import CParser
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
    StreamStartEvent,
)

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.yaml.scalars import AmbiguousScalar, Path, is_hidden, mode_remedy, quoted, resolve, written

MAX_DEPTH = 64
"""Levels of nesting; a Deployment has about 12."""
MAX_NODES = 50_000
"""The most values in a file with its aliases resolved; a file of 1 MiB seldom has 30,000."""
MAX_PROBLEMS = 20
"""The most problems reported for one file: further ones are mostly consequences."""

_COLON_IN_BRACKETS = "found unexpected ':'"
_SURROGATE = re.compile("[\ud800-\udfff]")
_QUOTE = re.compile(r""",? but (found|got) .*|(?<=handle|racter) ('[^']*'|"[^"]*")""")


@dataclass(frozen=True, slots=True)
class Node:
    """The place of a value. Offsets count characters of the text without byte order mark; lines and columns from 1."""

    kind: type
    start: int
    end: int
    """For a block mapping or sequence: the end of its last scalar or flow collection."""
    line: int
    column: int
    style: str | None = None
    flow: bool = False
    key_start: int | None = None
    key_line: int = 0
    key_column: int = 0


class _Stop(Exception):
    """Reading cannot go on; `problems` has the reason."""


class _Unfinished:
    """Stands for the value of an anchor that is still being read."""


class Composer:
    """Reads one file once. ``nodes`` is filled only with ``locating``: by document number, and by path in it.

    ``secret`` keeps the file's values out of its problems, which end up in logs and conditions; what is below ``data``
    is never in them (`paths.is_hidden`).
    """

    def __init__(self, file: str, data: bytes, *, locating: bool = False, secret: bool = False) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.documents: list[Any] = []
        self.nodes: dict[int, dict[Path, Node]] = {}
        self._data = data.removeprefix(codecs.BOM_UTF8)
        self._locating = locating
        self._secret = secret
        self._path: list[str | int] = []
        self._anchors: dict[str, tuple[Any, int, int]] = {}
        self._count = 0
        self._last_end = 0
        self._key: Any = None

    def run(self) -> None:
        """Read all documents; afterwards `problems` has what is wrong, and nothing is raised."""
        error = self._attempt(CParser(self._data).get_event)
        if getattr(error, "problem", "") == _COLON_IN_BRACKETS:
            # kubectl accepts `args: [--url=http://x:80]`; so does the parser in Python, which is 20 times slower.
            self._forget()
            error = _without_quotes(self._attempt(partial(next, self._python_events(), None)))
        if isinstance(error, MarkedYAMLError):
            self._syntax(error)
        elif error is not None:
            self._unreadable(error)

    def _attempt(self, following: Callable[[], Any]) -> YAMLError | None:
        """Read all events; return the parser's error, if any."""
        self._next = following
        try:
            self._read_documents()
        except _Stop:
            return None
        except YAMLError as error:
            return error
        return None

    def _forget(self) -> None:
        for started in (self.problems, self.documents, self.nodes, self._path):
            started.clear()
        self._count = 0

    def _python_events(self) -> Iterator[Any]:
        for event in YAML(typ="safe", pure=True).parse(self._data):
            # Half a character, which UTF-8 does not have: the C parser refuses it itself.
            if type(event) is ScalarEvent and _SURROGATE.search(event.value):
                self._add(event, "an escape that is no character", "write the character itself")
                raise _Stop
            yield event

    def _read_documents(self) -> None:
        while (event := self._next()) is not None:
            kind = type(event)
            if kind is DocumentStartEvent:
                self._document(event)
            elif kind not in (StreamStartEvent, StreamEndEvent, DocumentEndEvent):
                self.documents.append(self._node(event))

    def _document(self, event: Any) -> None:
        self._anchors.clear()
        self._key = None
        if event.version or event.tags:
            self._add(event, "YAML directives are not supported", "remove the line that starts with %")

    def _node(self, event: Any) -> Any:
        self._count += 1
        if self._count > MAX_NODES:
            self._too_large(event)
        kind = type(event)
        if kind is ScalarEvent:
            value = self._scalar(event)
        elif kind is AliasEvent:
            value = self._alias(event)
        else:
            value = self._collection(event)
        return value

    def _scalar(self, event: Any) -> Any:
        if event.tag is not None:
            self._tag(event)
        value = resolve(event.value) if event.implicit[0] else event.value
        if type(value) is AmbiguousScalar:
            self._doubt(event, value)
            value = event.value
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1, 0)
        if self._locating:
            self._last_end = event.end_mark.index
            self._locate(event, self._last_end)
        return value

    def _alias(self, event: Any) -> Any:
        value, size, height = self._anchors.get(event.anchor, (None, 0, 0))
        if size == 0:
            anchor, remedy = f"*{event.anchor} has no anchor before it", f"add &{event.anchor}, or write the value out"
            self._refuse(event, anchor, remedy, hidden="is an alias, for it begins with *, and has no anchor before it")
        elif value is _Unfinished:
            inside = "stands inside the value it names"
            self._refuse(event, f"*{event.anchor} {inside}", "write the value out", hidden=f"is an alias that {inside}")
        self._count += max(size - 1, 0)
        if self._count > MAX_NODES:
            self._too_large(event)
        if len(self._path) + height > MAX_DEPTH:
            self._too_deep(event)
        if self._locating:
            self._last_end = event.end_mark.index
            self._locate(event, self._last_end)
        return value

    def _collection(self, event: Any) -> Any:
        if len(self._path) >= MAX_DEPTH:
            self._too_deep(event)
        if event.tag is not None:
            self._tag(event)
        key, before = self._key, self._count
        if event.anchor is not None:
            self._anchors[event.anchor] = (_Unfinished, 1, 0)
        value: Any = self._mapping() if type(event) is MappingStartEvent else self._sequence()
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, self._count - before + 1, _height(value))
        if self._locating:
            self._key = key
            self._locate(event, self._last_end)
        return value

    def _mapping(self) -> dict[str, Any]:
        result: dict[str, Any] = {}
        path, following = self._path, self._next
        while type(event := following()) is not MappingEndEvent:
            key = self._read_key(event)
            path.append(key)
            if key in result:
                self._add(event, "the key is there twice", "keep one of the two")
            self._key = event
            result[key] = self._node(following())
            path.pop()
        self._ended(event)
        return result

    def _sequence(self) -> list[Any]:
        result: list[Any] = []
        path, following = self._path, self._next
        while type(event := following()) is not SequenceEndEvent:
            path.append(len(result))
            self._key = None
            result.append(self._node(event))
            path.pop()
        self._ended(event)
        return result

    def _ended(self, event: Any) -> None:
        # A flow collection ends at its bracket; a block collection ends where its last content ends.
        if self._locating and event.end_mark.index > event.start_mark.index:
            self._last_end = event.end_mark.index

    def _read_key(self, event: Any) -> str:
        self._count += 1
        if type(event) is not ScalarEvent:
            self._add(event, "a key must be text", "write a plain key")
            raise _Stop
        text: str = event.value
        if event.tag is not None:
            self._tag(event)
        if event.anchor is not None:
            self._add(event, "an anchor on a key is not supported", f"remove &{event.anchor}")
        if event.implicit[0]:
            self._check_plain_key(event, text)
        return text

    def _check_plain_key(self, event: Any, text: str) -> None:
        value = resolve(text)
        if type(value) is str:
            return
        if self._hides:
            self._add(event, "this unquoted key is not text to every YAML parser", "quote it")
        elif type(value) is AmbiguousScalar:
            remedy = value.remedy if text == "<<" else quoted(text)
            self._add(event, f"the unquoted key {text} is {value.message}", remedy)
        else:
            self._add(event, f"the key {text or 'that is empty'} is not text", quoted(text))

    # --- problems ---

    def _add(self, event: Any, message: str, remedy: str) -> None:
        mark = event.start_mark
        self._report(message, remedy, mark.line + 1, mark.column + 1)
        if len(self.problems) >= MAX_PROBLEMS:
            raise _Stop

    def _report(self, message: str, remedy: str, line: int, column: int) -> None:
        self.problems.append(Problem(self.file, message, line, column, written(self._path), remedy))

    @property
    def _hides(self) -> bool:
        return self._secret or is_hidden(tuple(self._path))

    def _refuse(self, event: Any, message: str, remedy: str, hidden: str) -> None:
        """Add a problem that quotes the text; where that may be secret it says ``hidden`` instead."""
        if self._hides:
            self._add(event, f"this unquoted value {hidden}", "quote it")
        else:
            self._add(event, message, remedy)

    def _doubt(self, event: Any, doubt: AmbiguousScalar) -> None:
        remedy = mode_remedy(self._path, event.value) or doubt.remedy
        self._refuse(event, f"unquoted {event.value} is {doubt.message}", remedy, hidden=f"is {doubt.message}")

    def _tag(self, event: Any) -> None:
        message, remedy = (
            f"the tag {_short_tag(event.tag)} is not supported",
            "remove it; quote a value to make it text",
        )
        self._refuse(event, message, remedy, hidden="has a tag, for it begins with !, and tags are not supported")

    def _too_large(self, event: Any) -> None:
        self._add(event, f"more than {MAX_NODES} values once all aliases are written out", "use fewer aliases")
        raise _Stop

    def _too_deep(self, event: Any) -> None:
        self._add(event, f"nested more than {MAX_DEPTH} levels deep", "nest less")
        raise _Stop

    def _syntax(self, error: Any) -> None:
        mark = error.problem_mark or error.context_mark
        context = f" {error.context}" if error.context else ""
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        self._report(f"this is not YAML: {error.problem}{context}", _advice(str(error.problem)), line, column)

    def _unreadable(self, error: Any) -> None:
        before = self._data[: max(getattr(error, "position", 0), 0)]
        column = len(before.rpartition(b"\n")[2].decode(errors="replace")) + 1
        reason = getattr(error, "reason", str(error))
        self._report(f"this is not YAML: {reason}", "remove the character", before.count(b"\n") + 1, column)

    # --- places ---

    def _locate(self, event: Any, end: int) -> None:
        mark, key = event.start_mark, self._key
        node = Node(
            kind=type(event),
            start=mark.index,
            end=end,
            line=mark.line + 1,
            column=mark.column + 1,
            style=getattr(event, "style", None),
            flow=bool(getattr(event, "flow_style", False)),
            key_start=key.start_mark.index if key else None,
            key_line=key.start_mark.line + 1 if key else 0,
            key_column=key.start_mark.column + 1 if key else 0,
        )
        # The first of two equal keys keeps its place.
        self.nodes.setdefault(len(self.documents), {}).setdefault(tuple(self._path), node)


def _without_quotes(error: YAMLError | None) -> YAMLError | None:
    """Return the error as the C parser words it: the parser in Python quotes what it found, which may be secret."""
    if isinstance(error, MarkedYAMLError):
        error.problem, error.context = (_QUOTE.sub("", str(text or "")) for text in (error.problem, error.context))
    return error


def _height(value: Any) -> int:
    """Return the depth of nested collections in a value; 0 for a scalar."""
    return 1 + max(map(_height, _children(value)), default=0) if isinstance(value, dict | list) else 0


def _children(value: Mapping[str, Any] | Sequence[Any]) -> Iterator[Any]:
    return iter(value.values() if isinstance(value, Mapping) else value)


def _short_tag(tag: str) -> str:
    return tag.replace("tag:yaml.org,2002:", "!!")


def _advice(problem: str) -> str:
    if "cannot start any token" in problem:
        return "indent with spaces, not tabs; quote text that starts with @, ` or %"
    if "mapping values are not allowed" in problem:
        return 'quote text that contains ": "'
    return "check indentation, quotes and brackets above this place"

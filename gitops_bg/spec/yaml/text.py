"""The text of a YAML file with the places of its values: cuts and inserts, without knowing their meaning.

Offsets count characters; the byte order mark and the author's line breaks stay as they are.
"""

import re

from gitops_bg.spec.yaml.parser import Node
from gitops_bg.spec.yaml.paths import Path
from gitops_bg.spec.yaml.reader import locate

_MARK = "\ufeff"
# An anchor (the reader refuses tags) precedes its value and belongs to its place.
_ANCHOR = re.compile(r"&\S+\s+", re.ASCII)
_SPACE = " \t"


class Text:
    """One file, read once, with the places in its document ``number``. All changes return the bytes of a new file."""

    def __init__(self, data: bytes, number: int = 0) -> None:
        decoded = data.decode()
        self._mark = _MARK if decoded.startswith(_MARK) else ""
        self._text = decoded.removeprefix(_MARK)
        self._nodes = locate(data, number)

    def find(self, path: Path) -> Node | None:
        """The place of a field; None where it does not exist."""
        return self._nodes.get(path)

    def node(self, path: Path) -> Node:
        """The place of an existing field."""
        return self._nodes[path]

    def property_length(self, node: Node) -> int:
        """How many characters the anchor before a value takes."""
        match = _ANCHOR.match(self._text, node.start)
        return len(match.group()) if match else 0

    def content_end(self, node: Node) -> int:
        """The end of a value without the line breaks of a literal block."""
        return len(self._text[: node.end].rstrip())

    def replaced(self, start: int, end: int, new: str) -> bytes:
        """The file with the characters from ``start`` to ``end`` replaced."""
        return (self._mark + self._text[:start] + new + self._text[end:]).encode()

    def with_value(self, node: Node, new: str) -> bytes:
        """The file with a value of a mapping replaced by one on its key's line."""
        start = self._text.index(":", self._key_end(node)) + 1
        return self.replaced(start, self.content_end(node), f" {new}")

    def with_entry(self, parent: Node, path: Path, entry: str) -> bytes:
        """The file with a new entry in a mapping: ``entry`` is ``key: value`` on one line."""
        if parent.flow:
            inside = self.property_length(parent) + parent.start + 1
            rest = self._text[inside:].lstrip()
            return self.replaced(inside, inside, entry if rest.startswith("}") else f"{entry}, ")
        if len(path) == 1:
            return self._appended(entry)
        below = self._line_end(parent.key_start or 0)
        indent = " " * (min(self._child_columns(path[:-1])) - 1)
        return self.replaced(below, below, f"{self._line_break()}{indent}{entry}")

    def entry_lines(self, node: Node) -> str:
        """The lines of an entry of a block mapping from its key on, including comments; with plain line breaks."""
        return self._text[slice(*self._entry_place(node))].replace("\r\n", "\n")

    def with_entry_lines(self, node: Node, lines: str) -> bytes:
        """The file with an entry of a block mapping replaced by such lines."""
        return self.replaced(*self._entry_place(node), lines.replace("\n", self._line_break()))

    def _entry_place(self, node: Node) -> tuple[int, int]:
        start = node.key_start or 0
        return self._text.rfind("\n", 0, start) + 1, self._line_end(self.content_end(node))

    def without(self, node: Node, parent: Node) -> bytes:
        """The file without an entry of a mapping: without its lines, or in a flow mapping without its text and one
        comma.
        """
        start, end = node.key_start or 0, self.content_end(node)
        if parent.flow:
            return self._without_in_flow(start, end)
        line_start = self._text.rfind("\n", 0, start) + 1
        return self.replaced(line_start, self._past_break(self._line_end(end)), "")

    def _without_in_flow(self, start: int, end: int) -> bytes:
        after = re.compile(r"\s*,[ \t]*", re.ASCII).match(self._text, end)
        if after:
            return self.replaced(start, after.end(), "")
        before = self._text[:start].rstrip()
        return self.replaced(len(before) - 1 if before.endswith(",") else start, end, "")

    def _appended(self, entry: str) -> bytes:
        line_break = self._line_break()
        body = self._text if not self._text or self._text.endswith("\n") else self._text + line_break
        return (self._mark + body + entry + line_break).encode()

    def _child_columns(self, path: Path) -> list[int]:
        depth = len(path) + 1
        return [
            node.key_column
            for child, node in self._nodes.items()
            if len(child) == depth and child[:-1] == path and node.key_line
        ]

    def _key_end(self, node: Node) -> int:
        """The end of a quoted key, so that a colon inside it is not taken for the separator."""
        start = node.key_start or 0
        quote = self._text[start]
        return self._text.index(quote, start + 1) if quote in "\"'" else start

    def _line_end(self, offset: int) -> int:
        """The end of the line that contains ``offset``, without its line break."""
        end = self._text.find("\n", offset)
        end = len(self._text) if end < 0 else end
        return end - 1 if end > offset and self._text[end - 1] == "\r" else end

    def _past_break(self, offset: int) -> int:
        match = re.compile(r"\r?\n").match(self._text, offset)
        return match.end() if match else offset

    def _line_break(self) -> str:
        return "\r\n" if "\r\n" in self._text else "\n"

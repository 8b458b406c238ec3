"""Changes an author's YAML file and keeps every other byte (pitfalls.md §4): one value of a document, or one whole
document of a file. Never writes a file; that is the caller's job.

Of a value the parser gives the place, the bytes are replaced, the result is read again: if anything but the one value
changed, the edit is refused. Of documents only the kind and the name are known; a line that begins with ``---`` always
begins one, wherever it is (YAML 1.2 §9.1.2).
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from ruamel.yaml.events import AliasEvent, MappingStartEvent

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.foreign_json import json_for_yaml
from gitops_bg.core.foreign_text import lines_of, one_line
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.spec import Retry, Suspension
from gitops_bg.spec.app.layout import APP_FILE, DEFAULT_TARGET_FILE, SETTINGS_FILE
from gitops_bg.spec.manifests.configuration import Named
from gitops_bg.spec.manifests.target import pod_paths, template_of, value_at
from gitops_bg.spec.yaml.parser import Node
from gitops_bg.spec.yaml.reader import Document, FileReading, locate, read, read_one
from gitops_bg.spec.yaml.scalars import Path, as_map, scalar, to_yaml, written

# --- the text of a file with the places of its values: cuts and inserts, without knowing their meaning ---
# Offsets count characters; the byte order mark and the author's line breaks stay as they are.

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
        """Return the place of a field; None where it does not exist."""
        return self._nodes.get(path)

    def node(self, path: Path) -> Node:
        """Return the place of an existing field."""
        return self._nodes[path]

    def property_length(self, node: Node) -> int:
        """Return how many characters the anchor before a value takes."""
        match = _ANCHOR.match(self._text, node.start)
        return len(match.group()) if match else 0

    def content_end(self, node: Node) -> int:
        """Return the end of a value without the line breaks of a literal block."""
        return len(self._text[: node.end].rstrip())

    def replaced(self, start: int, end: int, new: str) -> bytes:
        """Return the file with the characters from ``start`` to ``end`` replaced."""
        return (self._mark + self._text[:start] + new + self._text[end:]).encode()

    def with_value(self, node: Node, new: str) -> bytes:
        """Return the file with a value of a mapping replaced by one on its key's line."""
        start = self._text.index(":", self._key_end(node)) + 1
        return self.replaced(start, self.content_end(node), f" {new}")

    def with_entry(self, parent: Node, path: Path, entry: str) -> bytes:
        """Return the file with a new entry in a mapping: ``entry`` is ``key: value`` on one line."""
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
        """Return the lines of an entry of a block mapping from its key on, including comments; with plain line
        breaks.
        """
        return self._text[slice(*self._entry_place(node))].replace("\r\n", "\n")

    def with_entry_lines(self, node: Node, lines: str) -> bytes:
        """Return the file with an entry of a block mapping replaced by such lines."""
        return self.replaced(*self._entry_place(node), lines.replace("\n", self._line_break()))

    def _entry_place(self, node: Node) -> tuple[int, int]:
        start = node.key_start or 0
        return self._text.rfind("\n", 0, start) + 1, self._line_end(self.content_end(node))

    def without(self, node: Node, parent: Node) -> bytes:
        """Return the file without an entry of a mapping: without its lines, or in a flow mapping without its text and
        one comma.
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
        """Return the end of a quoted key, so that a colon inside it is not taken for the separator."""
        start = node.key_start or 0
        quote = self._text[start]
        return self._text.index(quote, start + 1) if quote in "\"'" else start

    def _line_end(self, offset: int) -> int:
        """Return the end of the line that contains ``offset``, without its line break."""
        end = self._text.find("\n", offset)
        end = len(self._text) if end < 0 else end
        return end - 1 if end > offset and self._text[end - 1] == "\r" else end

    def _past_break(self, offset: int) -> int:
        match = re.compile(r"\r?\n").match(self._text, offset)
        return match.end() if match else offset

    def _line_break(self) -> str:
        return "\r\n" if "\r\n" in self._text else "\n"


# --- the edits, each of one value ---


def set_image(data: bytes, container: str, image: str, file: str = DEFAULT_TARGET_FILE) -> bytes:
    """Return the target with another image for one of its (init) containers.

    Raises `InvalidInput` where that is unsafe.
    """
    document = _document(file, data)
    return set_text(document, _image_path(document, container), image)


def set_text(document: Document, path: Path, value: str) -> bytes:
    """Return the file of a document with another text at ``path``, where there is one; the file may have several.

    Raises `InvalidInput` where that is unsafe.
    """
    text = Text(document.data, document.number)
    node = text.node(path)
    _refuse_what_is_shared(document, path, node)
    start, end = node.start + text.property_length(node), text.content_end(node)
    return _verified(document, text.replaced(start, end, _in_style(value, node.style)), path, value)


def set_template(data: bytes, template: Mapping[str, Any], file: str = DEFAULT_TARGET_FILE, like: bytes = b"") -> bytes:
    """Return the target with another pod template. Raises `InvalidInput` where that is unsafe.

    ``like`` is the file from the time when it had this template: its lines are copied, with their comments. Where it
    had another template, or a style that does not fit, the template is written anew.
    """
    text, document = Text(data), _document(file, data)
    path, value = pod_paths(document.value).template, _at_one_place(document, template)
    node, parent = text.find(path), text.find(path[:-1])
    if node is None or parent is None or node.key_start is None:
        raise _refusal(document, path, "there is no pod template", "write one")
    _refuse_what_is_shared(document, path, node)
    if parent.flow:
        return _verified(document, text.with_value(node, json_for_yaml(value)), path, value)
    indent = " " * (node.key_column - 1)
    for lines in filter(None, (_lines_like(like, path, value, indent), _new_lines(path, value, indent))):
        try:
            return _verified(document, text.with_entry_lines(node, lines), path, value)
        except InvalidInput as error:
            refused = error
    raise refused


def _at_one_place(document: Document, template: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what of a template the target has at one place: all of it, unless its pods' metadata are those of the
    workload.

    Raises `InvalidInput` where these are not the template's: they say more than the pods' labels.
    """
    paths, now = pod_paths(document.value), template_of(document.value)
    if paths.are_together or now is None:
        return template
    for field in ("labels", "annotations"):
        wanted = as_map(as_map(template.get("metadata")).get(field))
        if as_map(now["metadata"].get(field)) != wanted:
            message = f"the {field} of the pods were others, and here they are those of the workload"
            remedy = f"write {one_line(json_for_yaml(wanted))} by hand first"
            raise _refusal(document, (*paths.metadata, field), message, remedy)
    return as_map(template.get("spec"))


def _lines_like(like: bytes, path: Path, template: Mapping[str, Any], indent: str) -> str:
    """Return the template's lines in a former state of the file; empty where they differ from the template, or
    from its place.
    """
    document, _ = read_one(DEFAULT_TARGET_FILE, like)
    if document is None or value_at(document.value, path) != template:
        return ""
    text = Text(like)
    node = text.node(path)
    block = not text.node(path[:-1]).flow and node.kind is not AliasEvent
    return text.entry_lines(node) if block and node.key_column - 1 == len(indent) else ""


def _new_lines(path: Path, template: Mapping[str, Any], indent: str) -> str:
    lines = lines_of(to_yaml({str(path[-1]): template}).removesuffix("\n"))
    return "\n".join(indent + line if line else "" for line in lines)


def held_releases(data: bytes, file: str) -> dict[str, str]:
    """Return the releases that an app.yaml holds back, by their digests, each with why. Raises as `set_field`."""
    document = _document(file, data)
    spec = document.value.get("spec") if isinstance(document.value, dict) else None
    held = spec.get("heldReleases") if isinstance(spec, dict) else None
    return {str(key): str(value) for key, value in held.items()} if isinstance(held, dict) else {}


def set_held_release(data: bytes, digest: str, why: str | None, file: str) -> bytes:
    """Return an app.yaml that holds a release back, or, for None, that does not. Raises as `set_field`."""
    held = held_releases(data, file)
    after = {key: value for key, value in held.items() if key != digest} | ({digest: why} if why is not None else {})
    if after == held:
        return data
    return set_field(data, ("spec", "heldReleases"), after or None, file)


def set_suspend(data: bytes, suspension: Suspension | None, file: str = APP_FILE) -> bytes:
    """Return app.yaml with ``spec.suspend`` set, or removed for None. Raises `InvalidInput` where that is unsafe."""
    value: dict[str, str | int] | None = None
    if suspension is not None:
        value = {"reason": suspension.reason}
        if suspension.by:
            value["by"] = suspension.by
        if suspension.until is not None:
            value["until"] = _moment(suspension.until)
    return set_field(data, ("spec", "suspend"), value, file)


def set_retry(data: bytes, retry: Retry, file: str = APP_FILE) -> bytes:
    """Return app.yaml with ``spec.retry`` set. Raises `InvalidInput` where that is unsafe."""
    value: dict[str, str | int] = {"digest": retry.digest, "number": retry.number}
    if retry.by:
        value["by"] = retry.by
    if retry.after:
        value["after"] = retry.after
    return set_field(data, ("spec", "retry"), value, file)


def set_release(data: bytes, deployment: str, file: str = APP_FILE) -> bytes:
    """Return app.yaml with ``spec.release`` set. Raises `InvalidInput` where that is unsafe."""
    return set_field(data, ("spec", "release"), {"deployment": deployment}, file)


def set_restart(data: bytes, at: datetime, file: str = APP_FILE) -> bytes:
    """Return app.yaml with ``spec.restartAt`` set. Raises `InvalidInput` where that is unsafe."""
    return set_field(data, ("spec", "restartAt"), _moment(at), file)


def set_history_generation(data: bytes, generation: int, file: str = SETTINGS_FILE) -> bytes:
    """Return gitops-bg.yaml with ``historyGeneration`` set. Raises `InvalidInput` where that is unsafe."""
    return set_field(data, ("historyGeneration",), generation, file)


def set_field(data: bytes, path: Path, value: str | int | Mapping[str, str | int] | None, file: str) -> bytes:
    """Return a file with one field of a mapping set to text, a number or a flat mapping, on one line, or removed for
    None.

    An existing field is replaced with everything inside it; a new one goes right below its parent's key (at the end of
    the file where the parent is the document). Raises `InvalidInput` where the parent is missing or shared by an
    anchor, or where the result would not read back as intended.
    """
    document, text = _document(file, data), Text(data)
    node, parent = text.find(path), text.find(path[:-1])
    if parent is None or parent.kind is not MappingStartEvent:
        raise _refusal(document, path, "its parent is missing or no mapping", "edit the file by hand")
    if value is None:
        changed = text.without(node, parent) if node else data
    elif node is not None:
        _refuse_what_is_shared(document, path, node)
        changed = text.with_value(node, _one_line(value))
    else:
        changed = text.with_entry(parent, path, f"{scalar(str(path[-1]))}: {_one_line(value)}")
    return _verified(document, changed, path, value)


def _one_line(value: str | int | Mapping[str, str | int]) -> str:
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return json_for_yaml(value)
    fields = (f"{key}: {json_for_yaml(item) if isinstance(item, str) else item}" for key, item in value.items())
    return f"{{{', '.join(fields)}}}"


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _document(file: str, data: bytes) -> Document:
    document, problems = read_one(file, data)
    if document is None:
        raise InvalidInput(*problems)
    return document


def _refusal(document: Document, path: Path, message: str, remedy: str) -> InvalidInput:
    return InvalidInput(document.problem(path, message, remedy))


def _image_path(document: Document, container: str) -> Path:
    pods = pod_paths(document.value).spec
    pod = _value_at(document.value, pods)
    groups = {group: pod.get(group) or [] for group in ("containers", "initContainers")} if pod else {}
    for group, containers in groups.items():
        for index, each in enumerate(containers):
            if isinstance(each, dict) and each.get("name") == container and isinstance(each.get("image"), str):
                return (*pods, group, index, "image")
    names = [each["name"] for containers in groups.values() for each in containers if "name" in each]
    message = f"there is no container {container} with an image"
    raise _refusal(document, (*pods, "containers"), message, f"the containers are: {', '.join(names)}")


def _value_at(value: Any, path: Path) -> Any:
    for part in path:
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value if isinstance(value, dict) else None


def _refuse_what_is_shared(document: Document, path: Path, node: Node) -> None:
    if node.kind is AliasEvent:
        message = "the value is an alias (*…): changing it would change every place that uses its anchor"
        raise _refusal(document, path, message, "write the value out here, then edit it")


def _in_style(text: str, style: str | None) -> str:
    """Quote text as the author quoted the replaced text, where that is possible."""
    if style == "'":
        return "'" + text.replace("'", "''") + "'"
    return text if not style and scalar(text) == text else json_for_yaml(text)


def _verified(document: Document, changed: bytes, path: Path, value: Any) -> bytes:
    """Return ``changed`` if it differs from the document's file in exactly the one field; else raise."""
    result = read(document.file, changed)
    wanted = _values(read(document.file, document.data)) | {document.number: _with(document.value, path, value)}
    if result.problems or _values(result) != wanted:
        why = f" ({result.problems[0].message})" if result.problems else ""
        message = f"it cannot be changed without changing more than {written(path)}{why}"
        raise _refusal(document, path, message, "edit the file by hand, or remove anchors around it")
    return changed


def _values(reading: FileReading) -> dict[int, Any]:
    """Return the documents of a file by number."""
    return {each.number: each.value for each in reading.documents}


def _with(value: Any, path: Path, item: Any) -> Any:
    """Return a copy of ``value`` with the field at ``path`` replaced, or removed for None."""
    if not path:
        return item
    part, rest = path[0], path[1:]
    if isinstance(part, int):
        return [_with(each, rest, item) if index == part else each for index, each in enumerate(value)]
    if rest:
        return {**value, part: _with(value[part], rest, item)}
    others = {key: each for key, each in value.items() if key != part}
    return others if item is None else {**others, part: item}


_BEGINS = re.compile(r"^---(?=\s|$)", re.MULTILINE | re.ASCII)
_MARKER = re.compile(r"---[^\n]*(?:\n|\Z)")


@dataclass(frozen=True, slots=True)
class Piece:
    """One document: ``named`` and ``value`` are None where it is empty. ``text`` has no leading marker."""

    marker: str
    text: str
    named: Named | None
    value: Any


def pieces(file: str, data: bytes) -> list[Piece]:
    """Return the documents of a file, in order. Raises ``InvalidInput`` where it cannot be read."""
    found = [_piece(file, text) for text in _cut(data.decode())]
    reading = read(file, data)
    if reading.problems:
        raise InvalidInput(*reading.problems)
    return found


def piece_of(file: str, data: bytes, named: Named) -> Piece | None:
    """Return the document of a kind and name, or None. Raises as `pieces`."""
    return next((piece for piece in pieces(file, data) if piece.named == named), None)


def with_document(file: str, data: bytes, named: Named, text: str) -> bytes:
    """Return the file with ``text`` as its document of this kind and name: replaced, or appended.

    Raises ``InvalidInput`` where the file cannot be read, or would not contain exactly that afterwards.
    """
    before = pieces(file, data)
    ended = text if text.endswith("\n") else f"{text}\n"
    if any(piece.named == named for piece in before):
        parts = [piece.marker + (ended if piece.named == named else piece.text) for piece in before]
        changed = "".join(parts)
    else:
        kept = data.decode()
        kept += "" if kept.endswith("\n") or not kept else "\n"
        changed = f"{kept}---\n{ended}" if kept.strip() else ended
    _verify(file, before, changed, named)
    return changed.encode()


def _cut(text: str) -> Iterator[str]:
    starts = [0, *(match.start() for match in _BEGINS.finditer(text) if match.start())]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield text[start:end]


def _piece(file: str, text: str) -> Piece:
    marker = _MARKER.match(text)
    head = marker[0] if marker else ""
    document, _ = read_one(file, text.encode())
    value = document.value if document else None
    return Piece(head, text[len(head) :], _named(value), value)


def _named(value: Any) -> Named | None:
    metadata = value.get("metadata") if isinstance(value, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return (str(value.get("kind")), name) if isinstance(name, str) else None


def _verify(file: str, before: list[Piece], changed: str, named: Named) -> None:
    """Check that every other document is unchanged, and the new one occurs once."""
    after = pieces(file, changed.encode())
    others = [[piece.value for piece in side if piece.named != named and piece.value] for side in (before, after)]
    if others[0] != others[1] or sum(piece.named == named for piece in after) != 1:
        kind, name = named
        message = f"{kind} {name} cannot be put into it without changing more"
        raise InvalidInput(Problem(file, message, remedy="edit the file by hand"))

"""Reads the few kinds that `kubectl create <kind>` sends as protobuf, whatever the server prefers.

It must write no protobuf, and know no field that those commands do not set. Field numbers: the
`generated.proto` of kubernetes `staging/src/k8s.io/{api,apimachinery}`; the envelope is `runtime.Unknown`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gitops_bg.sandbox.objects.objects import Manifest

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"


class Unreadable(Exception):
    """The body is no protobuf of a kind listed here."""


@dataclass(frozen=True, slots=True)
class _Field:
    """How to read one field: `text`, `number`, `map`, `bytemap`, `int-or-text`, or a message."""

    name: str
    kind: str | dict[int, _Field]
    repeated: bool = False
    keeps_zero: bool = False


_TEXT, _MAP, _NUMBER = "text", "map", "number"
_META = {1: _Field("name", _TEXT), 2: _Field("generateName", _TEXT), 3: _Field("namespace", _TEXT)}
_META |= {11: _Field("labels", _MAP), 12: _Field("annotations", _MAP), 14: _Field("finalizers", _TEXT, True)}
_METADATA = _Field("metadata", _META)
_CONTAINER_PORT = {1: _Field("name", _TEXT), 3: _Field("containerPort", _NUMBER), 4: _Field("protocol", _TEXT)}
_CONTAINER = {
    1: _Field("name", _TEXT),
    2: _Field("image", _TEXT),
    3: _Field("command", _TEXT, True),
    4: _Field("args", _TEXT, True),
    6: _Field("ports", _CONTAINER_PORT, True),
    7: _Field("env", {1: _Field("name", _TEXT), 2: _Field("value", _TEXT)}, True),
}
_POD = {2: _Field("containers", _CONTAINER, True), 3: _Field("restartPolicy", _TEXT)}
_TEMPLATE = {1: _METADATA, 2: _Field("spec", _POD)}
_WORKLOAD = {
    1: _Field("replicas", _NUMBER, keeps_zero=True),
    2: _Field("selector", {1: _Field("matchLabels", _MAP)}),
    3: _Field("template", _TEMPLATE),
}
_JOB = {6: _Field("template", _TEMPLATE), 7: _Field("backoffLimit", _NUMBER, keeps_zero=True)}
_SERVICE_PORT = {
    1: _Field("name", _TEXT),
    2: _Field("protocol", _TEXT),
    3: _Field("port", _NUMBER),
    4: _Field("targetPort", "int-or-text"),
    5: _Field("nodePort", _NUMBER),
}
_SERVICE = {
    1: _Field("ports", _SERVICE_PORT, True),
    2: _Field("selector", _MAP),
    3: _Field("clusterIP", _TEXT),
    4: _Field("type", _TEXT),
    10: _Field("externalName", _TEXT),
}
_KINDS: dict[str, dict[int, _Field]] = {
    "Namespace": {1: _METADATA},
    "ServiceAccount": {1: _METADATA},
    "ConfigMap": {1: _METADATA, 2: _Field("data", _MAP), 3: _Field("binaryData", "bytemap")},
    "Secret": {1: _METADATA, 2: _Field("data", "bytemap"), 3: _Field("type", _TEXT), 4: _Field("stringData", _MAP)},
    "Service": {1: _METADATA, 2: _Field("spec", _SERVICE)},
    "Deployment": {1: _METADATA, 2: _Field("spec", _WORKLOAD)},
    "Job": {1: _METADATA, 2: _Field("spec", _JOB)},
}  # fmt: skip


def read(body: bytes) -> Manifest:
    """Return the object in a protobuf body; raise Unreadable."""
    if not body.startswith(_MAGIC):
        raise Unreadable("no Kubernetes protobuf")
    try:
        parts = {number: value for number, value in _records(body[len(_MAGIC) :]) if isinstance(value, bytes)}
        names = {number: value.decode() for number, value in _records(parts[1]) if isinstance(value, bytes)}
        api_version, kind = names[1], names[2]
        if kind not in _KINDS:
            raise Unreadable(f"{kind} as protobuf")
        return {"apiVersion": api_version, "kind": kind, **_message(parts[2], _KINDS[kind])}
    except (KeyError, IndexError, UnicodeDecodeError) as error:
        raise Unreadable("broken protobuf") from error


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
        shift += 7


def _records(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield field numbers with their varints or bytes."""
    place = 0
    while place < len(data):
        tag, place = _varint(data, place)
        if tag & 7 == 0:
            value, place = _varint(data, place)
            yield tag >> 3, value
        elif tag & 7 == 2:
            size, place = _varint(data, place)
            yield tag >> 3, data[place : place + size]
            place += size
        else:
            place += 8 if tag & 7 == 1 else 4


def _message(data: bytes, fields: dict[int, _Field]) -> Manifest:
    """Return a message as JSON has it; Go writes zero values, which mean "not set"."""
    result: Manifest = {}
    for number, raw in _records(data):
        field = fields.get(number)
        if field is None:
            continue
        if field.kind in ("map", "bytemap") and isinstance(raw, bytes):
            result.setdefault(field.name, {}).update(_entry(raw, field.kind == "bytemap"))
            continue
        value = _value(raw, field)
        if field.repeated:
            result.setdefault(field.name, []).append(value)
        elif value or field.keeps_zero:
            result[field.name] = value
    return result


def _entry(raw: bytes, binary: bool) -> dict[str, str]:
    pair = dict(_records(raw))
    key, value = (part if isinstance(part, bytes) else b"" for part in (pair.get(1), pair.get(2)))
    return {key.decode(): base64.b64encode(value).decode() if binary else value.decode()}


def _value(raw: int | bytes, field: _Field) -> Any:
    if isinstance(raw, int):
        return raw
    if isinstance(field.kind, dict):
        return _message(raw, field.kind)
    if field.kind == "int-or-text":
        parts = dict(_records(raw))
        text = parts.get(3, b"")
        return text.decode() if parts.get(1) and isinstance(text, bytes) else parts.get(2, 0)
    return raw.decode()

"""The core's dataclasses as JSON and back, and the JSON Schemas of that: statuses, `plan --observed FILE`, decisions.
Knows no single type by name.

Keys are camelCase, times RFC 3339 in UTC, and defaults are left out, which keeps statuses small. Unknown keys are
ignored, so that an agent can read the record of a newer one. The functions for a type are created once, from its
annotations, because a cold start reads one record for each app (DESIGN §8).
"""

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from itertools import repeat
from types import NoneType
from typing import Any, TypeVar

from pydantic.alias_generators import to_camel

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.foreign_text import read_moment
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import NOT_STORED
from gitops_bg.spec.yaml.reader import kind_of
from gitops_bg.spec.yaml.scalars import Path, written

Value = TypeVar("Value")
Encode = Callable[[Any], Any]
Decode = Callable[[Any], Any]

TAG = "action"
"""The key that tells the members of a union of dataclasses apart; its value is the name of the class."""

MISSING: Any = object()
"""The default of a field without one."""


class _Wrong(Exception):
    """A value that does not fit; the path grows as the error propagates."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.path: Path = ()


def to_json(value: Any) -> dict[str, Any]:
    """Return a dataclass of the core as a JSON object.

    >>> from gitops_bg.core.model.version import AppKey, Source
    >>> to_json(AppKey("shop", "web")), to_json(Source(commit="9be1"))
    ({'namespace': 'shop', 'name': 'web'}, {'commit': '9be1'})
    """
    kind: Any = type(value)
    encoded: dict[str, Any] = _encoder(kind)(value)
    return encoded


def from_json(kind: type[Value], data: object, file: str = "") -> Value:
    """Restore the dataclass that `to_json` converted to ``data``. Raises `InvalidInput` with the wrong field."""
    wanted: Any = kind
    try:
        value: Value = _decoder(wanted)(data)
    except _Wrong as error:
        raise InvalidInput(Problem(file or kind.__name__, str(error), field=written(error.path))) from error
    return value


# --- to JSON ---


def _same(value: Any) -> Any:
    return value


@cache
def _encoder(kind: Any) -> Encode:
    if dataclasses.is_dataclass(kind):
        return _dataclass_encoder(kind)
    if kind is datetime:
        return _encode_moment
    if _is_enum(kind):
        return lambda value: value.value
    arguments = [each for each in typing.get_args(kind) if each is not type(None)]
    if is_union(kind):
        return _union_encoder(arguments)
    if typing.get_origin(kind) is tuple:
        return _tuple_encoder(typing.get_args(kind))
    return _same


def _dataclass_encoder(kind: Any) -> Encode:
    fields: list[tuple[str, str, Encode, Any]] | None = None

    def encode(value: Any) -> dict[str, Any]:
        nonlocal fields
        if fields is None:  # on first use, so that types may contain themselves
            fields = [(one.name, one.key, _encoder(one.kind), one.default) for one in fields_of(kind)]
        result: dict[str, Any] = {}
        for name, key, encode_field, default in fields:
            item = getattr(value, name)
            if item != default:
                result[key] = encode_field(item)
        return result

    return encode


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Enum)


def _union_encoder(members: list[Any]) -> Encode:
    """Encode a union: an enum member as its text, one of several dataclasses with its name."""
    words = [each for each in members if _is_enum(each)]
    if words and len(members) > 1:
        other = _union_encoder([each for each in members if each not in words])
        return lambda value: value.value if isinstance(value, Enum) else other(value)
    if len(members) > 1 and all(map(dataclasses.is_dataclass, members)):
        return lambda value: None if value is None else {TAG: type(value).__name__, **to_json(value)}
    inner = _encoder(members[0])
    return lambda value: None if value is None else inner(value)


def _tuple_encoder(members: tuple[Any, ...]) -> Encode:
    if members[-1] is not ...:
        encoders = [_encoder(member) for member in members]
        return lambda value: [encode(item) for encode, item in zip(encoders, value, strict=True)]
    inner = _encoder(members[0])
    return list if inner is _same else lambda value: [inner(item) for item in value]


def _encode_moment(moment: datetime) -> str:
    if moment.tzinfo is None:
        raise ValueError("a time without a zone has no meaning outside this process")
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


# --- from JSON ---


@cache
def _decoder(kind: Any) -> Decode:
    if dataclasses.is_dataclass(kind):
        return _dataclass_decoder(kind)
    if kind is datetime:
        return _decode_moment
    if _is_enum(kind):
        return _enum_decoder(kind)
    arguments = typing.get_args(kind)
    if is_union(kind):
        return _union_decoder(arguments)
    if typing.get_origin(kind) is tuple:
        return _tuple_decoder(arguments)
    return _scalar_decoder(kind)


def _dataclass_decoder(kind: Any) -> Decode:
    fields: list[tuple[str, str, Decode, bool]] | None = None

    def decode(data: Any) -> Any:
        nonlocal fields
        if fields is None:
            fields = [(one.name, one.key, _decoder(one.kind), one.default is MISSING) for one in fields_of(kind)]
        if not isinstance(data, Mapping):
            raise _Wrong(f"expected a mapping, found {kind_of(data)}")
        values: dict[str, Any] = {}
        for name, key, decode_field, required in fields:
            if key in data:
                values[name] = _at(key, decode_field, data[key])
            elif required:
                raise _Wrong(f"{key} is required")
        return kind(**values)

    return decode


def _at(part: str | int, decode: Decode, data: Any) -> Any:
    try:
        return decode(data)
    except _Wrong as error:
        error.path = (part, *error.path)
        raise


def _union_decoder(arguments: tuple[Any, ...]) -> Decode:
    members = [each for each in arguments if each is not type(None)]
    inner = _members_decoder(members)
    if len(members) == len(arguments):
        return inner
    return lambda data: None if data is None else inner(data)


def _members_decoder(members: list[Any]) -> Decode:
    words = [each for each in members if _is_enum(each)]
    if len(members) == 1:
        return _decoder(members[0])
    if not words:
        return _tagged_decoder(members)
    word, other = _decoder(words[0]), _members_decoder([each for each in members if each not in words])
    return lambda data: word(data) if isinstance(data, str) else other(data)


def _tagged_decoder(members: list[Any]) -> Decode:
    by_name = {member.__name__: member for member in members}

    def decode(data: Any) -> Any:
        name = data.get(TAG) if isinstance(data, Mapping) else None
        if name not in by_name:
            raise _Wrong(f"{TAG} must be one of {', '.join(by_name)}")
        return _decoder(by_name[name])(data)

    return decode


def _tuple_decoder(members: tuple[Any, ...]) -> Decode:
    """Decode a tuple of any number of one type (``...``), or of one type for each place."""
    decoders = None if members[-1] is ... else [_decoder(member) for member in members]
    every = _decoder(members[0])

    def decode(data: Any) -> Any:
        if not isinstance(data, list):
            raise _Wrong(f"expected a list, found {kind_of(data)}")
        if decoders is not None and len(data) != len(decoders):
            raise _Wrong(f"expected {len(decoders)} items, found {len(data)}")
        items = zip(decoders or repeat(every), data, strict=False)
        return tuple(_at(index, decode_item, item) for index, (decode_item, item) in enumerate(items))

    return decode


def _enum_decoder(kind: type[Enum]) -> Decode:
    by_value = {member.value: member for member in kind}

    def decode(data: Any) -> Any:
        if not isinstance(data, str) or data not in by_value:
            raise _Wrong(f"{data!r} is none of {', '.join(map(str, by_value))}")
        return by_value[data]

    return decode


def _scalar_decoder(kind: type) -> Decode:
    def decode(data: Any) -> Any:
        if type(data) is kind:
            return data
        raise _Wrong(f"expected {kind_of(kind())}, found {kind_of(data)}")

    return decode


def _decode_moment(data: Any) -> datetime:
    try:
        return read_moment(data)
    except ValueError as error:
        raise _Wrong(str(error)) from error


# --- both ---


class StoredField(typing.NamedTuple):
    """One field of a dataclass, as it is stored: its key is its name in camelCase."""

    name: str
    key: str
    kind: Any
    default: Any


def fields_of(kind: Any) -> list[StoredField]:
    """Return the fields of a dataclass; the default of a field without one is `MISSING`."""
    hints = typing.get_type_hints(kind)
    return [
        StoredField(one.name, to_camel(one.name), hints[one.name], _default(one))
        for one in dataclasses.fields(kind)
        if one.metadata != NOT_STORED
    ]


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return MISSING


def is_union(kind: Any) -> bool:
    """Return whether an annotation is a union."""
    return typing.get_origin(kind) in (typing.Union, types.UnionType)


# --- schemas, by the same annotations ---

Schema = dict[str, Any]

_SCALARS: Mapping[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    NoneType: {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
}


def encoded_schema(kind: Any) -> Schema:
    """Return the schema of `to_json` of a dataclass: no further keys; those with a default are left out where they have
    it.

    >>> from gitops_bg.core.model.version import AppKey
    >>> encoded_schema(AppKey)["required"], encoded_schema(AppKey)["additionalProperties"]
    (['namespace', 'name'], False)
    """
    return _schema(kind, ())


def _schema(kind: Any, within: tuple[Any, ...]) -> Schema:
    """Return its schema; ``within`` are the dataclasses around it: one that contains itself is not told twice."""
    if dataclasses.is_dataclass(kind):
        return {"type": "object"} if kind in within else _object(kind, (*within, kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"enum": [each.value for each in kind]}
    if is_union(kind):
        return _union(typing.get_args(kind), within)
    if typing.get_origin(kind) is tuple:
        return _tuple(typing.get_args(kind), within)
    return _SCALARS[kind]


def _object(kind: Any, within: tuple[Any, ...]) -> Schema:
    properties: Schema = {}
    required: list[str] = []
    for each in fields_of(kind):
        properties[each.key] = _schema(each.kind, within)
        required += [each.key] if each.default is MISSING else []
    return {"type": "object", "additionalProperties": False, "properties": properties, "required": required}


def _union(members: tuple[Any, ...], within: tuple[Any, ...]) -> Schema:
    several = sum(map(dataclasses.is_dataclass, members)) > 1
    return {"anyOf": [_tagged(each, within) if several else _schema(each, within) for each in members]}


def _tagged(kind: Any, within: tuple[Any, ...]) -> Schema:
    found = _schema(kind, within)
    if not dataclasses.is_dataclass(kind) or "properties" not in found:
        return found
    name = {TAG: {"const": typing.cast(Any, kind).__name__}}
    return {**found, "properties": name | found["properties"], "required": [TAG, *found["required"]]}


def _tuple(members: tuple[Any, ...], within: tuple[Any, ...]) -> Schema:
    if members[-1] is ...:
        return {"type": "array", "items": _schema(members[0], within)}
    each = [_schema(member, within) for member in members]
    return {"type": "array", "prefixItems": each, "minItems": len(each), "maxItems": len(each)}

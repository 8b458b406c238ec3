"""JSON Schemas of what `codec.to_json` makes of the core's dataclasses, by their annotations. Knows no type by name."""

import dataclasses
import typing
from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from types import NoneType
from typing import Any

from gitops_bg.spec.codec import MISSING, TAG, fields_of, is_union

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
    """The schema of `to_json` of a dataclass: no further keys; those with a default are left out where they have it.

    >>> from gitops_bg.core.model.version import AppKey
    >>> encoded_schema(AppKey)["required"], encoded_schema(AppKey)["additionalProperties"]
    (['namespace', 'name'], False)
    """
    return _schema(kind, ())


def _schema(kind: Any, within: tuple[Any, ...]) -> Schema:
    """``within`` are the dataclasses around it: one that contains itself is not told twice."""
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

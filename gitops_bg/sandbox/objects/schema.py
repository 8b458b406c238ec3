"""Structural schemas of custom resources: prune, default, validate. It must know no built-in type.

Rules: kubernetes.io "Custom Resource Definitions" (pruning, defaulting) and apiextensions-apiserver
`pkg/apiserver/{schema,validation}`. CEL rules (`x-kubernetes-validations`) are not evaluated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from gitops_bg.sandbox.http.errors import cause, required
from gitops_bg.sandbox.objects.objects import Manifest, copy_of

_KEEP = "x-kubernetes-preserve-unknown-fields"
_TOP = ("apiVersion", "kind", "metadata")


def prune(obj: Manifest, schema: Manifest) -> list[str]:
    """Remove fields that the schema does not know, in place; return their paths."""
    removed: list[str] = []
    if not schema.get(_KEEP):
        for name in [name for name in obj if name not in _TOP and name not in schema.get("properties", {})]:
            del obj[name]
            removed.append(name)
    for name, below in (schema.get("properties") or {}).items():
        if name not in _TOP and name in obj:
            _prune(obj[name], below, name, removed)
    return removed


def _prune(value: Any, schema: Manifest, path: str, removed: list[str]) -> None:
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        for place, item in enumerate(value):
            _prune(item, schema["items"], f"{path}[{place}]", removed)
    if not isinstance(value, dict):
        return
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    embedded = _TOP if schema.get("x-kubernetes-embedded-resource") else ()
    for name in list(value):
        if name in properties:
            _prune(value[name], properties[name], f"{path}.{name}", removed)
        elif isinstance(others, dict):
            _prune(value[name], others, f"{path}.{name}", removed)
        elif not others and not schema.get(_KEEP) and name not in embedded:
            del value[name]
            removed.append(f"{path}.{name}")


def default(value: Any, schema: Manifest) -> None:
    """Fill in the schema's defaults, in place; a null that may not be null is replaced too."""
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        for item in value:
            default(item, schema["items"])
    if not isinstance(value, dict):
        return
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    for name, below in properties.items():
        missing = name not in value or (value[name] is None and not below.get("nullable"))
        if missing and "default" in below:
            value[name] = copy_of(below["default"])
        if name in value:
            default(value[name], below)
    if isinstance(others, dict):
        for name in value.keys() - properties.keys():
            default(value[name], others)


def drop_nulls(value: Any, schema: Manifest) -> None:
    """Remove nulls where the schema allows none, as the server does before validation."""
    if isinstance(value, dict):
        for name, below in (schema.get("properties") or {}).items():
            if name in value and value[name] is None and not below.get("nullable"):
                del value[name]
            elif name in value:
                drop_nulls(value[name], below)


_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}
_GO_TYPES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}


def validate(value: Any, schema: Manifest, path: str = "") -> Iterator[Manifest]:
    """Yield a cause for everything in `value` that the schema does not allow."""
    if value is None and schema.get("nullable"):
        return
    if schema.get("x-kubernetes-int-or-string"):
        if not isinstance(value, int | str) or isinstance(value, bool):
            yield _wrong_type(path, value, "integer,string")
        return
    wanted = schema.get("type")
    if wanted and not _TYPES[wanted](value):
        yield _wrong_type(path, value, wanted)
        return
    yield from _scalar(value, schema, path)
    if isinstance(value, dict):
        yield from _object(value, schema, path)
    elif isinstance(value, list):
        yield from _array(value, schema, path)


def _wrong_type(path: str, value: Any, wanted: str) -> Manifest:
    found = "null" if value is None else _GO_TYPES[type(value)]
    text = f'Invalid value: "{found}": {path} in body must be of type {wanted}: "{found}"'
    return cause(path, text, "FieldValueTypeInvalid")


def _shown(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _scalar(value: Any, schema: Manifest, path: str) -> Iterator[Manifest]:
    options = schema.get("enum")
    if options is not None and value not in options:
        allowed = ", ".join(_shown(option) for option in options)
        yield cause(path, f"Unsupported value: {_shown(value)}: supported values: {allowed}", "FieldValueNotSupported")
    if isinstance(value, str):
        yield from _string(value, schema, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number(value, schema, path)


def _string(value: str, schema: Manifest, path: str) -> Iterator[Manifest]:
    pattern = schema.get("pattern")
    if pattern and not re.search(pattern, value):
        yield cause(path, f"Invalid value: {_shown(value)}: {path} in body should match '{pattern}'")
    if "minLength" in schema and len(value) < schema["minLength"]:
        least = schema["minLength"]
        yield cause(path, f"Invalid value: {_shown(value)}: {path} in body should be at least {least} chars long")
    if "maxLength" in schema and len(value) > schema["maxLength"]:
        yield cause(path, f"Too long: may not be more than {schema['maxLength']} bytes", "FieldValueTooLong")


def _number(value: float, schema: Manifest, path: str) -> Iterator[Manifest]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and value < low:
        yield cause(path, f"Invalid value: {value}: {path} in body should be greater than or equal to {low}")
    if high is not None and value > high:
        yield cause(path, f"Invalid value: {value}: {path} in body should be less than or equal to {high}")


def _object(value: Manifest, schema: Manifest, path: str) -> Iterator[Manifest]:
    inside = f"{path}." if path else ""
    for name in schema.get("required") or ():
        if name not in value:
            yield required(f"{inside}{name}")
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    for name, item in value.items():
        below = properties.get(name, others)
        if isinstance(below, dict) and not (not path and name in _TOP):
            yield from validate(item, below, f"{inside}{name}")


def _array(value: list[Any], schema: Manifest, path: str) -> Iterator[Manifest]:
    if "minItems" in schema and len(value) < schema["minItems"]:
        least = schema["minItems"]
        yield cause(path, f"Invalid value: {len(value)}: {path} in body should have at least {least} items")
    if "maxItems" in schema and len(value) > schema["maxItems"]:
        most = schema["maxItems"]
        yield cause(path, f"Too many: {len(value)}: must have at most {most} items", "FieldValueTooMany")
    items = schema.get("items")
    seen = set()
    for place, item in enumerate(value):
        if isinstance(items, dict):
            yield from validate(item, items, f"{path}[{place}]")
        keys = schema.get("x-kubernetes-list-map-keys") if schema.get("x-kubernetes-list-type") == "map" else None
        if keys and isinstance(item, dict):
            identity = _shown([item.get(key) for key in keys])
            if identity in seen:
                yield cause(f"{path}[{place}]", f"Duplicate value: {identity}", "FieldValueDuplicate")
            seen.add(identity)

"""The fields of Kubernetes' objects as `check` knows them, read off the client library's models.

`python -m tests.cluster.kubernetes_fields --write` writes the file; a test compares it.
"""

from __future__ import annotations

import json
import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kubernetes import client
from pydantic import BaseModel

from gitops_bg.cluster import lint

FILE = Path(lint.__file__).with_name("fields.json")


def fields_file() -> str:
    """The whole file, a model a line."""
    models: dict[str, dict[str, str]] = {}
    for name in (*lint.MODELS.values(), lint.POD_TEMPLATE, lint.POD_SPEC):
        _add(getattr(client, name), models)
    lines = (f"{json.dumps(name)}: {json.dumps(fields)}" for name, fields in sorted(models.items()))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _add(model: type[BaseModel], models: dict[str, dict[str, str]]) -> None:
    if model.__name__ in models:
        return
    fields = models[model.__name__] = {}
    for name, field in model.model_fields.items():
        written = _written(field.annotation, models)
        fields[field.serialization_alias or name] = f"{written}!" if field.is_required() else written


def _written(annotation: Any, models: dict[str, dict[str, str]]) -> str:
    return "|".join(sorted(_type(each, models) for each in _alternatives(annotation)))


def _type(kind: Any, models: dict[str, dict[str, str]]) -> str:
    if kind is Any:
        return "any"
    holder = typing.get_origin(kind)
    if holder in (list, dict):
        return f"{holder.__name__}:{_written(typing.get_args(kind)[-1], models)}"
    if issubclass(kind, BaseModel):
        _add(kind, models)
    return kind.__name__


def _alternatives(annotation: Any) -> Iterator[Any]:
    """The types that a value may have: without None, and without pydantic's annotations."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        yield from _alternatives(typing.get_args(annotation)[0])
    elif origin in (typing.Union, types.UnionType):
        for each in typing.get_args(annotation):
            yield from _alternatives(each)
    elif annotation is not types.NoneType:
        yield annotation


if __name__ == "__main__" and "--write" in sys.argv:
    FILE.write_text(fields_file())

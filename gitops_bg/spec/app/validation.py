"""Turns pydantic's errors about a document into Problems: plain words, the place in the file, the remedy.

Knows no schema of its own: fields and their models come from the caller.
"""

import difflib
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError
from pydantic_core.core_schema import no_info_after_validator_function

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.forms import remedy_for
from gitops_bg.spec.yaml.paths import Path
from gitops_bg.spec.yaml.reader import Document, first_of, kind_of
from gitops_bg.spec.yaml.scalars import mode_remedy, unquoted

Models = Mapping[str, type[BaseModel]]

ModelType = TypeVar("ModelType", bound=BaseModel)

_EXPECTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "list_type": "a list",
    "datetime_type": "a time with its zone, such as 2026-03-01T12:00:00Z",
}


@dataclass(frozen=True)
class Matching:
    """Text that matches a pattern as a whole; ``remedy`` says in words what does. To annotate `str` with."""

    pattern: str
    remedy: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Check the text."""
        return no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Say the pattern in the schemas that API servers and editors read."""
        return handler(core) | {"pattern": f"^{self.pattern}$"}

    def _checked(self, text: str) -> str:
        if not re.fullmatch(self.pattern, text):
            raise Conflict("", f"{text!r} is not allowed", self.remedy)
        return text


class Conflict(PydanticCustomError):
    """Two fields that contradict each other. ``field`` is the dotted path below the model that raises it, if any."""

    def __new__(cls, field: str, message: str, remedy: str) -> "Conflict":
        """Carry the field and the remedy through pydantic."""
        return super().__new__(cls, "conflict", "{message}", {"field": field, "message": message, "remedy": remedy})


def validate(
    model: type[ModelType], document: Document, others: Models = types.MappingProxyType({})
) -> tuple[ModelType | None, tuple[Problem, ...]]:
    """Validate the document as ``model``; None and every problem where it is invalid.

    ``others``: the models of other files, by their names, of whose fields a problem says that they belong there.
    """
    try:
        return model.model_validate(document.value), ()
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=True, include_context=True)
        return None, tuple(first_of(_problem(model, document, detail, others) for detail in details))


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The known word closest to ``word``; empty where none is close.

    >>> nearest("replica", ["replicas", "template"]), nearest("sidecars", ["replicas"])
    ('replicas', '')
    """
    return next(iter(difflib.get_close_matches(word, known, n=1, cutoff=cutoff)), "")


def expected(kinds: Iterable[str], value: Any, quoting: str, path: Path) -> tuple[str, str]:
    """Message and remedy for a value of a wrong type, by pydantic's names of the expected types; ``quoting`` is the
    remedy where it is to be text (`Document.quoting`).

    >>> expected(["int_type"], "2", "", ("replicas",))
    ('expected a whole number, found text', 'remove the quotes')
    >>> expected(["int_type", "string_type"], [], "", ("port",))
    ('expected a whole number or text, found a list', '')
    """
    names = list(kinds)
    remedy = _type_remedy(names[0], value, quoting, path) or _form(names[0], value, path) if len(names) == 1 else ""
    return f"expected {' or '.join(_EXPECTED[kind] for kind in names)}, found {kind_of(value)}", remedy


def _problem(model: type[BaseModel], document: Document, detail: ErrorDetails, others: Models) -> Problem:
    path = detail["loc"]
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "conflict":
        return document.problem((*path, *_path(context["field"])), context["message"], context["remedy"])
    if kind == "extra_forbidden":
        return _unknown_field(model, document, path, others)
    if kind == "missing":
        return document.problem(path, "is required", f"add {path[-1]}")
    message, remedy = _words(kind, context, detail, document.quoting(path))
    if kind == "string_too_short":
        remedy = remedy_for(path, "text", "") or remedy
    return document.problem(path, message, remedy)


def _path(dotted: str) -> Path:
    return tuple(int(part) if part.isdecimal() else part for part in dotted.split(".") if part)


def _unknown_field(model: type[BaseModel], document: Document, path: Path, others: Models) -> Problem:
    known = _fields_at(model, path[:-1])
    name = str(path[-1])
    close = nearest(name, known)
    remedy = f"did you mean {close}?" if close else f"known here: {', '.join(sorted(known))}"
    if name == "spec" and len(path) == 1:
        remedy = "write what is below it at the top of the file"
    elif place := place_of(model, name):
        remedy = f"write it as {place}"
    elif in_other := next((f"{place} in {file}" for file, of in others.items() if (place := place_of(of, name))), ""):
        remedy = f"write it as {in_other}"
    return document.problem(path, "there is no such field", remedy, at_key=True)


@cache
def place_of(model: type[BaseModel], name: str) -> str:
    """The one place below ``model`` where there is a field of this name, dotted; empty where there is none, or several.

    Not those inside of lists: which item would be meant nobody can tell.
    """
    found = [place for place in _places(model, "") if place.rpartition(".")[2] == name]
    return found[0] if len(found) == 1 else ""


def _places(model: type[BaseModel], above: str) -> Iterator[str]:
    for key, field in model.model_fields.items():
        place = f"{above}.{field.alias or key}".removeprefix(".")
        yield place
        inner = _model_in(field.annotation, into_lists=False)
        if inner is not None and place.count(".") < _DEEPEST:
            yield from _places(inner, place)


_DEEPEST = 4
"""Levels at which fields are looked for that stand at a wrong place."""


def _words(kind: str, context: Mapping[str, Any], detail: ErrorDetails, quoting: str) -> tuple[str, str]:
    """Message and remedy of an error about one value."""
    value = detail["input"]
    if kind == "int_type" and isinstance(value, float):
        return f"expected a whole number, found {value}", ""
    if kind in _EXPECTED:
        return expected([kind], value, quoting, detail["loc"])
    known: dict[str, Callable[[], tuple[str, str]]] = {
        "literal_error": lambda: (f"{value!r} is not allowed", f"write {_alternatives(context['expected'])}"),
        "greater_than_equal": lambda: (f"{value} is too small", f"write {context['ge']} or more"),
        "less_than_equal": lambda: (f"{value} is too large", f"write {context['le']} or less"),
        "string_too_short": lambda: ("must not be empty", "write at least one character"),
        "too_short": lambda: ("must not be empty", "write at least one"),
        "too_long": lambda: (f"has {context['actual_length']}", f"write {context['max_length']} at most"),
    }
    return known[kind]() if kind in known else (detail["msg"], "")


def _alternatives(expected: str) -> str:
    return expected.replace("'", "")


def _type_remedy(kind: str, value: Any, quoting: str, path: Path) -> str:
    """What to write instead; where that is done, `spec.yaml.reader` takes it: no two remedies lead in a circle."""
    if kind == "string_type" and not isinstance(value, dict | list) and value is not None:
        return quoting
    if not isinstance(value, str):
        return ""
    if kind == "bool_type":
        return unquoted(value, bool)
    return mode_remedy(path, value) or unquoted(value, int) if kind.startswith("int") else ""


def _form(kind: str, value: Any, path: Path) -> str:
    """How the field is written; empty where the type says it already."""
    expects = {"list_type": "list"}.get(kind, "dict" if _EXPECTED[kind] == "a mapping" else "text")
    return remedy_for(path, expects, value) if path and (expects != "text" or value is None) else ""


def _fields_at(model: type[BaseModel], path: Path) -> list[str]:
    """The field names of the model at ``path`` below ``model``; items of lists have no name."""
    current = model
    for part in path:
        field = next((field for field in current.model_fields.values() if field.alias == part), None)
        current = (_model_in(field.annotation) if field else None) or current  # an index stays with the list's model
    return [field.alias or name for name, field in current.model_fields.items()]


def _model_in(annotation: Any, *, into_lists: bool = True) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    opened = (typing.Union, types.UnionType, typing.Annotated, *((list,) if into_lists else ()))
    if typing.get_origin(annotation) in opened:
        inner = (_model_in(each, into_lists=into_lists) for each in typing.get_args(annotation))
        return next((found for found in inner if found), None)
    return None

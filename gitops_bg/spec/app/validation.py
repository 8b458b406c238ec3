"""How a field of app.yaml or another file is wrong: pydantic's errors about a document become Problems, with plain
words, the place in the file, and the remedy.

The remedy knows how a field is written, for those who wrote it in another form, and the grammar of image references,
which registries and kubelets share. Reads nothing, contacts no registry.
"""

import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.written import Conflict
from gitops_bg.spec.declared import is_declared, model_of
from gitops_bg.spec.yaml.reader import Document, first_of, kind_of
from gitops_bg.spec.yaml.scalars import Path, mode_remedy, nearest, unquoted

IMAGE_EXAMPLE = "registry.example.com/shop/web:1.4.2"

_PART = r"[a-z0-9]+(?:(?:[_.]|__|-+)[a-z0-9]+)*"
_PATH = re.compile(f"{_PART}(?:/{_PART})*")
_HOST_PART = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_DOMAIN = re.compile(rf"(?:{_HOST_PART}(?:\.{_HOST_PART})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?")
_TAG = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}")
_DIGEST = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}")
_LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128}
_LONGEST_NAME = 255


def trouble_with(image: str) -> str:
    """Return why ``image`` is no valid image reference, as a sentence about it; empty where it is valid.

    >>> trouble_with("web:1.4.2"), trouble_with("localhost:5000/shop/web@sha256:" + "0" * 64)
    ('', '')
    >>> trouble_with("Shop/web:1")
    "the name 'Shop/web' may have lower-case letters, digits and single separators (. _ __ -) only: 'shop/web'?"
    """
    rest, at, digest = image.partition("@")
    name, tag = _name_and_tag(rest)
    path = _without_domain(name)
    if at and not _is_digest(digest):
        return f"the digest {digest!r} is none: sha256: and 64 hexadecimal digits"
    if tag is not None and not _TAG.fullmatch(tag):
        return f"the tag {tag!r} may have letters, digits, '_', '.' and '-', up to 128, and begins with none of '.-'"
    if path is None:
        return f"the registry {name.partition('/')[0]!r} is no host name"
    if not _PATH.fullmatch(path):
        return _about_path(name, path)
    if len(name) > _LONGEST_NAME:
        return f"the name has {len(name)} characters; {_LONGEST_NAME} are the most"
    return "a name of 64 hexadecimal digits is the id of an image" if re.fullmatch("[0-9a-f]{64}", name) else ""


def _name_and_tag(text: str) -> tuple[str, str | None]:
    """Split name and tag. A colon begins a tag unless a slash follows it; then it begins a registry's port."""
    name, colon, tag = text.rpartition(":")
    return (name, tag) if colon and "/" not in tag else (text, None)


def _without_domain(name: str) -> str | None:
    """Return the path without the registry; None where the registry is invalid."""
    first, slash, rest = name.partition("/")
    is_domain = slash and (any(sign in first for sign in ".:") or first == "localhost")
    if not is_domain:
        return name
    return rest if _DOMAIN.fullmatch(first) else None


def _is_digest(text: str) -> bool:
    algorithm, _, digits = text.partition(":")
    return _DIGEST.fullmatch(text) is not None and len(digits) == _LENGTHS.get(algorithm, len(digits))


def _about_path(name: str, path: str) -> str:
    if not path:
        return "it has no name"
    better = f": {name.lower()!r}?" if _PATH.fullmatch(path.lower()) else ""
    return f"the name {name!r} may have lower-case letters, digits and single separators (. _ __ -) only{better}"


_CONTAINER = f"{{name: web, image: {IMAGE_EXAMPLE}}}"
_PROBE = "{httpGet: {path: /healthz, port: 8080}}"
_ANALYSIS = "{templates: [{templateName: NAME}]}"
_AMOUNTS = "{cpu: 100m, memory: 64Mi}"
_ITEMS: Mapping[str, str] = {
    "containers": _CONTAINER,
    "initContainers": _CONTAINER,
    "env": "{name: NAME, value: text}",
    "envFrom": "{configMapRef: {name: NAME}}",
    "volumes": "{name: NAME, emptyDir: {}}",
    "volumeMounts": "{name: NAME, mountPath: /PATH}",
    "imagePullSecrets": "{name: NAME}",
    "templates": "{templateName: NAME}",
    "webhooks": "{name: NAME, type: event, url: https://HOST}",
    "alerts": "{name: NAME, providerRef: {name: NAME}}",
    "parentRefs": "{name: NAME}",
}
"""An item of a list, by the name of the list."""
_FORMS: Mapping[str, str] = {
    "httpGet": "{path: /healthz, port: 8080}",
    "tcpSocket": "{port: 8080}",
    "exec": "{command: [/PATH]}",
    "readinessProbe": _PROBE,
    "livenessProbe": _PROBE,
    "startupProbe": _PROBE,
    "resources": f"{{requests: {_AMOUNTS}}}",
    "requests": _AMOUNTS,
    "limits": _AMOUNTS,
    "labels": "{app: web}",
    "matchLabels": "{app: web}",
    "annotations": "{KEY: text}",
    "image": IMAGE_EXAMPLE,
    "strategy": "{blueGreen: {activeService: NAME}}",
    "blueGreen": "{activeService: NAME}",
    "promotion": "{via: commit}",
    "suspend": "{reason: text}",
    "prePromotionAnalysis": _ANALYSIS,
    "postPromotionAnalysis": _ANALYSIS,
    "rollbackWindow": "{revisions: 3}",
}
"""A field as a whole, by its name."""


def remedy_for(path: Path, expects: str, value: Any) -> str:
    """Return how to write what stands at ``path`` in another form; ``expects``: list, dict, or any other type.

    >>> remedy_for(("spec", "containers"), "list", {}), remedy_for(("ports", 0), "dict", 8080)
    ('such as [{name: web, image: registry.example.com/shop/web:1.4.2}]', 'such as {containerPort: 8080}')
    >>> remedy_for(("command",), "list", "./run"), remedy_for(("x",), "dict", [])
    ('write a list: begin each item with "- "', 'write key: value')
    """
    last, number = (str(path[-2]), True) if len(path) > 1 and isinstance(path[-1], int) else (str(path[-1:][0]), False)
    items = {**_ITEMS, "ports": "{port: 80}" if "template" not in path and path[:1] == ("spec",) else _PORT}
    if last in items and expects in ("list", "dict"):
        return f"such as {items[last]}" if number else f"such as [{items[last]}]"
    if last in _FORMS and not number:
        return f"such as {_FORMS[last]}"
    if value is None:
        return "write a value, or remove the field"
    return {"list": 'write a list: begin each item with "- "', "dict": "write key: value"}.get(expects, "")


_PORT = "{containerPort: 8080}"


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


def expected(kinds: Iterable[str], value: Any, quoting: str, path: Path) -> tuple[str, str]:
    """Return message and remedy for a value of a wrong type, by pydantic's names of the expected types; ``quoting`` is
    the remedy where it is to be text (`Document.quoting`).

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
    if isinstance(conflict := context.get("error"), Conflict):
        return document.problem((*path, *_path(conflict.field)), conflict.message, conflict.remedy)
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
    """Return the one place below ``model`` where there is a field of this name, dotted; empty where there is none, or
    several.

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
    """Return message and remedy of an error about one value."""
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
    """Return what to write instead; where that is done, `spec.yaml.reader` takes it: no two remedies lead in a
    circle.
    """
    if kind == "string_type" and not isinstance(value, dict | list) and value is not None:
        return quoting
    if not isinstance(value, str):
        return ""
    if kind == "bool_type":
        return unquoted(value, bool)
    return mode_remedy(path, value) or unquoted(value, int) if kind.startswith("int") else ""


def _form(kind: str, value: Any, path: Path) -> str:
    """Return how the field is written; empty where the type says it already."""
    expects = {"list_type": "list"}.get(kind, "dict" if _EXPECTED[kind] == "a mapping" else "text")
    return remedy_for(path, expects, value) if path and (expects != "text" or value is None) else ""


def _fields_at(model: type[BaseModel], path: Path) -> list[str]:
    """Return the field names of the model at ``path`` below ``model``; items of lists have no name."""
    current = model
    for part in path:
        field = next((field for field in current.model_fields.values() if field.alias == part), None)
        current = (_model_in(field.annotation) if field else None) or current  # an index stays with the list's model
    return [field.alias or name for name, field in current.model_fields.items()]


def _model_in(annotation: Any, *, into_lists: bool = True) -> type[BaseModel] | None:
    if is_declared(annotation):
        return model_of(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    opened = (typing.Union, types.UnionType, typing.Annotated, *((list,) if into_lists else ()))
    if typing.get_origin(annotation) in opened:
        inner = (_model_in(each, into_lists=into_lists) for each in typing.get_args(annotation))
        return next((found for found in inner if found), None)
    return None

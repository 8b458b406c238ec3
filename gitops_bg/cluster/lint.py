"""The fields of Kubernetes' own objects, and their types: for `check`, without any cluster.

The client library's models serve as a schema only. Nothing is decoded with them, and the agent does not use them:
fields that they do not know yet may be right for a newer cluster (docs/decisions/0047).
"""

import types
import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.layout import APP_FILE
from gitops_bg.spec.app.models import BlueGreenDeployment
from gitops_bg.spec.app.validation import expected, nearest, place_of
from gitops_bg.spec.manifests.target import pod_paths, value_at
from gitops_bg.spec.yaml.paths import Path
from gitops_bg.spec.yaml.reader import Document, first_of

_MODELS: dict[tuple[Any, Any], str] = {
    ("apps/v1", "Deployment"): "V1Deployment",
    ("apps/v1", "ReplicaSet"): "V1ReplicaSet",
    ("apps/v1", "DaemonSet"): "V1DaemonSet",
    ("v1", "PodTemplate"): "V1PodTemplate",
    ("v1", "Service"): "V1Service",
    ("v1", "ConfigMap"): "V1ConfigMap",
    ("v1", "Secret"): "V1Secret",
    ("autoscaling/v1", "HorizontalPodAutoscaler"): "V1HorizontalPodAutoscaler",
    ("autoscaling/v2", "HorizontalPodAutoscaler"): "V2HorizontalPodAutoscaler",
    ("policy/v1", "PodDisruptionBudget"): "V1PodDisruptionBudget",
}
_POD_TEMPLATE, _POD_SPEC = "V1PodTemplateSpec", "V1PodSpec"

_QUANTITIES = {"limits", "requests", "capacity", "overhead", "sizeLimit", "divisor", "averageValue"}
"""Text fields that also accept a number: quantities, which the API server reads both ways. For metrics also `value`."""

_NAMES = {
    int: "int_type",
    bool: "bool_type",
    str: "string_type",
    float: "float_type",
    dict: "dict_type",
    list: "list_type",
}


def lint(document: Document) -> Iterator[Problem]:
    """The fields of an object that Kubernetes does not know, that have a wrong type, or that are missing.

    For a kind that is not Kubernetes' own, only the pod template is checked.
    """
    yield from first_of(_problems(document))


def _problems(document: Document) -> Iterator[Problem]:
    value = document.value
    if not isinstance(value, dict):
        return
    group, kind = value.get("apiVersion"), value.get("kind")
    name = _MODELS.get((group, kind)) if isinstance(group, str) and isinstance(kind, str) else None
    if name is not None:
        yield from _fields(document, _model(name), value, ())
        return
    paths = pod_paths(value)
    found = value_at(value, paths.template)
    if isinstance(found, dict):
        yield from _fields(document, _model(_POD_TEMPLATE if paths.are_together else _POD_SPEC), found, paths.template)


def _model(name: str) -> type[BaseModel]:
    from kubernetes import client

    model: type[BaseModel] = getattr(client, name)
    return model


def _fields(document: Document, model: type[BaseModel], value: dict[str, Any], path: Path) -> Iterator[Problem]:
    known = {field.serialization_alias or name: field for name, field in model.model_fields.items()}
    for key, item in value.items():
        if key not in known:
            yield _unknown(document, (*path, key), list(known))
        elif item is not None:
            yield from _value(document, known[key].annotation, item, (*path, key))
    for key, field in known.items():
        if field.is_required() and value.get(key) is None:
            yield document.problem((*path, key), "is required", f"add {key}")


def _value(document: Document, annotation: Any, value: Any, path: Path) -> Iterator[Problem]:
    """The problems of one value, at every depth."""
    allowed = list(_alternatives(annotation))
    for each in allowed:
        if isinstance(value, dict) and _is_model(each):
            yield from _fields(document, each, value, path)
            return
        if isinstance(value, dict | list) and typing.get_origin(each) is type(value):
            yield from _items(document, typing.get_args(each)[-1], value, path)
            return
    if not any(each is Any or _fits(each, value, path) for each in allowed):
        yield _wrong_type(document, allowed, value, path)


def _items(document: Document, annotation: Any, value: dict[str, Any] | list[Any], path: Path) -> Iterator[Problem]:
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if item is not None:
            yield from _value(document, annotation, item, (*path, key))


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


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _fits(kind: Any, value: Any, path: Path) -> bool:
    match value:
        case bool():
            return kind is bool
        case int() | float():
            return kind is float or (kind is int and isinstance(value, int)) or _is_quantity(kind, path)
        case str():
            return isinstance(kind, type) and not issubclass(kind, int | float | BaseModel)
        case _:
            return False


def _is_quantity(kind: Any, path: Path) -> bool:
    return kind is str and (not _QUANTITIES.isdisjoint(map(str, path)) or path[-2:] == ("target", "value"))


def _wrong_type(document: Document, allowed: list[Any], value: Any, path: Path) -> Problem:
    names = [
        _NAMES.get(typing.get_origin(each) or each, "dict_type" if _is_model(each) else "string_type")
        for each in allowed
    ]
    return document.problem(path, *expected(names, value, document.quoting(path), path))


def _unknown(document: Document, path: Path, known: list[str]) -> Problem:
    close = nearest(str(path[-1]), known)
    remedy = f"did you mean {close}?" if close else _instead(document, path)
    return document.problem(path, "there is no such field", remedy, at_key=True)


def _instead(document: Document, path: Path) -> str:
    """Where a field belongs that this kind does not have, or where its fields are told."""
    if path[-2:-1] == ("resources",):
        return "write it below requests or limits"
    if len(path) == _IN_SPEC and (ours := place_of(BlueGreenDeployment, str(path[-1]))):
        return f"write it as {ours} in {APP_FILE}"
    kind = str(document.value.get("kind", "")).lower()
    place = ".".join(str(part) for part in path[:-1] if not isinstance(part, int))
    return f"`kubectl explain {f'{kind}.{place}'.strip('.')}` has all there are"


_IN_SPEC = 2
"""How many parts the path of a field of `spec` has."""

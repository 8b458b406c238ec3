"""The fields of Kubernetes' own objects, and their types: for `check`, without any cluster.

They are those of the client library's models, in `fields.json`, which `make docs` writes: to import the models takes as
much CPU as a whole `check` may. Nothing is decoded with them, and the agent does not use them: fields that they do not
know yet may be right for a newer cluster (docs/decisions/0047).
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

from gitops_bg.core.foreign_json import read_json
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.layout import APP_FILE
from gitops_bg.spec.app.models import BlueGreenDeployment
from gitops_bg.spec.app.validation import expected, place_of
from gitops_bg.spec.manifests.target import pod_paths, value_at
from gitops_bg.spec.yaml.reader import Document, first_of
from gitops_bg.spec.yaml.scalars import Path, nearest

MODELS: dict[tuple[Any, Any], str] = {
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
POD_TEMPLATE, POD_SPEC = "V1PodTemplateSpec", "V1PodSpec"

_QUANTITIES = {"limits", "requests", "capacity", "overhead", "sizeLimit", "divisor", "averageValue"}
"""Text fields that also accept a number: quantities, which the API server reads both ways. For metrics also `value`."""

_NAMES = {"int": "int_type", "bool": "bool_type", "float": "float_type", "dict": "dict_type", "list": "list_type"}


def lint(document: Document) -> Iterator[Problem]:
    """Yield the fields of an object that Kubernetes does not know, that have a wrong type, or that are missing.

    For a kind that is not Kubernetes' own, only the pod template is checked.
    """
    yield from first_of(_problems(document))


def _problems(document: Document) -> Iterator[Problem]:
    value = document.value
    if not isinstance(value, dict):
        return
    group, kind = value.get("apiVersion"), value.get("kind")
    name = MODELS.get((group, kind)) if isinstance(group, str) and isinstance(kind, str) else None
    if name is not None:
        yield from _fields(document, name, value, ())
        return
    paths = pod_paths(value)
    found = value_at(value, paths.template)
    if isinstance(found, dict):
        yield from _fields(document, POD_TEMPLATE if paths.are_together else POD_SPEC, found, paths.template)


@cache
def _models() -> Mapping[str, Mapping[str, str]]:
    """Return the fields of each model with their types: ``list:`` or ``dict:`` and the type of the items, or the name
    of a model, or plain types with ``|`` between them; ``!`` at the end of a field that is required.
    """
    file = resources.files(__package__).joinpath("fields.json")
    models: Mapping[str, Mapping[str, str]] = read_json(file.read_bytes())
    return models


def _fields(document: Document, model: str, value: dict[str, Any], path: Path) -> Iterator[Problem]:
    known = _models()[model]
    for key, item in value.items():
        if key not in known:
            yield _unknown(document, (*path, key), list(known))
        elif item is not None:
            yield from _value(document, known[key].rstrip("!"), item, (*path, key))
    for key, written in known.items():
        if written.endswith("!") and value.get(key) is None:
            yield document.problem((*path, key), "is required", f"add {key}")


def _value(document: Document, written: str, value: Any, path: Path) -> Iterator[Problem]:
    """Yield the problems of one value, at every depth."""
    holder, _, inner = written.rpartition(":")
    if isinstance(value, dict) and written in _models():
        yield from _fields(document, written, value, path)
    elif isinstance(value, dict | list) and holder == type(value).__name__:
        yield from _items(document, inner, value, path)
    elif not any(_fits(each, value, path) for each in _plain(written)):
        yield _wrong_type(document, written, value, path)


def _items(document: Document, written: str, value: dict[str, Any] | list[Any], path: Path) -> Iterator[Problem]:
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if item is not None:
            yield from _value(document, written, item, (*path, key))


def _plain(written: str) -> list[str]:
    """Return the types of plain values that a value may have."""
    return [] if ":" in written or written in _models() else written.split("|")


def _fits(kind: str, value: Any, path: Path) -> bool:
    match value:
        case _ if kind == "any":
            return True
        case bool():
            return kind == "bool"
        case int() | float():
            return kind == "float" or (kind == "int" and isinstance(value, int)) or _is_quantity(kind, path)
        case str():
            return kind not in ("int", "float", "bool")
        case _:
            return False


def _is_quantity(kind: str, path: Path) -> bool:
    return kind == "str" and (not _QUANTITIES.isdisjoint(map(str, path)) or path[-2:] == ("target", "value"))


def _wrong_type(document: Document, written: str, value: Any, path: Path) -> Problem:
    holder = written.partition(":")[0]
    allowed = ["dict"] if written in _models() else _plain(written) or [holder]
    names = [_NAMES.get(each, "string_type") for each in allowed]
    return document.problem(path, *expected(names, value, document.quoting(path), path))


def _unknown(document: Document, path: Path, known: list[str]) -> Problem:
    close = nearest(str(path[-1]), known)
    remedy = f"did you mean {close}?" if close else _instead(document, path)
    return document.problem(path, "there is no such field", remedy, at_key=True)


def _instead(document: Document, path: Path) -> str:
    """Return where a field belongs that this kind does not have, or where its fields are told."""
    if path[-2:-1] == ("resources",):
        return "write it below requests or limits"
    if len(path) == _IN_SPEC and (ours := place_of(BlueGreenDeployment, str(path[-1]))):
        return f"write it as {ours} in {APP_FILE}"
    kind = str(document.value.get("kind", "")).lower()
    place = ".".join(str(part) for part in path[:-1] if not isinstance(part, int))
    return f"`kubectl explain {f'{kind}.{place}'.strip('.')}` has all there are"


_IN_SPEC = 2
"""How many parts the path of a field of `spec` has."""

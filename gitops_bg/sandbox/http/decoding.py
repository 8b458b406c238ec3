"""What a body says, or the 400 of one that Go cannot decode. It must not know what a value may be beyond its type: that
is in `validation.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, ClassVar

import yaml

from gitops_bg.sandbox.http.errors import ApiError, bad_request
from gitops_bg.sandbox.objects.configuration import illegal_byte
from gitops_bg.sandbox.objects.kinds import ServedKind
from gitops_bg.sandbox.objects.objects import Manifest

# --- JSON, or of an apply YAML, where the two differ ---
# YAML: apiserver `pkg/endpoints/handlers/patch.go` (applyPatcher) by `sigs.k8s.io/yaml`, the scanner of libyaml in Go,
# as PyYAML's is libyaml itself: the same characters are refused in the same words. JSON: `encoding/json`, which makes
# U+FFFD of half a character.

_OTHER_IN_YAML = re.compile(
    rb"\\u[dD][89a-fA-F]"  # half a character, which only JSON puts together
    rb"|\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]|\xef\xbb\xbf|\xef\xbf[\xbe\xbf]"  # not allowed, or ends of lines
)
_ESCAPED_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_HALF = re.compile("[\ud800-\udfff]")
_TEXT_IN_GO = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value")
"""A moment has no form of its own in JSON."""
_FLOAT_IN_GO = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")


class Unreadable(ValueError):
    """The body is not what its media type says."""


def read_json(body: bytes) -> Any:
    """Return what a body of JSON says; raise `Unreadable`."""
    try:
        value = json.loads(body)
    except ValueError as error:
        raise Unreadable(f"the object provided is unrecognized: {error}") from error
    return _whole(value) if _ESCAPED_HALF.search(body) else value


def read_yaml(body: bytes) -> Any:
    """Return what a body of YAML says; raise `Unreadable`. Most send JSON, which is read forty times as fast."""
    if not _OTHER_IN_YAML.search(body):
        try:
            return json.loads(body)
        except ValueError:
            pass  # It is YAML, or nothing.
    try:
        return _with_text_as_keys(yaml.load(body, _Loader))  # noqa: S506 - a safe loader
    except yaml.YAMLError as error:
        raise Unreadable(f"error decoding YAML: error converting YAML to JSON: yaml: {_words(error)}") from error


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML as JSON has it."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {
        first: [each for each in resolvers if each[0] not in _TEXT_IN_GO]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT_IN_GO, list("-+.0123456789"))


def _with_text_as_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key if isinstance(key, str) else json.dumps(key): _with_text_as_keys(value[key]) for key in value}
    return [_with_text_as_keys(each) for each in value] if isinstance(value, list) else value


def _words(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError):
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        return f"{line}{error.problem}"
    return str(getattr(error, "reason", error))


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return _HALF.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return [_whole(item) for item in value] if isinstance(value, list) else value


# --- types of the fields in built-in kinds that people get wrong ---
# Words: `encoding/json`.

_BYTES = {"ConfigMap": "binaryData", "Secret": "data"}
"""Where base64 is expected."""
_STRING, _NUMBER, _STRINGS, _BOOLEAN = "string", "int32", "map[string]string", "bool"
_LIST = "[]interface {}"

_POD = (
    ("containers", _LIST),
    ("containers.[].image", _STRING),
    ("containers.[].name", _STRING),
    ("containers.[].args.[]", _STRING),
    ("containers.[].command.[]", _STRING),
    ("containers.[].env.[].value", _STRING),
    ("containers.[].ports.[].containerPort", _NUMBER),
    ("terminationGracePeriodSeconds", "int64"),
    ("nodeSelector", _STRINGS),
)
_TEMPLATE = (
    ("spec.template.metadata.labels", _STRINGS),
    ("spec.template.metadata.annotations", _STRINGS),
    *((f"spec.template.spec.{path}", wanted) for path, wanted in _POD),
)
_WORKLOAD = (("spec.replicas", _NUMBER), ("spec.minReadySeconds", _NUMBER), *_TEMPLATE)
_JOB = (
    *((f"spec.{field}", _NUMBER) for field in ("parallelism", "completions", "backoffLimit")),
    ("spec.ttlSecondsAfterFinished", _NUMBER),
    ("spec.activeDeadlineSeconds", "int64"),
    ("spec.suspend", _BOOLEAN),
    *_TEMPLATE,
)
_EVERYWHERE = (
    ("metadata.name", _STRING),
    ("metadata.labels", _STRINGS),
    ("metadata.annotations", _STRINGS),
    ("metadata.finalizers.[]", _STRING),
)
_FIELDS: dict[str, tuple[tuple[str, str], ...]] = {
    "ReplicaSet": _WORKLOAD,
    "Deployment": _WORKLOAD,
    "DaemonSet": _WORKLOAD[1:],
    "Job": _JOB,
    "Pod": tuple((f"spec.{path}", wanted) for path, wanted in _POD),
    "Service": (("spec.selector", _STRINGS), ("spec.ports.[].port", _NUMBER), ("spec.clusterIP", _STRING)),
    "ConfigMap": (("data", _STRINGS), ("binaryData", _STRINGS), ("immutable", _BOOLEAN)),
    "Secret": (("data", _STRINGS), ("stringData", _STRINGS), ("type", _STRING), ("immutable", _BOOLEAN)),
    "Lease": (("spec.leaseDurationSeconds", _NUMBER), ("spec.holderIdentity", _STRING)),
}
_PATHS = {
    kind: tuple((path.split("."), wanted) for path, wanted in (*_EVERYWHERE, *fields))
    for kind, fields in _FIELDS.items()
}
_PATHS_OF_OTHERS = tuple((path.split("."), wanted) for path, wanted in _EVERYWHERE)


def _values(value: Any, path: list[str]) -> Iterator[Any]:
    for place, step in enumerate(path):
        if step == "[]":
            for item in value if isinstance(value, list) else ():
                yield from _values(item, path[place + 1 :])
            return
        if not isinstance(value, dict) or step not in value:
            return
        value = value[step]
    yield value


def _fits(value: Any, wanted: str) -> bool:
    match wanted:
        case "string":
            return isinstance(value, str)
        case "int32" | "int64":
            return isinstance(value, int) and not isinstance(value, bool)
        case "bool":
            return isinstance(value, bool)
        case "map[string]string":
            return isinstance(value, dict) and all(item is None or isinstance(item, str) for item in value.values())
        case _:
            return isinstance(value, list)


_JSON_NAMES = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object"}


def check(kind: ServedKind, obj: Manifest) -> None:
    """Raise 400 if a field of `obj` has a type that its kind cannot hold; null fits everywhere."""
    for path, wanted in _PATHS.get(kind.kind, _PATHS_OF_OTHERS):
        for value in _values(obj, path):
            if value is not None and not _fits(value, wanted):
                field = ".".join(step for step in path if step != "[]")
                raise _cannot_decode(kind, f"cannot unmarshal {_culprit(value)} into Go struct field "
                                           f"{kind.kind}.{field} of type {_inner(value, wanted)}")  # fmt: skip
    if kind.kind in _BYTES:
        _check_base64(kind, obj.get(_BYTES[kind.kind]))


def _culprit(value: Any) -> str:
    if isinstance(value, dict):
        value = next((item for item in value.values() if item is not None and not isinstance(item, str)), value)
    return _JSON_NAMES[type(value)]


def _inner(value: Any, wanted: str) -> str:
    return "string" if wanted == _STRINGS and isinstance(value, dict) else wanted


def _check_base64(kind: ServedKind, values: Manifest | None) -> None:
    for value in (values or {}).values():
        place = illegal_byte(value or "")
        if place is not None:
            raise _cannot_decode(kind, f"illegal base64 data at input byte {place}", "")


def complaint(kind: ServedKind, obj: Manifest) -> str:
    """Return what Go would say of a body that it cannot decode; empty where it can."""
    try:
        check(kind, obj)
    except ApiError as error:
        return error.message
    return ""


def _cannot_decode(kind: ServedKind, why: str, prefix: str = "json: ") -> Exception:
    return bad_request(f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {prefix}{why}')

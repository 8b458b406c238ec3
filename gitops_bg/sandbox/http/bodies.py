"""What a body says: as JSON, or of an apply as YAML, where the two differ. It must know nothing of Kubernetes.

YAML: apiserver `pkg/endpoints/handlers/patch.go` (applyPatcher) by `sigs.k8s.io/yaml`, the scanner of libyaml in Go,
as PyYAML's is libyaml itself: the same characters are refused in the same words. JSON: `encoding/json`, which makes
U+FFFD of half a character.
"""

from __future__ import annotations

import json
import re
from typing import Any, ClassVar

import yaml

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

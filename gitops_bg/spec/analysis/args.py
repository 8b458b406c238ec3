"""Fills in the args of templates: ``{{args.NAME}}`` in every text of a metric. Reads no Secret.

A secret stays a reference, ``{{secret:NAME/KEY}}``, which is resolved only when the metric is measured; digests stay
placeholders, which the core fills in when a run begins.
"""

import re
from collections.abc import Mapping
from typing import Any

from gitops_bg.spec.analysis.block import ArgSource, TemplateArg
from gitops_bg.spec.yaml.reader import Document

SECRET = re.compile(r"\{\{secret:[^}]*\}\}")
_ARG = re.compile(r"\{\{\s*args\.([A-Za-z0-9_-]+)\s*\}\}", re.ASCII)
_STEP = re.compile(r"""\.?(?P<name>[A-Za-z_][\w-]*)|\[(?P<number>\d+)\]|\[(["'])(?P<key>[^"']+)\3\]""", re.ASCII)


class NoValue(Exception):
    """An arg has no value; says why, and what would be right."""

    def __init__(self, message: str, remedy: str = "name a field that is there") -> None:
        super().__init__(message)
        self.remedy = remedy


def value_of(arg: TemplateArg, document: Document, hashes: Mapping[str, str]) -> str:
    """The text of an arg. ``document`` is app.yaml or group.yaml, ``hashes`` the values of ``podTemplateHashValue``.

    Raises ``NoValue``.
    """
    if arg.value_from is None:
        return arg.value or ""
    return _from(arg.value_from, document, hashes)


def _from(source: ArgSource, document: Document, hashes: Mapping[str, str]) -> str:
    if source.secret_key_ref is not None:
        return f"{{{{secret:{source.secret_key_ref.name}/{source.secret_key_ref.key}}}}}"
    if source.field_ref is not None:
        return field_of(document.value, source.field_ref.field_path, document.file.rpartition("/")[2])
    name = source.pod_template_hash_value or ""
    if name not in hashes:
        remedy = "let the template declare the args version and formerVersion, without a value"
        raise NoValue("a release group has no pod template of its own, so no podTemplateHashValue", remedy)
    return hashes[name]


def field_of(written: Mapping[str, Any], path: str, file: str) -> str:
    """The text of one field of a file. Raises ``NoValue`` where the field does not exist.

    >>> field_of({"metadata": {"labels": {"app.io/team": "blue"}}}, "metadata.labels['app.io/team']", "app.yaml")
    'blue'
    >>> field_of({"spec": {"list": [1, True]}}, "spec.list[1]", "app.yaml")
    'true'
    """
    steps = list(_STEP.finditer(path))
    if "".join(step[0] for step in steps) != path:
        raise NoValue(f"{path!r} is no path such as metadata.labels['team']")
    value: Any = written
    for step in steps:
        try:
            value = value[int(step["number"])] if step["number"] else value[step["key"] or step["name"]]
        except (KeyError, IndexError, TypeError) as error:
            raise NoValue(f"{file} has no field {path}") from error
    if isinstance(value, dict | list) or value is None:
        raise NoValue(f"the field {path} of {file} is not one text, number or truth value")
    return str(value).lower() if isinstance(value, bool) else str(value)


def filled(value: Any, args: Mapping[str, str]) -> Any:
    """Fill the args in a JSON value; args without a value stay as they are.

    >>> filled({"url": "http://{{args.host}}/{{ args.path }}"}, {"host": "web", "path": "ready"})
    {'url': 'http://web/ready'}
    """
    if isinstance(value, str):
        return _ARG.sub(lambda found: args.get(found[1], found[0]), value)
    if isinstance(value, Mapping):
        return {key: filled(item, args) for key, item in value.items()}
    return [filled(item, args) for item in value] if isinstance(value, list) else value


def left_open(value: Any) -> str:
    """The name of an arg that a JSON value still contains, or empty."""
    if isinstance(value, str):
        found = _ARG.search(value)
        return found[1] if found else ""
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return next((name for item in items if (name := left_open(item))), "")

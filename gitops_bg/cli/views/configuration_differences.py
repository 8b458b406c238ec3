"""Differences in the ConfigMaps and Secrets of two versions, for people; the values of Secrets are not shown. Pure.

The values of ConfigMaps are shown, except those whose names say that they belong in a Secret, and those that a Secret
of the two versions also contains.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gitops_bg.core.model.digest import short
from gitops_bg.core.model.version import ConfigurationRef
from gitops_bg.core.text.foreign_text import hidden
from gitops_bg.spec.manifests.configuration import Configuration, find
from gitops_bg.spec.manifests.configuration_changes import TYPE, entries_of
from gitops_bg.spec.manifests.differences import Difference, Marks, field_of, looks_secret
from gitops_bg.spec.manifests.references import SECRET

_SHORTEST_SECRET = 4
"""A shorter text occurs by chance in unrelated texts."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of two versions: its references, and the contents that are still available."""

    refs: Sequence[ConfigurationRef] = ()
    contents: Sequence[Configuration] = field(default=(), repr=False)

    def of(self, kind: str, name: str) -> tuple[ConfigurationRef | None, Configuration | None]:
        """Return the reference of this kind and name, and its content."""
        ref = next((each for each in self.refs if (each.kind, each.name) == (kind, name)), None)
        return ref, find(self.contents, ref) if ref else None


def configuration_differences(before: Side, after: Side) -> list[Difference]:
    """Return the differences, by `Kind/name.key`. If the content of one side is lost, say only that the
    digests differ.
    """
    marks, found = Marks(), list[Difference]()
    for kind, name in sorted({(ref.kind, ref.name) for side in (before, after) for ref in side.refs}):
        found += _of_one(kind, name, before.of(kind, name), after.of(kind, name), marks)
    return found


def without_secrets_of(found: Iterable[Difference], contents: Iterable[Configuration]) -> list[Difference]:
    """Remove the contents of Secrets from other values, in whatever encoding they occur there."""
    secrets = [text for each in contents if each.ref.kind == SECRET for text in _texts(each)]
    return [replace(each, before=_masked(each.before, secrets), after=_masked(each.after, secrets)) for each in found]


_Held = tuple[ConfigurationRef | None, Configuration | None]


def _of_one(kind: str, name: str, before: _Held, after: _Held, marks: Marks) -> Iterator[Difference]:
    path = f"{kind}/{name}"
    (old_ref, old), (new_ref, new) = before, after
    if old_ref == new_ref:
        return
    if (old_ref and not old) or (new_ref and not new):
        yield Difference(path, *(f"content {short(ref.digest)}" if ref else None for ref in (old_ref, new_ref)))
        return
    sides = tuple(_shown(each, marks) if each else None for each in (old, new))
    if old is None or new is None:
        yield Difference(path, *sides)
        return
    entries = [each or {} for each in sides]
    for key in sorted(entries_of(old).keys() | entries_of(new).keys()):
        values = [each.get(key) for each in entries]
        if values[0] != values[1]:
            yield Difference(field_of(path, key), *values)


def _shown(each: Configuration, marks: Marks) -> Mapping[str, Any]:
    """Return the content, by key, as it may be shown."""
    return {key: _value(each, key, value, marks) for key, value in entries_of(each).items()}


def _value(each: Configuration, key: str, value: str, marks: Marks) -> str:
    if key == TYPE:
        return value
    if each.ref.kind == SECRET or looks_secret(key):
        return marks.of(value)
    return _size(value) if key in each.content.get("binaryData", {}) else value


def _size(encoded: str) -> str:
    """Describe binary data by its size and hash."""
    data = base64.b64decode(encoded)
    return f"{len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()[:10]}"


def _texts(secret: Configuration) -> Iterator[str]:
    for value in secret.content.get("data", {}).values():
        text = base64.b64decode(value).decode("utf-8", "replace").strip()
        if len(text) >= _SHORTEST_SECRET:
            yield text


def _masked(value: Any, secrets: Sequence[str]) -> Any:
    if isinstance(value, str):
        return hidden(value, secrets)
    if isinstance(value, Mapping):
        return {key: _masked(item, secrets) for key, item in value.items()}
    return [_masked(item, secrets) for item in value] if isinstance(value, list) else value

"""The differences in the ConfigMaps and Secrets of two versions, by name and key. Never shows a value."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.layout import PRIMARY_FILE
from gitops_bg.spec.app.primary import PrimaryFile, read_primary
from gitops_bg.spec.manifests.configuration import Configuration
from gitops_bg.spec.yaml.reader import read_one

TYPE = "(type)"
"""Stands for the type of a Secret among the keys; no key can have this name."""
_MARK = b"\nconfiguration:"
_MOST_KEYS = 10


@dataclass(frozen=True, slots=True)
class ConfigurationChange:
    """The change of one ConfigMap or Secret. Keys are sorted; the type of a Secret counts as one, `TYPE`."""

    kind: str
    name: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    whole: str = ""
    """`added` or `removed` for a whole object; `changed` where its former content is unknown."""

    def __str__(self) -> str:
        named = f"{self.kind} {self.name}"
        if self.whole:
            return f"{named} {self.whole}"
        parts = {"changed": self.changed, "added": self.added, "removed": self.removed}
        return f"{named} ({'; '.join(f'{_listed(keys)} {word}' for word, keys in parts.items() if keys)})"


def configuration_changes(
    before: Iterable[Configuration], after: Iterable[Configuration]
) -> tuple[ConfigurationChange, ...]:
    """The changes, by kind and name."""
    old, new = ({(each.ref.kind, each.ref.name): each for each in side} for side in (before, after))
    return tuple(_changes(old, new))


def _changes(
    old: Mapping[tuple[str, str], Configuration], new: Mapping[tuple[str, str], Configuration]
) -> Iterator[ConfigurationChange]:
    for kind, name in sorted(old.keys() | new.keys()):
        before, after = old.get((kind, name)), new.get((kind, name))
        if before is None or after is None:
            yield ConfigurationChange(kind, name, whole="removed" if before else "added")
        elif before.ref != after.ref:
            yield _change(kind, name, entries_of(before), entries_of(after))


def _change(kind: str, name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> ConfigurationChange:
    return ConfigurationChange(
        kind,
        name,
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        changed=tuple(sorted(key for key in before.keys() & after.keys() if before[key] != after[key])),
    )


def entries_of(configuration: Configuration) -> Mapping[str, Any]:
    """The content by key, in base64 where the object has that; and its type as `TYPE`."""
    content = configuration.content
    kind = {TYPE: content["type"]} if "type" in content else {}
    return {**kind, **content.get("binaryData", {}), **content.get("data", {})}


def configuration_in(content: bytes, app: AppKey) -> tuple[Configuration, ...]:
    """The configuration in a primary.yaml; none where it has none, or cannot be read."""
    primary = primary_with_configuration(content, app)
    return primary.configuration if primary else ()


def primary_with_configuration(content: bytes, app: AppKey) -> PrimaryFile | None:
    """A primary.yaml with configuration; None for any other, which is not even parsed."""
    if _MARK not in content:
        return None
    document, _ = read_one(PRIMARY_FILE, content)
    return read_primary(document, app)[0] if document else None


def _listed(keys: tuple[str, ...]) -> str:
    more = len(keys) - _MOST_KEYS
    return ", ".join(keys[:_MOST_KEYS]) + (f" and {more} more" if more > 0 else "")

"""The metadata that pods carry by the role of their version: in a template, in an annotation, on live pods. Pure.

The annotation keeps what was added, so that it is no drift and survives a repair, and what was added before and may
still be on pods, so that it can be removed. It is never part of a snapshot or a selector.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.core.foreign_json import read_json
from gitops_bg.core.model.version import NO_METADATA, PodMetadata

_FIELDS = ("labels", "annotations")


@dataclass(frozen=True, slots=True)
class EphemeralMetadata:
    """``metadata`` is in the template. While it is ``pending``, pods may lack it, or still have ``former``."""

    metadata: PodMetadata = NO_METADATA
    former: PodMetadata = NO_METADATA
    pending: bool = False

    def changed(self, metadata: PodMetadata) -> "EphemeralMetadata":
        """Return the state once the template has ``metadata`` instead."""
        if metadata == self.metadata:
            return self
        return EphemeralMetadata(metadata, _together(self.former, self.metadata), pending=True)

    def settled(self) -> "EphemeralMetadata":
        """Return the state once every pod is up to date."""
        return EphemeralMetadata(self.metadata)


def written(worn: EphemeralMetadata) -> str:
    """The value of the annotation; empty where there is nothing to remember."""
    if worn == EphemeralMetadata():
        return ""
    document = {**_as_json(worn.metadata), "former": _as_json(worn.former), "pending": worn.pending}
    return json.dumps(document, sort_keys=True)


def read(text: str) -> EphemeralMetadata:
    """The state in an annotation; the empty one where there is none, or somebody made it unreadable.

    >>> worn = EphemeralMetadata(PodMetadata((("role", "active"),)), PodMetadata((("role", "preview"),)), True)
    >>> read(written(worn)) == worn, read("x") == EphemeralMetadata()
    (True, True)
    """
    try:
        value = read_json(text) if text else {}
        return EphemeralMetadata(_from_json(value), _from_json(value.get("former") or {}), value.get("pending") is True)
    except (ValueError, TypeError, AttributeError):
        return EphemeralMetadata()


def dress(template: Object, metadata: PodMetadata, ours: Mapping[str, str]) -> Object:
    """Return a pod template with this metadata beside its own; ``ours`` are labels that nothing may replace."""
    if metadata == NO_METADATA:
        return template
    meta = template.setdefault("metadata", {})
    meta["labels"] = {**meta.get("labels", {}), **dict(metadata.labels), **ours}
    if metadata.annotations:
        meta["annotations"] = {**(meta.get("annotations") or {}), **dict(metadata.annotations)}
    return template


def change_of(pod: Object, template: Object, worn: EphemeralMetadata) -> Object | None:
    """The merge patch that brings a live pod to its ReplicaSet's template; None where nothing changes.

    Keys that the agent never added stay, whoever set them; a removed key gets the template's own value.
    """
    keys = _together(worn.former, worn.metadata)
    meta = {field: _difference(pod, template, field, dict(getattr(keys, field))) for field in _FIELDS}
    changes = {field: change for field, change in meta.items() if change}
    return {"metadata": changes} if changes else None


def _difference(pod: Object, template: Object, field: str, keys: Mapping[str, str]) -> dict[str, str | None]:
    live: Mapping[str, str] = pod["metadata"].get(field) or {}
    wanted: Mapping[str, str] = (template.get("metadata") or {}).get(field) or {}
    return {key: wanted.get(key) for key in keys if live.get(key) != wanted.get(key)}


def _together(one: PodMetadata, other: PodMetadata) -> PodMetadata:
    labels, annotations = ({**dict(getattr(one, field)), **dict(getattr(other, field))} for field in _FIELDS)
    return PodMetadata(tuple(sorted(labels.items())), tuple(sorted(annotations.items())))


def _as_json(metadata: PodMetadata) -> dict[str, dict[str, str]]:
    return {field: dict(getattr(metadata, field)) for field in _FIELDS}


def _from_json(value: Mapping[str, Any]) -> PodMetadata:
    labels, annotations = (
        tuple(sorted((str(key), str(item)) for key, item in (value.get(field) or {}).items())) for field in _FIELDS
    )
    return PodMetadata(labels, annotations)

"""ConfigMaps and Secrets that are part of a version: their content in the one form that is hashed and copied.

Reads manifests, items of primary.yaml and live copies. Labels and annotations of a manifest are no part of the content.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_bg.core.foreign_json import read_json
from gitops_bg.core.model.digest import Json, content_digest
from gitops_bg.core.model.version import ConfigurationRef
from gitops_bg.core.names import GROUP
from gitops_bg.spec.manifests.references import SECRET, Named

TRACKING = (f"{GROUP}/config-tracking", "flagger.app/config-tracking")
"""Annotations by which an author excludes a manifest from the version; Flagger's annotation counts as well."""
NOT_COPIED = frozenset({"kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"})
"""Types of Secrets that work only under their own name, because a controller looks for it."""

_OPAQUE = "Opaque"


@dataclass(frozen=True, slots=True)
class Configuration:
    """The content of one ConfigMap or Secret.

    ``content`` has kind, name, type, data and binaryData, as far as they exist.

    Everything in ``data`` of a Secret, and all of ``binaryData``, is base64. Never shown by ``repr``.
    """

    ref: ConfigurationRef
    content: Mapping[str, Any] = field(repr=False)


def configuration_of(kind: str, name: str, body: Mapping[str, Any]) -> Configuration:
    """The content of a valid object: a manifest, an item of primary.yaml, a live copy of ``name``.

    ``stringData`` of a Secret becomes part of its ``data``, and its type is left out where it is the default. Raises
    ``ValueError`` for invalid base64.
    """
    data, binary = dict(body.get("data") or {}), dict(body.get("binaryData") or {})
    if kind == SECRET:
        data = {key: canonical_base64(value) for key, value in data.items()}
        data |= {key: _encoded(value) for key, value in (body.get("stringData") or {}).items()}
    parts: dict[str, Json] = {
        "kind": kind,
        "name": name,
        "type": body.get("type") if kind == SECRET and body.get("type") != _OPAQUE else None,
        "data": data,
        "binaryData": {key: canonical_base64(value) for key, value in binary.items()},
    }
    content = {key: _sorted(value) for key, value in parts.items() if value}
    return Configuration(ConfigurationRef(kind, name, content_digest(content)), content)


def find(configuration: Iterable[Configuration], ref: ConfigurationRef) -> Configuration | None:
    """The configuration that ``ref`` refers to, or None."""
    return next((each for each in configuration if each.ref == ref), None)


def is_tracked(manifest: Mapping[str, Any], referred_to: frozenset[Named]) -> bool:
    """Whether a manifest of an app's folder is part of its versions: its pod template refers to it (`references`).

    An annotation excludes it, and so does a type of Secret that works only under its own name.

    >>> is_tracked({"kind": "ConfigMap", "metadata": {"name": "web"}}, frozenset({("ConfigMap", "web")}))
    True
    """
    metadata = manifest["metadata"]
    if (manifest["kind"], metadata["name"]) not in referred_to or str(manifest.get("type")) in NOT_COPIED:
        return False
    annotations = metadata.get("annotations")
    words = (annotations.get(key) for key in TRACKING) if isinstance(annotations, Mapping) else ()
    return not any(isinstance(word, str) and word.startswith("disable") for word in words)


def listing(configuration: Iterable[Configuration]) -> list[dict[str, Any]]:
    """The configuration items of primary.yaml, in the order of the digest, with keys in a fixed order."""
    keys = ("kind", "name", "type", "data", "binaryData")
    ordered = sorted(configuration, key=lambda each: each.ref)
    return [{key: each.content[key] for key in keys if key in each.content} for each in ordered]


def text_of(refs: Iterable[ConfigurationRef]) -> str:
    """References as the text of an annotation; empty for none. `refs_in` reads it.

    >>> text_of([ConfigurationRef("ConfigMap", "web", "v1:3f")])
    '[["ConfigMap","web","v1:3f"]]'
    """
    listed = [[ref.kind, ref.name, ref.digest] for ref in sorted(refs)]
    return json.dumps(listed, separators=(",", ":")) if listed else ""


def refs_in(text: str) -> tuple[ConfigurationRef, ...]:
    """The references in a text of `text_of`; none where somebody else wrote it: the snapshot is then not genuine."""
    try:
        return tuple(ConfigurationRef(*map(str, item)) for item in read_json(text)) if text else ()
    except (ValueError, TypeError):
        return ()


def _sorted(value: Json) -> Json:
    return dict(sorted(value.items())) if isinstance(value, Mapping) else value


def canonical_base64(text: str) -> str:
    """Base64 text without the line breaks that Kubernetes ignores. Raises ``ValueError``."""
    try:
        return base64.b64encode(base64.b64decode(re.sub("[\r\n]", "", text), validate=True)).decode()
    except binascii.Error as error:
        raise ValueError("is not base64") from error


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()

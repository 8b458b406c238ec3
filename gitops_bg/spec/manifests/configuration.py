"""ConfigMaps and Secrets that are part of a version: what they hold, in the one form that is hashed and copied.

Reads manifests, items of primary.yaml and live copies. Labels and annotations of a manifest are no part of it.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_bg.core.model.digest import Json, content_digest
from gitops_bg.core.model.version import ConfigurationRef
from gitops_bg.core.names import GROUP
from gitops_bg.core.text.foreign_json import read_json
from gitops_bg.spec.manifests.references import SECRET, Named

TRACKING = (f"{GROUP}/config-tracking", "flagger.app/config-tracking")
"""Annotations by which an author takes a manifest out of the version; Flagger's word for it counts, too."""
NOT_COPIED = frozenset({"kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"})
"""Types of Secrets that only mean something under their own name: a controller looks for it."""

_OPAQUE = "Opaque"


@dataclass(frozen=True, slots=True)
class Configuration:
    """What one ConfigMap or Secret holds. ``content`` has kind, name, type, data and binaryData, as far as it has them.

    Everything in ``data`` of a Secret, and all of ``binaryData``, is base64. Never shown by ``repr``.
    """

    ref: ConfigurationRef
    content: Mapping[str, Any] = field(repr=False)


def configuration_of(kind: str, name: str, body: Mapping[str, Any]) -> Configuration:
    """What an object holds that is known to be good: a manifest, an item of primary.yaml, a live copy of ``name``.

    ``stringData`` of a Secret is in its ``data``, and its type is left out where it is the default. Raises
    ``ValueError`` for base64 that is none.
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
    """The one among several that a version refers to, or None."""
    return next((each for each in configuration if each.ref == ref), None)


def is_tracked(manifest: Mapping[str, Any], referred_to: frozenset[Named]) -> bool:
    """Whether a manifest of an app's folder is part of its versions: its pod template refers to it (`references`).

    An annotation takes it out, and so does a type of Secret that only means something under its own name.

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
    """What primary.yaml says of configuration: an item for each, in the order of the digest, keys in one order."""
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
    """What `text_of` wrote; nothing where somebody else wrote it: what is made of it is not genuine then."""
    try:
        return tuple(ConfigurationRef(*map(str, item)) for item in read_json(text)) if text else ()
    except (ValueError, TypeError):
        return ()


def _sorted(value: Json) -> Json:
    return dict(sorted(value.items())) if isinstance(value, Mapping) else value


def canonical_base64(text: str) -> str:
    """Base64 text without the line breaks that Kubernetes passes over. Raises ``ValueError``."""
    try:
        return base64.b64encode(base64.b64decode(re.sub("[\r\n]", "", text), validate=True)).decode()
    except binascii.Error as error:
        raise ValueError("is not base64") from error


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()

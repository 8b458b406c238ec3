"""The digest of a snapshot: what identifies a version, for ever (DESIGN §3.3).

A change of this file starts a rollout in every repository; the golden digests in the tests guard it. A new
algorithm gets a new prefix, and snapshots with an unknown prefix are compared by their texts instead.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from sys import intern
from typing import Any

from gitops_bg.core.foreign_json import read_json
from gitops_bg.core.model.version import ConfigurationRef, Snapshot, WorkloadKind

PREFIX = "v1:"

_GENUINE: set[bytes] = set()
"""Fingerprints of snapshots that were found genuine; a set of hashes, since a snapshot never changes."""
_MOST_REMEMBERED = 20_000

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]


_COMPACT: dict[str, Any] = {"sort_keys": True, "separators": (",", ":"), "ensure_ascii": False, "allow_nan": False}


def without_empties(value: Json) -> Json:
    """Return ``value`` without empty map entries: nulls, empty maps, and maps that become empty.

    List items keep their places: an empty map in a list is an item.

    >>> without_empties({"a": None, "b": {"c": {}}, "d": [{}, None], "e": ""})
    {'d': [{}, None], 'e': ''}
    """
    if isinstance(value, dict):
        kept = {key: without_empties(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item is not None and item != {}}
    if isinstance(value, (list, tuple)):
        return [without_empties(item) for item in value]
    return value


def canonical_json(value: Json) -> str:
    """Return the canonical text of a value: sorted keys, no white space, no nulls, no empty maps, UTF-8 unescaped.

    Raises ``ValueError`` for numbers that JSON lacks (NaN, infinity).

    >>> canonical_json({"b": 1, "a": {"x": None}})
    '{"b":1}'
    """
    return json.dumps(without_empties(value), **_COMPACT)


def digest_of(
    text: str, configuration: Sequence[ConfigurationRef] = (), workload: WorkloadKind = WorkloadKind.REPLICA_SET
) -> str:
    """Return the digest of a JSON text: ``v1:`` and the 64 hex digits of the SHA-256 of its canonical form.

    With configuration, the digest covers both: the text, and kind, name and digest of each object in order. What runs
    the pods is part of it where that is no ReplicaSet. Raises ``ValueError`` where the text is not JSON.
    """
    more = {**_listed(configuration), **({} if workload is WorkloadKind.REPLICA_SET else {"workload": str(workload)})}
    return _sha256({"template": read_json(text), **more} if more else read_json(text))


def content_digest(content: Mapping[str, Json]) -> str:
    """Return the digest of the content of a ConfigMap or Secret, in the form that `spec.manifests.configuration` gives
    it.
    """
    return _sha256(content)


def _sha256(value: Json) -> str:
    return PREFIX + hashlib.sha256(canonical_json(value).encode()).hexdigest()


def _listed(configuration: Sequence[ConfigurationRef]) -> dict[str, Json]:
    listed: Json = [[ref.kind, ref.name, ref.digest] for ref in sorted(configuration)]
    return {"configuration": listed} if configuration else {}


def snapshot_of(
    template: Mapping[str, Json],
    configuration: Iterable[ConfigurationRef] = (),
    workload: WorkloadKind = WorkloadKind.REPLICA_SET,
) -> Snapshot:
    """Return the snapshot of a pod template as written in Git (never of a live, server-defaulted object).

    The text keeps empty maps, which mean something to Kubernetes (``namespaceSelector: {}`` is every namespace); the
    digest leaves them out (DESIGN §3.3). Both leave out nulls. Target, primary and ReplicaSet mostly have the same one:
    its texts are kept once.
    """
    text, uses = intern(json.dumps(without_nulls(template), **_COMPACT)), tuple(sorted(configuration))
    return Snapshot(intern(digest_of(text, uses, workload)), text, uses, workload)


def with_configuration(snapshot: Snapshot, configuration: Iterable[ConfigurationRef]) -> Snapshot:
    """Return the same pod template with this configuration: a different version, unless the configuration
    is unchanged.
    """
    uses = tuple(sorted(configuration))
    if uses == snapshot.configuration:
        return snapshot
    digest = digest_of(snapshot.text, uses, snapshot.workload)
    return replace(snapshot, digest=digest, configuration=uses)


def without_nulls(value: Json) -> Json:
    """Return ``value`` without the null entries of its maps, which the API server drops.

    >>> without_nulls({"a": None, "b": {}, "c": [{"d": None}]})
    {'b': {}, 'c': [{}]}
    """
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [without_nulls(item) for item in value]
    return value


def is_whole(digest: str) -> bool:
    """Return whether this is a digest with its prefix, of whichever release, and not the short form of one.

    >>> is_whole("v1:3f9c0123456789abcdef"), is_whole("3f9c012345")
    (True, False)
    """
    return ":" in digest


def is_computed_here(digest: str) -> bool:
    """Return whether this release computes digests with this prefix, so that it can compare one with the content."""
    return digest.startswith(PREFIX)


def is_genuine(snapshot: Snapshot) -> bool:
    """Return whether text and configuration match the digest, as far as this agent can tell; True for an unknown
    prefix.

    For texts read from the cluster, where anybody may have changed an annotation. Each look at an app asks again for
    the same texts, so those that were genuine are remembered, by a hash: it costs a tenth of the digest, and no memory.
    """
    if not is_computed_here(snapshot.digest):
        return True
    fingerprint = _fingerprint(snapshot)
    if fingerprint in _GENUINE:
        return True
    try:
        genuine = digest_of(snapshot.text, snapshot.configuration, snapshot.workload) == snapshot.digest
    except ValueError:
        return False
    if genuine:
        if len(_GENUINE) >= _MOST_REMEMBERED:
            _GENUINE.clear()
        _GENUINE.add(fingerprint)
    return genuine


def _fingerprint(snapshot: Snapshot) -> bytes:
    """Return a hash of text, configuration and digest: nobody can make another snapshot with the same one."""
    named = json.dumps(
        [snapshot.digest, snapshot.workload, [[ref.kind, ref.name, ref.digest] for ref in snapshot.configuration]]
    )
    return hashlib.sha256(f"{named}\n{snapshot.text}".encode(errors="surrogatepass")).digest()


def same_snapshot(one: Snapshot, other: Snapshot) -> bool:
    """Return whether two snapshots are the same version: by digest, or by content where the prefix of a digest is
    unknown.

    An agent must not start a rollout because of a prefix that it does not know (DESIGN §3.3).
    """
    if one.digest == other.digest:
        return True
    return same_content(one, other) and not (is_computed_here(one.digest) and is_computed_here(other.digest))


def same_content(one: Snapshot, other: Snapshot) -> bool:
    """Return whether two snapshots say the same, whatever their digests; False where nobody knows what they say."""
    said = (one.text, one.configuration, one.workload)
    return bool(one.text) and said == (other.text, other.configuration, other.workload)

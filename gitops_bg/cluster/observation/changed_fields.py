"""How a live object differs from what the agent applies, field by field, for people. Pure.

It sees what `drift.contains` sees, and what others added (`additions`), and decides nothing.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gitops_bg.cluster.api.kinds import REPLICA_SETS, SERVICES, Object
from gitops_bg.cluster.observation.additions import additions
from gitops_bg.cluster.observation.drift import QUANTITIES, contains, item_key, merge_keys, ports_are
from gitops_bg.cluster.observation.field_paths import ChangedField, ListItem, Path
from gitops_bg.core.foreign_text import HOLDERS
from gitops_bg.core.model.auxiliary import ROUTES

_METADATA = ("labels", "annotations", "ownerReferences")
_APART = ("apiVersion", "kind", "metadata", "status")
_MOST_ADDITIONS = 20
"""How many are said; all of them are removed."""


def changed_fields(live: Object, manifest: Object) -> tuple[ChangedField, ...]:
    """Where a live object is not as its manifest, each place once; the size of a ReplicaSet is written by itself.

    >>> live = {"metadata": {}, "spec": {"maxReplicas": 3}}
    >>> (found,) = changed_fields(live, {"kind": "HorizontalPodAutoscaler", "metadata": {}, "spec": {"maxReplicas": 9}})
    >>> found.change.text
    'spec.maxReplicas: 3 → 9'
    """
    found: dict[str, ChangedField] = {}
    for each in (*_of_metadata(live["metadata"], manifest["metadata"]), *_of_content(live, manifest)):
        found.setdefault(each.field, each)
    return tuple(found.values())


def _of_metadata(live: Object, manifest: Object) -> Iterator[ChangedField]:
    for key in _METADATA:
        if key in manifest:
            yield from _below(live.get(key), manifest[key], ("metadata", key))


def _of_content(live: Object, manifest: Object) -> Iterator[ChangedField]:
    for key in manifest:
        if key == "spec" and manifest["kind"] == SERVICES.name:
            yield from _of_service(live.get(key) or {}, manifest[key])
        elif key == "spec" and manifest["kind"] == REPLICA_SETS.name:
            kept = {each: value for each, value in manifest[key].items() if each != "replicas"}
            yield from _below(live.get(key), kept, (key,))
        elif key == "spec" and manifest["kind"] in ROUTES:
            yield from _key_by_key(live, manifest, key)
        elif key not in _APART and key.lower() not in HOLDERS:
            yield from _below(live.get(key), manifest[key], (key,))
    for key in sorted({*live, *manifest}):
        if key.lower() in HOLDERS:
            yield from _key_by_key(live, manifest, key)
    yield from additions(live, manifest)[:_MOST_ADDITIONS]


def _key_by_key(live: Object, manifest: Object, at: str) -> Iterator[ChangedField]:
    """Where every key counts, including one that somebody added."""
    found, wanted = live.get(at) or {}, manifest.get(at) or {}
    for key in sorted({*found, *wanted}):
        if (found.get(key) or None) != (wanted.get(key) or None):
            yield ChangedField((at, key), found.get(key), wanted.get(key))


def _of_service(live: Object, manifest: Object) -> Iterator[ChangedField]:
    """Its selector and its ports count as a whole."""
    if live.get("selector") != manifest["selector"]:
        yield ChangedField(("spec", "selector"), live.get("selector"), manifest["selector"])
    if "ports" in manifest and not ports_are(live.get("ports") or (), manifest["ports"]):
        yield ChangedField(("spec", "ports"), live.get("ports"), manifest["ports"])
    for key in manifest:
        if key not in ("selector", "ports"):
            yield from _below(live.get(key), manifest[key], ("spec", key))


def _below(live: Any, wanted: Any, at: Path) -> Iterator[ChangedField]:
    named = [step for step in at if isinstance(step, str)]
    field = next((step for step in named if step in QUANTITIES), named[-1])
    if contains(live, wanted, field):
        return
    keys = merge_keys(wanted, field) if isinstance(wanted, list | tuple) else ()
    if isinstance(wanted, Mapping) and isinstance(live, Mapping):
        for key in wanted:
            yield from _below(live.get(key), wanted[key], (*at, key))
    elif keys and isinstance(live, list):
        items = {item_key(item, keys): item for item in live if isinstance(item, Mapping)}
        for item in wanted:
            yield from _below(items.get(item_key(item, keys)), item, (*at, ListItem(keys, item)))
    else:
        yield ChangedField(at, live, wanted)

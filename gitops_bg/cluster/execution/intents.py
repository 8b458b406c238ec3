"""What this process applied last to each object: by that, a change of somebody else is told from a change of Git.

An object that differs from what was applied to it before was changed by somebody else; so was one whose fields another
manager owns, and not we as well. After a restart only the second is known. Asks no server, and decides nothing.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

from cachetools import LRUCache

from gitops_bg.cluster.api.kinds import SERVICES, Kind, Object, name_of
from gitops_bg.cluster.observation.changed_fields import changed_fields
from gitops_bg.cluster.observation.field_paths import ChangedField, is_ours, managers_of
from gitops_bg.core import names
from gitops_bg.core.model.drift import ADMISSION, Drift

_MOST = 10_000
"""Objects that are remembered: those that were written, or looked up, last."""

_Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class _Applied:
    intent: int
    """A hash of it."""
    refused: frozenset[str] = frozenset()
    """The fields that the API server stored differently at once."""
    app: str = ""
    """The label of its app."""


class Intents:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._applied: LRUCache[_Key, _Applied] = LRUCache(_MOST)

    def drift(self, kind: Kind, live: Object | None, manifest: Object) -> Drift | None:
        """What somebody else changed of an object that is about to be applied; None where nobody did."""
        known = self._known(_key(kind, *name_of(manifest)))
        if live is None:
            return Drift() if known else None
        return _drift(live, changed_fields(live, manifest), known, _intent_of(manifest))

    def drift_of(self, kind: Kind, live: Object, field: ChangedField) -> Drift | None:
        """The same for one field that is written by itself."""
        known = self._known(_key(kind, *name_of(live), field.field))
        if field.found == field.wanted or (known is not None and known.intent == _hash(field.found)):
            return None
        return _drift(live, (field,), known, _hash(field.wanted))

    def repeats(self, kind: Kind, namespace: str, name: str, field: ChangedField) -> bool:
        """Whether the last write to this field was the same."""
        known = self._known(_key(kind, namespace, name, field.field))
        return known is not None and known.intent == _hash(field.wanted)

    def is_ours(self, kind: Kind, namespace: str, name: str, field: ChangedField, others: Collection[str]) -> bool:
        """Whether what was found in this field is as this process wrote it; where it wrote nothing yet, whether no
        ``others`` own it.
        """
        known = self._known(_key(kind, namespace, name, field.field))
        return not others if known is None else known.intent == _hash(field.found)

    def applied(self, kind: Kind, manifest: Object, answer: Object) -> None:
        """Note what was applied, and what the server made of it."""
        stored = frozenset(each.field for each in changed_fields(answer, manifest))
        applied = _Applied(_intent_of(manifest), stored, manifest["metadata"].get("labels", {}).get(names.APP, ""))
        with self._lock:
            self._applied[_key(kind, *name_of(manifest))] = applied

    def wrote(self, kind: Kind, namespace: str, name: str, field: ChangedField) -> None:
        """Note what was written to one field. A Service is not as it was applied any more; the size of a ReplicaSet is
        no part of what is.
        """
        whole = _key(kind, namespace, name)
        self.applied_field(kind, namespace, name, field)
        with self._lock:
            if kind == SERVICES and whole in self._applied:
                self._applied[whole] = replace(self._applied[whole], intent=0)

    def applied_field(self, kind: Kind, namespace: str, name: str, field: ChangedField) -> None:
        """Note what was written to one field together with others."""
        with self._lock:
            self._applied[_key(kind, namespace, name, field.field)] = _Applied(_hash(field.wanted))

    def forget(self, kind: Kind, namespace: str, name: str) -> None:
        """Note that the agent itself deleted an object."""
        with self._lock:
            self._applied.pop(_key(kind, namespace, name), None)

    def forget_app(self, namespace: str, label: str) -> None:
        """Note that the agent itself deleted an app, with all it owns."""
        with self._lock:
            its = [key for key, applied in self._applied.items() if (key[1], applied.app) == (namespace, label)]
            for key in its:
                del self._applied[key]

    def _known(self, key: _Key) -> _Applied | None:
        with self._lock:
            return self._applied.get(key)


def _drift(live: Object, found: Iterable[ChangedField], known: _Applied | None, intent: int) -> Drift | None:
    """What of the fields that differ is somebody else's doing."""
    owned = {each.field: managers_of(live, each.path) for each in found}
    if known is None or known.intent != intent:
        theirs = [each for each in found if owned[each.field] and not is_ours(live, each)]
    else:
        theirs = [each for each in found if each.field not in known.refused] or list(found)
    if not theirs:
        return None
    managers = sorted({name for each in theirs for name in owned[each.field]})
    refused = known is not None and all(each.field in known.refused for each in theirs)
    return Drift(tuple(each.change for each in theirs), ", ".join(managers) or (ADMISSION if refused else ""))


def _key(kind: Kind, namespace: str, name: str, field: str = "") -> _Key:
    return kind.name, namespace, name, field


def _intent_of(manifest: Object) -> int:
    """A hash of a manifest, without the lock of its write."""
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "resourceVersion"}
    return _hash({**manifest, "metadata": metadata})


def _hash(value: Any) -> int:
    return hash(repr(value))

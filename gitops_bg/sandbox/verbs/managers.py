"""Who owns which field (`metadata.managedFields`), and server-side apply. It must not store anything.

Behaviour: kubernetes.io "Server-Side Apply", apimachinery `managedfields` and structured-merge-diff
`merge/update.go`. Fields the server sets itself are owned by nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gitops_bg.sandbox.http.errors import apply_conflict, cause
from gitops_bg.sandbox.objects import fields
from gitops_bg.sandbox.objects.fields import Fields, Path, Shape, item_key
from gitops_bg.sandbox.objects.objects import Manifest, copy_of, timestamp

_UNTRACKED = (
    "name", "namespace", "uid", "creationTimestamp", "resourceVersion", "generation", "managedFields",
    "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "generateName",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Manager:
    """One writer: its name, how it writes, in which version and to which subresource."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""

    def owns(self, entry: Manifest) -> bool:
        """Return whether an entry of `managedFields` is this manager's."""
        return (entry.get("manager"), entry.get("operation"), entry.get("subresource", "")) == (
            self.name, self.operation, self.subresource,
        ) and entry.get("apiVersion") == self.api_version  # fmt: skip

    def entry(self, tree: Fields) -> Manifest:
        """Return a fresh entry of `managedFields`."""
        entry: Manifest = {"manager": self.name, "operation": self.operation, "apiVersion": self.api_version}
        entry |= {"time": timestamp(), "fieldsType": "FieldsV1", "fieldsV1": tree}
        return entry | ({"subresource": self.subresource} if self.subresource else {})


def _tracked(obj: Manifest) -> Manifest:
    metadata = {key: value for key, value in obj.get("metadata", {}).items() if key not in _UNTRACKED}
    rest = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
    return {"metadata": metadata, **rest} if metadata else rest


def _entries(old: Manifest | None, new: Manifest) -> list[Manifest]:
    """Return the entries to start from: the writer may have edited them; `[{}]` clears them."""
    given = new["metadata"].get("managedFields")
    if given is None:
        given = (old or {"metadata": {}})["metadata"].get("managedFields") or []
    return [entry for entry in given if entry.get("manager")]


def _put(obj: Manifest, entries: list[Manifest]) -> None:
    kept = [entry for entry in entries if entry["fieldsV1"]]
    kept.sort(key=lambda entry: (entry["operation"] != "Apply", entry.get("time", ""), entry["manager"]))
    obj["metadata"].pop("managedFields", None)
    if kept:
        obj["metadata"]["managedFields"] = kept


def track_update(old: Manifest | None, new: Manifest, shape: Shape, manager: Manager) -> None:
    """Write into `new` who owns what after an ordinary create, update or patch by `manager`."""
    removed: list[Path] = []
    before = _tracked(old) if old else {}
    tree = fields.changed(before, _tracked(new), shape, removed) or {}
    entries = _entries(old, new)
    if not tree and not removed:
        _put(new, entries)
        return
    result, found = [], False
    for entry in entries:
        mine = manager.owns(entry)
        owned = _cut_all(entry["fieldsV1"], removed)
        owned = fields.union(owned, tree) if mine else fields.without(owned, tree)
        found = found or mine
        result.append(entry if owned == entry["fieldsV1"] else _restamped(entry, owned, mine))
    if not found:
        result.append(manager.entry(tree))
    _put(new, result)


def _restamped(entry: Manifest, owned: Fields, mine: bool) -> Manifest:
    return {**entry, "fieldsV1": owned, **({"time": timestamp()} if mine else {})}


def _cut_all(tree: Fields, paths: list[Path]) -> Fields:
    for path in paths:
        tree = fields.cut(tree, path)
    return tree


def apply(live: Manifest, intent: Manifest, shape: Shape, manager: Manager, force: bool) -> Manifest:
    """Return `live` after a server-side apply of `intent`; raise 409 for fields of others unless `force`.

    Fields that this manager applied before and left out now go away, unless another manager owns them.
    """
    entries = _entries(live, {"metadata": {}})
    mine = next((entry for entry in entries if manager.owns(entry)), None)
    others = [entry for entry in entries if entry is not mine]
    wanted = fields.fields_of(_tracked(intent), shape)
    merged: Manifest = _merge(live, _stripped(intent), shape)
    dropped = fields.members(fields.without(mine["fieldsV1"], wanted)) if mine else []
    for path in sorted(dropped, key=len):
        if not any(fields.reaches(entry["fieldsV1"], path) for entry in others):
            _remove(merged, path, shape)
    changes = fields.changed(_tracked(live), _tracked(merged), shape, []) or {}
    others = _settle_conflicts(others, changes, force)
    unchanged = mine is not None and mine["fieldsV1"] == wanted
    _put(merged, [*others, mine if mine and unchanged else manager.entry(wanted)])
    return merged


def _stripped(intent: Manifest) -> Manifest:
    metadata = {k: v for k, v in intent["metadata"].items() if k not in _UNTRACKED}
    return {**intent, "metadata": metadata}


def _settle_conflicts(others: list[Manifest], changes: Fields, force: bool) -> list[Manifest]:
    result, causes = [], []
    for entry in others:
        clashes = fields.common(entry["fieldsV1"], changes)
        causes += [_clash(entry, path) for path in clashes]
        result.append({**entry, "fieldsV1": fields.without(entry["fieldsV1"], changes)} if clashes else entry)
    if causes and not force:
        raise apply_conflict(causes)
    return result


def _clash(entry: Manifest, path: Path) -> Manifest:
    using = ""
    if entry["operation"] != "Apply":
        using = f' with subresource "{entry["subresource"]}"' if entry.get("subresource") else ""
        using += f" using {entry['apiVersion']}"
    message = f'conflict with "{entry["manager"]}"{using}'
    return cause(fields.as_text(path), message, "FieldManagerConflict")


def _merge(live: Any, intent: Any, shape: Shape) -> Any:
    if isinstance(live, dict) and isinstance(intent, dict) and not shape.atomic:
        result = dict(live)
        for name, value in intent.items():
            if value is None:
                result.pop(name, None)
            else:
                result[name] = _merge(live.get(name), value, shape.child(name))
        return result
    if isinstance(live, list) and isinstance(intent, list) and shape.keys:
        return _merge_lists(live, intent, shape)
    if isinstance(live, list) and isinstance(intent, list) and shape.is_set:
        return [*live, *(item for item in intent if item not in live)]
    return copy_of(intent)


def _merge_lists(live: list[Any], intent: list[Any], shape: Shape) -> list[Any]:
    wanted = {item_key(item, shape.keys): item for item in intent}
    result = []
    for item in live:
        change = wanted.pop(item_key(item, shape.keys), None)
        result.append(item if change is None else _merge(item, change, shape.item()))
    return [*result, *(copy_of(item) for item in wanted.values())]


def _remove(obj: Any, path: Path, shape: Shape) -> bool:
    """Take one place out of `obj`, copying the containers on the way, and maps that this leaves empty; return whether
    there was such a place.
    """
    step, rest = path[0], path[1:]
    name = step.removeprefix("f:")
    if not isinstance(obj, dict) or name not in obj:
        return False
    if not rest:
        del obj[name]
        return True
    below = shape.child(name)
    obj[name] = dict(obj[name]) if isinstance(obj[name], dict) else list(obj[name])
    removals = _remove_from_list if isinstance(obj[name], list) else _remove
    was_there = removals(obj[name], rest, below)
    if was_there and not obj[name]:
        del obj[name]
    return was_there


def _remove_from_list(items: list[Any], path: Path, shape: Shape) -> bool:
    for place, item in enumerate(items):
        step = fields.item_step(item, shape.keys) if shape.keys else fields.value_step(item)
        if step != path[0]:
            continue
        if len(path) == 1:
            del items[place]
            return True
        if path[1].removeprefix("f:") not in shape.keys:  # an item that stays keeps its key
            items[place] = dict(item)
            return _remove(items[place], path[1:], shape.item())
        return False
    return False

"""Field sets: which places of an object a manager owns, in the JSON of `managedFields[].fieldsV1`.

A set is a tree: `f:name` steps into a map, `k:{..}` to a list item, `v:..` to a set element; a node
without children, or with the child `.`, is itself a member. Algebra and walks follow
structured-merge-diff `fieldpath` and `typed`. It must know nothing of managers.
"""

from __future__ import annotations

import json
from typing import Any

from gitops_bg.sandbox.objects.objects import to_json
from gitops_bg.sandbox.objects.shapes import Shape, item_key

Fields = dict[str, Any]
Path = tuple[str, ...]


def item_step(item: dict[str, Any], keys: tuple[str, ...]) -> str:
    """Return the path step to a list item, e.g. `k:{"name":"web"}`."""
    identity = dict(zip(keys, item_key(item, keys), strict=True))
    return "k:" + to_json(dict(sorted(identity.items()))).decode()


def value_step(item: Any) -> str:
    """Return the path step to an element of a set."""
    return "v:" + to_json(item).decode()


def fields_of(value: Any, shape: Shape) -> Fields:
    """Return every field that `value` has."""
    if isinstance(value, dict) and not shape.atomic:
        held = ((name, item) for name, item in value.items() if item is not None)
        return {f"f:{name}": fields_of(item, shape.child(name)) for name, item in held}
    if isinstance(value, list) and shape.keys:
        return {item_step(item, shape.keys): {".": {}, **fields_of(item, shape.item())} for item in value}
    if isinstance(value, list) and shape.is_set:
        return {value_step(item): {} for item in value}
    return {}


def _children(value: Any, shape: Shape) -> dict[str, tuple[Any, Shape]] | None:
    """Return what lies one step below a place, or None where the place is one value."""
    if isinstance(value, dict) and not shape.atomic:
        return {f"f:{name}": (item, shape.child(name)) for name, item in value.items()}
    if isinstance(value, list) and shape.keys:
        return {item_step(item, shape.keys): (item, shape.item()) for item in value}
    if isinstance(value, list) and shape.is_set:
        return {value_step(item): (item, shape) for item in value}
    return None


def changed(old: Any, new: Any, shape: Shape, removed: list[Path], path: Path = ()) -> Fields | None:
    """Return the fields that are new or differ in `new`, or None; append those that went to `removed`."""
    if old == new and type(old) is type(new):
        return None
    before, after = _children(old, shape), _children(new, shape)
    if before is None or after is None:
        return fields_of(new, shape)
    removed.extend((*path, step) for step in before.keys() - after.keys())
    tree: Fields = {}
    for step, (item, below) in after.items():
        if step not in before:
            node: Fields | None = fields_of(item, below)
            if step[0] == "k":
                node = {".": {}, **(node or {})}
        else:
            node = changed(before[step][0], item, below, removed, (*path, step))
        if node is not None:
            tree[step] = node
    return tree or None


_LEAF: Fields = {".": {}}


def union(left: Fields, right: Fields) -> Fields:
    """Return the fields in either set."""
    merged = dict(left)
    for step, node in right.items():
        merged[step] = _joined(merged[step], node) if step in merged else node
    return merged


def _joined(left: Fields, right: Fields) -> Fields:
    return union(left or _LEAF, right or _LEAF) if left or right else {}


def without(left: Fields, right: Fields) -> Fields:
    """Return the members of `left` that are not members of `right`."""
    rest: Fields = {}
    for step, node in left.items():
        kept = _minus(node, right[step]) if step in right else node
        if kept is not None:
            rest[step] = kept
    return rest


def _minus(node: Fields, other: Fields) -> Fields | None:
    rest = without({key: item for key, item in (node or _LEAF).items() if key != "."}, other)
    if "." in (node or _LEAF) and "." not in (other or _LEAF):
        return {".": {}, **rest} if rest else {}
    return rest or None


def common(left: Fields, right: Fields) -> list[Path]:
    """Return the paths that are members of both sets."""
    return [path for path in members(left) if has(right, path)]


def members(tree: Fields, path: Path = ()) -> list[Path]:
    """Return every member of a set as a path."""
    found = []
    for step, node in tree.items():
        if step == ".":
            found.append(path)
        elif node:
            found.extend(members(node, (*path, step)))
        else:
            found.append((*path, step))
    return found


def has(tree: Fields, path: Path) -> bool:
    """Return whether a path is a member of the set."""
    node = tree
    for step in path:
        if step not in node:
            return False
        node = node[step]
    return not node or "." in node


def reaches(tree: Fields, path: Path) -> bool:
    """Return whether the set has a member at or below a path."""
    node = tree
    for step in path:
        if step not in node:
            return False
        node = node[step]
    return True


def cut(tree: Fields, path: Path) -> Fields:
    """Return the set without a path and everything below it."""
    step, rest = path[0], path[1:]
    if step not in tree:
        return tree
    result = dict(tree)
    below = cut(result[step], rest) if rest and result[step] else {}
    if below or (rest and not result[step]):
        result[step] = below
    else:
        del result[step]
    return result


def as_text(path: Path) -> str:
    """Write a path as conflict messages do: `.spec.containers[name="web"].image`."""
    said = ""
    for step in path:
        kind, _, name = step.partition(":")
        if kind == "f":
            said += f".{name}"
        elif kind == "k":
            said += "[" + ",".join(f"{key}={json.dumps(value)}" for key, value in json.loads(name).items()) + "]"
        else:
            said += f"[={name}]"
    return said

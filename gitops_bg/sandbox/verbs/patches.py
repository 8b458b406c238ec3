"""The three patches of the API server: strategic merge, JSON merge and JSON patch. It must not know whether a kind
takes them: a custom resource takes no strategic merge patch.

What the API server answers to a bad patch is in apiserver `pkg/endpoints/handlers/patch.go`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gitops_bg.sandbox.objects.fields import BUILTIN_ROOT, Shape
from gitops_bg.sandbox.objects.objects import Manifest, copy_of

# --- strategic merge patch ---
# Rules: apimachinery `pkg/util/strategicpatch/patch.go`. Lists with a patch merge key merge by its first part
# (`containerPort`, not `containerPort` + `protocol`); `$patch`, `$setElementOrder/..`, `$deleteFromPrimitiveList/..`
# and `$retainKeys` are the directives.

_ORDER, _DELETE, _RETAIN, _PATCH = "$setElementOrder/", "$deleteFromPrimitiveList/", "$retainKeys", "$patch"


def strategic_merge(document: Manifest, patch: Manifest) -> Manifest:
    """Return `document` after a strategic merge patch; neither argument is changed."""
    return _maps(document, patch, BUILTIN_ROOT)


def _maps(value: Any, patch: Manifest, shape: Shape) -> Manifest:
    if patch.get(_PATCH) == "replace":
        return _without_directives(patch)
    if patch.get(_PATCH) == "delete":
        return {}
    result = dict(value) if isinstance(value, dict) else {}
    if _RETAIN in patch:
        result = {key: item for key, item in result.items() if key in patch[_RETAIN]}
    for key, change in patch.items():
        if key.startswith("$"):
            continue
        if change is None:
            result.pop(key, None)
        else:
            result[key] = _value(result.get(key), change, shape.child(key))
    _apply_directives(result, patch, shape)
    return result


def _value(value: Any, change: Any, shape: Shape) -> Any:
    if isinstance(change, dict):
        return _maps(value, change, shape)
    if isinstance(change, list) and shape.keys:
        return _keyed_lists(value or [], change, shape)
    if isinstance(change, list) and shape.is_set:
        return [*(value or []), *(item for item in change if item not in (value or []))]
    return copy_of(change)


def _keyed_lists(items: list[Manifest], changes: list[Manifest], shape: Shape) -> list[Manifest]:
    key = shape.keys[0]
    if any(change.get(_PATCH) == "replace" for change in changes):
        return [_without_directives(change) for change in changes if _PATCH not in change]
    result = list(items)
    for change in changes:
        place = next((i for i, item in enumerate(result) if item.get(key) == change.get(key)), None)
        if change.get(_PATCH) == "delete":
            result = [item for item in result if item.get(key) != change.get(key)]
        elif place is None:
            result.append(_maps({}, change, shape.item()))
        else:
            result[place] = _maps(result[place], change, shape.item())
    return result


def _apply_directives(result: Manifest, patch: Manifest, shape: Shape) -> None:
    for directive, wanted in patch.items():
        if directive.startswith(_DELETE):
            name = directive.removeprefix(_DELETE)
            result[name] = [item for item in result.get(name) or [] if item not in wanted]
        elif directive.startswith(_ORDER):
            name = directive.removeprefix(_ORDER)
            if result.get(name):
                result[name] = _ordered(result[name], wanted, shape.child(name).keys)


def _ordered(items: list[Any], wanted: list[Any], keys: tuple[str, ...]) -> list[Any]:
    def identity(item: Any) -> Any:
        return item.get(keys[0]) if keys and isinstance(item, dict) else item

    places = {repr(identity(item)): place for place, item in enumerate(wanted)}
    return sorted(items, key=lambda item: places.get(repr(identity(item)), len(places)))


def _without_directives(value: Manifest) -> Manifest:
    return {key: copy_of(item) for key, item in value.items() if not key.startswith("$")}


# --- JSON merge patch (RFC 7386) and JSON patch (RFC 6902) ---

_END = "-"


class PatchError(Exception):
    """The patch cannot be applied to this object (HTTP 422)."""


class PatchSyntaxError(Exception):
    """The patch is not a patch (HTTP 400)."""


def merge_patch(value: Any, patch: Any) -> Any:
    """Return `value` after an RFC 7386 merge patch; neither argument is changed."""
    if not isinstance(patch, dict):
        return copy_of(patch)
    result = dict(value) if isinstance(value, dict) else {}
    for key, change in patch.items():
        if change is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), change)
    return result


def _pointer(text: str) -> list[str]:
    if text and not text.startswith("/"):
        raise PatchSyntaxError(f"invalid JSON pointer {text!r}")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _index(token: str, end: int) -> int:
    if not token.isdigit() or int(token) > end:
        raise PatchError(f"Unable to access invalid index: {token}: error in path")
    return int(token)


def _step(container: Any, token: str, path: str) -> Any:
    if isinstance(container, dict) and token in container:
        return container[token]
    if isinstance(container, list):
        return container[_index(token, len(container) - 1)]
    raise PatchError(f"doc is missing path: {path}: missing value")


def _get(document: Any, path: str) -> Any:
    for token in _pointer(path):
        document = _step(document, token, path)
    return document


def _parent(document: Any, path: str) -> tuple[Any, str]:
    tokens = _pointer(path)
    if not tokens:
        raise PatchError("the whole document cannot be replaced")
    for token in tokens[:-1]:
        document = _step(document, token, path)
    return document, tokens[-1]


def _add(document: Any, path: str, value: Any) -> None:
    container, token = _parent(document, path)
    if isinstance(container, list):
        container.insert(len(container) if token == _END else _index(token, len(container)), value)
    elif isinstance(container, dict):
        container[token] = value
    else:
        raise PatchError(f"add operation does not apply: doc is missing path: {path!r}: missing value")


def _remove(document: Any, path: str) -> Any:
    container, token = _parent(document, path)
    value = _step(container, token, path)
    if isinstance(container, list):
        del container[int(token)]
    else:
        del container[token]
    return value


def _do_add(document: Any, operation: dict[str, Any]) -> None:
    _add(document, operation["path"], copy_of(operation["value"]))


def _do_remove(document: Any, operation: dict[str, Any]) -> None:
    try:
        _remove(document, operation["path"])
    except PatchError as error:
        raise PatchError(f"remove operation does not apply: {error}") from error


def _do_replace(document: Any, operation: dict[str, Any]) -> None:
    path = operation["path"]
    try:
        container, token = _parent(document, path)
        _step(container, token, path)
    except PatchError as error:
        raise PatchError(f"replace operation does not apply: {error}") from error
    container[int(token) if isinstance(container, list) else token] = copy_of(operation["value"])


def _do_test(document: Any, operation: dict[str, Any]) -> None:
    path = operation["path"]
    try:
        found = _get(document, path)
    except PatchError:
        found = None
    if found != operation.get("value") or type(found) is not type(operation.get("value")):
        raise PatchError(f"testing value {path} failed: test failed")


def _do_move(document: Any, operation: dict[str, Any]) -> None:
    _add(document, operation["path"], _remove(document, operation["from"]))


def _do_copy(document: Any, operation: dict[str, Any]) -> None:
    _add(document, operation["path"], copy_of(_get(document, operation["from"])))


_OPERATIONS: dict[str, Callable[[Any, dict[str, Any]], None]] = {
    "add": _do_add,
    "remove": _do_remove,
    "replace": _do_replace,
    "test": _do_test,
    "move": _do_move,
    "copy": _do_copy,
}


def json_patch(document: Any, operations: Any) -> Any:
    """Return a copy of `document` after all RFC 6902 operations; raise PatchError and do nothing else if one fails."""
    if not isinstance(operations, list):
        raise PatchSyntaxError("cannot unmarshal object into Go value of type jsonpatch.Patch")
    result = copy_of(document)
    for operation in operations:
        carry_out = _OPERATIONS.get(operation.get("op", ""))
        if carry_out is None:
            raise PatchError(f"unexpected kind of operation: {operation.get('op')}")
        try:
            carry_out(result, operation)
        except KeyError as error:
            raise PatchError(f"operation has no {error}") from error
    return result

"""Strategic merge patch. It must not be used for custom resources: the server refuses it there.

Rules: apimachinery `pkg/util/strategicpatch/patch.go`. Lists with a patch merge key merge by its first
part (`containerPort`, not `containerPort` + `protocol`); `$patch`, `$setElementOrder/..`,
`$deleteFromPrimitiveList/..` and `$retainKeys` are the directives.
"""

from __future__ import annotations

from typing import Any

from gitops_bg.sandbox.objects.objects import Manifest, copy_of
from gitops_bg.sandbox.objects.shapes import BUILTIN_ROOT, Shape

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

"""Merges what an environment has of its own over what all share: a JSON merge patch (RFC 7386) for app.yaml, and
Kubernetes' strategic merge patch for a workload. Each part of the result knows which of the two it comes from.

Of the directives of a strategic merge patch `$patch: delete` and `$patch: replace` are understood; others, and those in
lists whose items have no key, are problems (apimachinery, pkg/util/strategicpatch/patch.go).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.manifests.merge_keys import item_key, merge_keys
from gitops_bg.spec.yaml.layered import Merged
from gitops_bg.spec.yaml.reader import Document
from gitops_bg.spec.yaml.scalars import Path

PATCH = "$patch"
_DELETE, _REPLACE = "delete", "replace"
_KNOWN = (_DELETE, _REPLACE)


def json_merged(base: Any, over: Any) -> Merged:
    """Return ``over`` merged over ``base``: maps key by key, null removes, anything else takes the former's place."""
    return _merged(base, over, strategic=False)


def strategic_merged(base: Any, over: Any) -> Merged:
    """Return ``over`` merged over ``base`` as Kubernetes merges workloads: lists of things with a key item by item.

    What `check_directives` finds is ignored.
    """
    return _merged(base, over, strategic=True)


def _merged(base: Any, over: Any, *, strategic: bool) -> Merged:
    marks: dict[Path, tuple[bool, Path]] = {(): (False, ())}
    return Merged(_Merge(marks, strategic=strategic).value(base, over, (), (), ""), marks)


class _Merge:
    """One merge; ``at`` is a path of the result, ``there`` the same place in the upper layer."""

    def __init__(self, marks: dict[Path, tuple[bool, Path]], *, strategic: bool) -> None:
        self._marks = marks
        self._strategic = strategic

    def value(self, base: Any, over: Any, at: Path, there: Path, field: str) -> Any:
        if isinstance(over, Mapping) and isinstance(base, Mapping) and over.get(PATCH) != _REPLACE:
            return self._map(base, over, at, there)
        keys = _keys_of(base, over, field) if self._are_lists(base, over) else ()
        if keys:
            return self._list(base, over, at, there, keys)
        self._marks[at] = (True, there)
        return self._taken(over)

    def _taken(self, over: Any) -> Any:
        return _without_directives(over) if self._strategic else _without_nulls(over)

    def _are_lists(self, base: Any, over: Any) -> bool:
        return self._strategic and isinstance(base, list) and isinstance(over, list) and bool(over)

    def _map(self, base: Mapping[str, Any], over: Mapping[str, Any], at: Path, there: Path) -> dict[str, Any]:
        made = dict(base)
        for key, change in over.items():
            if self._strategic and key.startswith("$"):
                continue
            if change is None or (self._strategic and _directive(change) == _DELETE):
                made.pop(key, None)
                self._marks[(*at, key)] = (True, (*there, key))
            elif key in made:
                made[key] = self.value(made[key], change, (*at, key), (*there, key), key)
            else:
                made[key] = self._taken(change)
                self._marks[(*at, key)] = (True, (*there, key))
        return made

    def _list(
        self, base: Sequence[Any], over: Sequence[Any], at: Path, there: Path, keys: tuple[str, ...]
    ) -> list[Any]:
        changes = {item_key(each, keys): place for place, each in enumerate(over) if not _is_whole_list(each)}
        if any(_is_whole_list(each) for each in over):
            self._marks[at] = (True, there)
            kept = [(place, each) for place, each in enumerate(over) if not _is_whole_list(each)]
            self._marks.update({(*at, number): (True, (*there, place)) for number, (place, _) in enumerate(kept)})
            return [_without_directives(each) for _, each in kept]
        made: list[Any] = []
        start = self._marks_at(at)
        for place, item in enumerate(base):
            change = changes.pop(item_key(item, keys), None)
            if change is not None and _directive(over[change]) == _DELETE:
                continue
            to = (*at, len(made))
            if start is not None:
                self._marks[to] = (start[0], (*start[1], place))
            made.append(item if change is None else self.value(item, over[change], to, (*there, change), ""))
        for place in changes.values():
            if _directive(over[place]) != _DELETE:
                self._marks[(*at, len(made))] = (True, (*there, place))
                made.append(_without_directives(over[place]))
        return made

    def _marks_at(self, at: Path) -> tuple[bool, Path] | None:
        """Return where what the lower layer has at a path comes from."""
        for length in range(len(at), -1, -1):
            if (mark := self._marks.get(at[:length])) is not None:
                return mark[0], (*mark[1], *at[length:])
        return None


def _keys_of(base: Sequence[Any], over: Sequence[Any], field: str) -> tuple[str, ...]:
    return merge_keys([*base, *(each for each in over if not _is_whole_list(each))], field)


def _directive(value: Any) -> Any:
    return value.get(PATCH) if isinstance(value, Mapping) else None


def _is_whole_list(item: Any) -> bool:
    """Return whether an item says that the list takes the former's place as a whole."""
    return isinstance(item, Mapping) and set(item) == {PATCH} and item[PATCH] == _REPLACE


def _without_directives(value: Any) -> Any:
    if isinstance(value, Mapping):
        kept = {key: each for key, each in value.items() if each is not None and not key.startswith("$")}
        return {key: _without_directives(each) for key, each in kept.items()}
    return [_without_directives(each) for each in value] if isinstance(value, list) else value


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return value


def check_directives(base: Any, over: Document) -> Iterator[Problem]:
    """Yield the directives of a strategic merge patch that cannot be carried out."""
    yield from _check(base, over.value, over, (), "")


def _check(base: Any, value: Any, over: Document, at: Path, field: str) -> Iterator[Problem]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            if key.startswith("$"):
                yield from _check_directive(each, key, over, at)
            else:
                yield from _check(base.get(key) if isinstance(base, Mapping) else None, each, over, (*at, key), key)
    elif isinstance(value, list):
        theirs = base if isinstance(base, list) else []
        keys = _keys_of(theirs, value, field)
        by_key = {item_key(each, keys): each for each in theirs} if keys else {}
        for place, each in enumerate(value):
            if not keys and _directive(each) is not None and not _is_whole_list(each):
                message = f"the items of {field} have no key by which Kubernetes tells them apart"
                yield over.problem((*at, place, PATCH), message, "write the whole list: it takes the former's place")
                continue
            same = by_key.get(item_key(each, keys)) if keys and isinstance(each, Mapping) else None
            yield from _check(same, each, over, (*at, place), "")


def _check_directive(value: Any, key: str, over: Document, at: Path) -> Iterator[Problem]:
    if key != PATCH:
        message, remedy = f"{key} is not understood here", "write the whole list or map instead"
        yield over.problem((*at, key), message, remedy, at_key=True)
    elif value not in _KNOWN:
        yield over.problem((*at, key), f"{value!r} is no directive that is understood", f"write {' or '.join(_KNOWN)}")

"""The keys of a file, one less, and what a live object has otherwise: for tests of keys that leave."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

Path = tuple[str, ...]


def keys(value: dict[str, Any], at: Path = ()) -> Iterator[Path]:
    """The path of every key of a file, those of maps in maps too; a list is one value to the API server."""
    for key, inner in value.items():
        yield (*at, key)
        if isinstance(inner, dict):
            yield from keys(inner, (*at, key))


def without(body: dict[str, Any], path: Path) -> dict[str, Any]:
    """The file with one key less."""
    left = deepcopy(body)
    holder = left
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]
    return left


def differing(live: Any, wanted: Any, at: str = "spec") -> list[str]:
    """Where two values differ, each in a line."""
    if isinstance(live, dict) and isinstance(wanted, dict):
        pairs = ((key, live.get(key), wanted.get(key)) for key in sorted({*live, *wanted}))
        return [line for key, one, other in pairs for line in differing(one, other, f"{at}.{key}")]
    return [] if live == wanted else [f"{at}: {live} instead of {wanted}"]

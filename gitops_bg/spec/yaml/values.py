"""Reads values of which nobody has checked the type yet. Knows no kind."""

from collections.abc import Iterator, Mapping
from typing import Any

Body = Mapping[str, Any]
"""A mapping as written, to be read only."""


def as_map(value: Any) -> Body:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def as_maps(value: Any) -> list[Body]:
    """The mappings of a list; none where it is no list."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def maps(value: Any) -> Iterator[tuple[int, Body]]:
    """The mappings of a list that say something, each with its place."""
    return ((place, each) for place, each in enumerate(value if isinstance(value, list) else ()) if as_map(each))


def texts(value: Any) -> Iterator[tuple[str, str]]:
    """The entries of a mapping whose key and value are text."""
    return ((key, each) for key, each in as_map(value).items() if isinstance(key, str) and isinstance(each, str))

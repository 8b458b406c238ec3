"""Reads a forge's JSON value by value: an undocumented shape is an error that names its path, never a KeyError.

`shape["head"]["sha"].text()` reports ``head.sha``.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from gitops_bg.core.foreign_text import read_moment
from gitops_bg.forge.port import Nonsense


class Shape:
    """One value of an answer, and its path. False where it is null or missing."""

    __slots__ = ("_path", "_place", "_value")

    def __init__(self, value: Any, place: str, path: str = "") -> None:
        self._value, self._place, self._path = value, place, path

    def __bool__(self) -> bool:
        return self._value is not None

    def __getitem__(self, key: str) -> "Shape":
        """Return a field; a missing one reads like null."""
        if self._value is not None and not isinstance(self._value, dict):
            raise self.odd("an object")
        found = None if self._value is None else self._value.get(key)
        return Shape(found, self._place, f"{self._path}.{key}" if self._path else key)

    def items(self) -> Iterator["Shape"]:
        """Yield the items of a list."""
        if not isinstance(self._value, list):
            raise self.odd("a list")
        for index, item in enumerate(self._value):
            yield Shape(item, self._place, f"{self._path}[{index}]")

    def text(self, default: str | None = None) -> str:
        """Return a text; ``default`` for null."""
        if self._value is None and default is not None:
            return default
        if not isinstance(self._value, str):
            raise self.odd("a text")
        return self._value

    def number(self, default: int | None = None) -> int:
        """Return a whole number; ``default`` for null."""
        if self._value is None and default is not None:
            return default
        if not isinstance(self._value, int) or isinstance(self._value, bool):
            raise self.odd("a number")
        return self._value

    def flag(self, default: bool = False) -> bool:
        """Return a boolean; ``default`` for null."""
        if self._value is None:
            return default
        if not isinstance(self._value, bool):
            raise self.odd("true or false")
        return self._value

    def time(self) -> datetime:
        """Return a time with its zone, in UTC."""
        text = self.text()
        try:
            return read_moment(text)
        except ValueError:
            raise self.odd("a time with its zone") from None

    def words(self) -> str:
        """Return what a person wrote, in any shape: texts, lists of them, fields with them."""
        return _words(self._value)

    def odd(self, wanted: str) -> Nonsense:
        """Return the error for a value of another shape than ``wanted``."""
        got = "missing" if self._value is None else f"of type {type(self._value).__name__}"
        return Nonsense(self._place, f"{self._path or 'the answer'} is {got}, where {wanted} belongs")


def _words(value: Any) -> str:
    if isinstance(value, dict):
        known = [value[key] for key in ("message", "error", "errors", "error_description", "code") if value.get(key)]
        return "; ".join(filter(None, map(_words, known or value.values())))
    if isinstance(value, list):
        return "; ".join(filter(None, map(_words, value)))
    return value if isinstance(value, str) else ""

"""`dataclasses.replace` in half the time: exploration spends a quarter of its time there."""

import dataclasses
import sys
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any

_OURS = ("gitops_bg.core", "tests.exploration")


@cache
def _parts(kind: type) -> tuple[Callable[[Any], tuple[Any, ...]], dict[str, int]]:
    """What reads all fields of a class at once, and the place of each."""
    names = [one.name for one in dataclasses.fields(kind)]
    if len(names) == 1:
        only = attrgetter(names[0])
        return lambda value: (only(value),), {names[0]: 0}
    return attrgetter(*names), {name: place for place, name in enumerate(names)}


def replace(value: Any, /, **changes: Any) -> Any:
    """A copy of a dataclass with other values in these fields."""
    kind = type(value)
    read, places = _parts(kind)
    values = list(read(value))
    for name, new in changes.items():
        values[places[name]] = new
    return kind(*values)


def hurry() -> None:
    """Use it from now on, in all modules of ours that this process has imported."""
    for name, module in list(sys.modules.items()):
        if name.startswith(_OURS) and getattr(module, "replace", None) is dataclasses.replace:
            module.replace = replace  # type: ignore[attr-defined]

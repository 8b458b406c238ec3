"""Values that are made and copied in a quarter of the time: exploration does little else.

A process in a hurry takes on trust what all others check: that nobody changes what is frozen.
"""

import dataclasses
import sys
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from typing import Any

_OURS = ("gitops_bg.core", "tests.exploration")
Copier = Callable[[Any, dict[str, Any]], Any]


@cache
def _copier(kind: type, changed: tuple[str, ...]) -> Copier:
    """What copies a value of a dataclass, with others in these fields."""
    fields = {one.name: f"{one.name}=" if one.kw_only else "" for one in dataclasses.fields(kind)}
    if unknown := set(changed) - set(fields):
        raise KeyError(f"{kind.__name__} has no {sorted(unknown)}")
    sources = {name: f"changes[{name!r}]" if name in changed else f"value.{name}" for name in fields}
    values = (f"{keyword}{sources[name]}" for name, keyword in fields.items())
    return eval(f"lambda value, changes: kind({', '.join(values)})", {"kind": kind})  # type: ignore[no-any-return]


def replacer(kind: Any) -> Any:
    """What copies a named tuple, with others in some fields: its ``_replace``."""
    fields = kind._fields
    wanted = "".join(f", {name}=same" for name in fields)
    values = "".join(f"own_{name} if {name} is same else {name}, " for name in fields)
    own = "".join(f"own_{name}, " for name in fields)
    scope = {"kind": kind, "new": tuple.__new__, "same": object()}
    exec(f"def _replace(self, *{wanted}):\n {own} = self\n return new(kind, ({values}))", scope)
    return scope["_replace"]


def replace(value: Any, /, **changes: Any) -> Any:
    """As `dataclasses.replace`."""
    return _copier(type(value), tuple(changes))(value, changes)


def _thaw(kind: Any) -> None:
    """Have a frozen dataclass set its fields as any other class does."""
    del kind.__setattr__, kind.__delattr__
    keys = ("default", "default_factory", "kw_only")
    fields = [
        (one.name, one.type, dataclasses.field(**{key: getattr(one, key) for key in keys}))
        for one in dataclasses.fields(kind)
    ]
    kind.__init__ = dataclasses.make_dataclass(kind.__name__, fields).__init__


def _get(self: Any, instance: Any, owner: Any = None) -> Any:
    """As `cached_property.__get__` from Python 3.12 on: without a lock."""
    if instance is None:
        return self
    answer = instance.__dict__[self.attrname] = self.func(instance)
    return answer


def _classes() -> Iterator[Any]:
    modules = [module for name, module in sys.modules.items() if name.startswith(_OURS)]
    found = {one: None for module in modules for one in vars(module).values() if isinstance(one, type)}
    yield from (one for one in found if one.__module__.startswith(_OURS))


def hurry() -> None:
    """Begin to hurry, in all modules of ours that this process has imported."""
    for name, module in list(sys.modules.items()):
        if name.startswith(_OURS) and getattr(module, "replace", None) is dataclasses.replace:
            module.replace = replace  # type: ignore[attr-defined]
    for kind in _classes():
        if dataclasses.is_dataclass(kind) and "__setattr__" in vars(kind):
            _thaw(kind)
        elif issubclass(kind, tuple) and "_fields" in vars(kind):
            kind._replace = replacer(kind)
    cached_property.__get__ = _get  # type: ignore[method-assign]

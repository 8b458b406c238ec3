"""The `dataclass` of the standard library, whose methods are compiled when they are first called.

The standard library compiles up to six functions as it declares a class. Behind `gitops-bg explain` stand six hundred
classes: that was a third of a second of CPU, for methods of which most are never called (docs/decisions/0003). Fields
are those of the standard library, and so are `fields`, `replace`, `field` and what a type checker makes of a class.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        frozen: bool = False,
        slots: bool = False,
        kw_only: bool = False,
        eq: bool = True,
        order: bool = False,
    ) -> Any:
        """Declare a dataclass: with the arguments of the standard library, and its defaults."""

        def declared(undeclared: type) -> type:
            if order:  # few classes are sorted
                return dataclasses.dataclass(frozen=frozen, slots=slots, kw_only=kw_only, order=True)(undeclared)
            return _declared(undeclared, frozen=frozen, slots=slots, kw_only=kw_only, eq=eq)

        return declared if cls is None else declared(cls)


def _declared(cls: type, *, frozen: bool, slots: bool, kw_only: bool, eq: bool) -> type:
    own = set(vars(cls))
    has_hash = vars(cls).get("__hash__") is not None
    cls.__doc__ = cls.__doc__ or cls.__name__  # without one, the standard library writes its signature
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    methods: dict[str, Any] = {"__init__": _at_first_call(made, "__init__", lambda: _init(made, frozen=frozen))}
    methods["__repr__"] = _repr
    if eq:
        methods["__eq__"] = _at_first_call(made, "__eq__", lambda: _eq(made))
    if frozen:
        methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
    if frozen and slots:
        methods |= {"__getstate__": _state, "__setstate__": _set_state}
    for name in methods.keys() - own:
        setattr(made, name, methods[name])
    if eq and not has_hash:
        made.__hash__ = _at_first_call(made, "__hash__", lambda: _hash(made)) if frozen else None
    return made  # type: ignore[no-any-return]


def _at_first_call(cls: type, name: str, compiled: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    def first(self: object, /, *values: Any, **named: Any) -> Any:
        method = compiled()
        setattr(cls, name, method)
        return method(self, *values, **named)

    first.__name__, first.__qualname__ = name, f"{cls.__qualname__}.{name}"
    return first


# --- what is compiled ---

_NOT_GIVEN = object()


def _init(cls: Any, *, frozen: bool) -> Callable[..., None]:
    fields = dataclasses.fields(cls)
    known: dict[str, Any] = {"_NOT_GIVEN": _NOT_GIVEN, "_set": object.__setattr__}
    known |= {f"_default_{each.name}": each.default for each in fields}
    known |= {f"_factory_{each.name}": each.default_factory for each in fields}
    in_place = [_parameter(each) for each in fields if each.init and not each.kw_only]
    by_name = [_parameter(each) for each in fields if each.init and each.kw_only]
    body = [_assignment(each.name, value, frozen=frozen) for each in fields if (value := _value(each))]
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join(("self", *in_place, *(["*", *by_name] if by_name else [])))
    method = _compiled(cls, f"__init__({parameters})", body or ["pass"], known)
    method.__annotations__ = {each.name: each.type for each in fields if each.init} | {"return": None}
    return method


def _parameter(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return f"{field.name}=_default_{field.name}"
    return field.name if field.default_factory is dataclasses.MISSING else f"{field.name}=_NOT_GIVEN"


def _value(field: dataclasses.Field[Any]) -> str:
    """Return what a new object has in the field; empty: nothing yet."""
    if field.default_factory is not dataclasses.MISSING:
        made = f"_factory_{field.name}()"
        return f"{made} if {field.name} is _NOT_GIVEN else {field.name}" if field.init else made
    if field.init:
        return field.name
    return "" if field.default is dataclasses.MISSING else f"_default_{field.name}"


def _assignment(name: str, value: str, *, frozen: bool) -> str:
    return f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}"


def _eq(cls: type) -> Callable[..., bool]:
    body = [
        "if other.__class__ is not self.__class__:",
        " return NotImplemented",
        f"return {_values('self', cls)} == {_values('other', cls)}",
    ]
    return _compiled(cls, "__eq__(self, other)", body, {})


def _hash(cls: type) -> Callable[..., int]:
    return _compiled(cls, "__hash__(self)", [f"return hash({_values('self', cls)})"], {})


def _values(of: str, cls: Any) -> str:
    return f"({''.join(f'{of}.{each.name}, ' for each in dataclasses.fields(cls) if each.compare)})"


def _compiled(cls: type, signature: str, body: list[str], known: dict[str, Any]) -> Callable[..., Any]:
    """Compile a method in the module of its class. What it is made of is our own: names of fields, and ``known``."""
    made: dict[str, Any] = {}
    lines = [f"def made({', '.join(known)}):", f" def {signature}:", *(f"  {line}" for line in body)]
    exec("\n".join([*lines, f" return {signature.partition('(')[0]}"]), vars(sys.modules[cls.__module__]), made)  # noqa: S102
    method: Callable[..., Any] = made["made"](**known)
    method.__qualname__ = f"{cls.__qualname__}.{method.__name__}"
    return method


# --- what all classes share ---


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse(_self: object, name: str, *_value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot change field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)

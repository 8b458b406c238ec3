"""Reads what users write into the frozen dataclasses of the core that declare it (`core.written`).

Each dataclass gets a pydantic model of what is written for it, so that every error has its place; what is valid becomes
the value of the core. `WRITTEN` says how a type of the core is written whose form in a file is another one: a time as
text, a window as one of three kinds.
"""

import ast
import dataclasses
import inspect
import itertools
import sys
import types
import typing
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import AfterValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, create_model
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_after_validator_function

from gitops_bg.core.checks.policy_rules import length
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.policy_rules import Expression, Pattern, Window
from gitops_bg.core.model.spec import IntOrPercent, Revision
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.written import NOT_WRITTEN, Delay, WrittenAs
from gitops_bg.spec.app.fields import (
    DelayOrNever,
    Model,
    Moment,
    NumberOrPercentage,
    Period,
    RevisionText,
    whole_seconds,
)
from gitops_bg.spec.policies.written import WindowEntry, app_of, expression_of, pattern_of, zone_of

_T = TypeVar("_T")
_M = TypeVar("_M", bound="DeclaredModel")
Read = Callable[[Any], Any]
"""Turns what is written into a value of the core."""


@dataclass(frozen=True, slots=True)
class Form:
    """How values of a type are written: as what pydantic reads, how to read that, and how to write a default."""

    written: Any
    read: Read | None = None
    write: Callable[[Any], Any] = str


WRITTEN: Mapping[Any, Form] = MappingProxyType(
    {
        timedelta: Form(Period, lambda period: timedelta(seconds=whole_seconds(period)), length),
        datetime: Form(Moment),
        Delay: Form(DelayOrNever),
        IntOrPercent: Form(NumberOrPercentage),
        Revision: Form(RevisionText),
        Window: Form(WindowEntry, lambda entry: entry.window),
        tzinfo: Form(str, zone_of),
        Expression: Form(str, expression_of),
        Pattern: Form(str, pattern_of),
        AppKey: Form(str, app_of),
    }
)
"""The form of each type that is not written as it is. A model that `extends` a dataclass may have a field of its own
instead."""

_NOTHING: tuple[Any, ...] = (None, "", (), frozenset(), timedelta(), UTC)
"""What fields are that nobody wrote; ``null`` says the same, except of a text that may be empty."""


class DeclaredModel(Model):
    """What is written for a dataclass of the core."""

    declares: ClassVar[Any]
    nullable: ClassVar[Mapping[str, bool]]
    """Of each declared field, whether None says nothing."""

    def value(self, **more: Any) -> Any:
        """Return the value of the core, with what the agent adds; raise `Conflict` where its fields contradict each
        other.
        """
        for name, nullable in self.nullable.items():
            value = getattr(self, name)
            if value is not None or not nullable:
                more[name] = value
        made = self.declares(**more)
        if check := getattr(made, "check", None):
            check()
        return made

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe the fields by their docstrings, which are read only for who asks for the schema."""
        schema = handler(core)
        properties = handler.resolve_ref_schema(schema)["properties"]
        for name, text in described(cls.declares).items():
            properties[str(cls.model_fields[name].alias)].setdefault("description", text)
        return schema


class _OfTheCore:
    """Marks a dataclass of the core as the type of a field of a pydantic model."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if source in WRITTEN:
            return handler.generate_schema(written_as(source))
        model = model_of(source)
        return no_info_after_validator_function(model.value, handler.generate_schema(model))


Declared = Annotated[_T, _OfTheCore()]
"""The type of a field of a pydantic model that is declared in the core."""


@cache
def model_of(declared: Any) -> type[DeclaredModel]:
    """Return the model of what is written for a dataclass of the core."""
    return _extended(declared, DeclaredModel, declared)


def extends(declared: Any) -> Callable[[type[_M]], type[_M]]:
    """Add the fields that a dataclass of the core declares to a model that has those which are only of the file, or
    are written otherwise there.
    """
    return lambda model: _extended(declared, model, model)


def _extended(declared: Any, model: type[_M], named: Any) -> type[_M]:
    hints = written_of(declared)
    fields = {
        each.name: _field(each, hints[each.name])
        for each in dataclasses.fields(declared)
        if each.name in hints and each.name not in model.model_fields
    }
    name, module, text = named.__name__, named.__module__, named.__doc__
    extended: Any = create_model(name, __base__=model, __module__=module, __doc__=text, **fields)
    extended.declares = declared
    extended.nullable = {name: extended.model_fields[name].default is None for name in hints}
    _arrange(extended.model_fields, [each.name for each in dataclasses.fields(declared)], list(model.model_fields))
    return extended  # type: ignore[no-any-return]


def _arrange(fields: dict[str, Any], order: list[str], more: list[str]) -> None:
    """Order fields as the core has them. One that is only of the file stands after that which it follows there."""
    for place, name in enumerate(more):
        if name not in order:
            following = next((order.index(each) for each in more if each in order), 0)
            order.insert(order.index(more[place - 1]) + 1 if place else following, name)
    for name in order:
        if name in fields:
            fields[name] = fields.pop(name)


@cache
def written_of(declared: Any) -> Mapping[str, Any]:
    """Return the types of the fields of a dataclass that are written in files, by their names."""
    hints = typing.get_type_hints(declared, include_extras=True)
    return {name: hint for name, hint in hints.items() if NOT_WRITTEN not in _marks(hint)}


def _field(declared: "dataclasses.Field[Any]", hint: Any) -> Any:
    """Return the type and the default of a field, as pydantic has them."""
    alias = next((mark.name for mark in _marks(hint) if isinstance(mark, WrittenAs)), None)
    written, default = written_as(hint), declared.default
    if default is dataclasses.MISSING:
        return written, Field(alias=alias)
    if (default in _NOTHING and hint is not str) or (is_declared(type(default)) and default == type(default)()):
        return written | None, Field(None, alias=alias)
    form = WRITTEN.get(type(default))
    shown = form.write(default) if form else default.value if isinstance(default, StrEnum) else default
    return written, Field(shown, alias=alias, validate_default=True)


def written_as(hint: Any) -> Any:
    """Return what pydantic reads for a type of the core."""
    marks = [mark for mark in _marks(hint) if not isinstance(mark, WrittenAs)]
    kind = typing.get_args(hint)[0] if _marks(hint) and hint not in WRITTEN else hint
    form = WRITTEN.get(kind)
    written, read = (form.written, form.read) if form else _written(kind)
    metadata = (*marks, *([AfterValidator(read)] if read else []))
    return Annotated[(written, *metadata)] if metadata else written


def _written(hint: Any) -> tuple[Any, Read | None]:
    """Return the type that is written for one of the core, and how to read it where that is another one."""
    if is_declared(hint):
        return Annotated[hint, _OfTheCore()], None
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _words(tuple(hint))
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal and isinstance(args[0], StrEnum):
        return _words(args)
    if origin in (typing.Union, types.UnionType):
        return typing.Union[tuple(written_as(each) for each in args)], None  # noqa: UP007 - of a list
    return _several(origin, args) if origin in (tuple, frozenset) else (hint, None)


def _words(words: tuple[Any, ...]) -> tuple[Any, Read]:
    return Literal[tuple(each.value for each in words)], type(words[0])


def _several(origin: Any, args: tuple[Any, ...]) -> tuple[Any, Read]:
    """Return a list; pairs of a key and a value are a mapping."""
    if typing.get_origin(args[0]) is tuple:
        key, value = map(written_as, typing.get_args(args[0]))
        return dict[key, value], lambda mapping: tuple(sorted(mapping.items()))  # type: ignore[valid-type]
    return list[written_as(args[0])], origin  # type: ignore[misc]


def _marks(hint: Any) -> tuple[Any, ...]:
    return getattr(hint, "__metadata__", ())


def is_declared(hint: Any) -> bool:
    """Return whether a type is a dataclass that is written as its fields are."""
    return isinstance(hint, type) and dataclasses.is_dataclass(hint) and hint not in WRITTEN


@cache
def described(declared: Any) -> Mapping[str, str]:
    """Return the docstrings below the fields of a dataclass, by the names of the fields."""
    body = next(each.body for each in _classes(declared.__module__) if each.name == declared.__name__)
    texts = {
        field.target.id: " ".join(text.value.value.split())
        for field, text in itertools.pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }
    return {name: texts[name] for name in written_of(declared) if name in texts}


@cache
def _classes(module: str) -> tuple[ast.ClassDef, ...]:
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return tuple(each for each in tree.body if isinstance(each, ast.ClassDef))

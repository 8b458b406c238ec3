"""Our dataclasses behave as those of the standard library, and compile no method before it is called."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from gitops_bg.core.dataclass import dataclass as ours

ARGUMENTS = (
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "kw_only": True},
    {"frozen": True},
    {"slots": True},
    {"eq": False},
    {"frozen": True, "order": True},
    {},
)


def declared(by: Callable[..., Any], **arguments: bool) -> Any:
    @by(**arguments)
    class Point:
        x: int
        y: int = 2
        z: list[int] = dataclasses.field(default_factory=list)
        secret: str = dataclasses.field(default="", repr=False, compare=False)
        made: int = dataclasses.field(default=7, init=False)

    return Point


def answer(act: Callable[[], Any]) -> Any:
    """What it returns, or how it fails."""
    try:
        return act()
    except Exception as error:
        return type(error)


def behaviour(kind: Any, arguments: dict[str, bool]) -> list[Any]:
    one, same, other = kind(x=1), kind(x=1, secret="s"), kind(x=3, z=[1])
    return [
        [repr(each).rpartition(".")[2] for each in (one, same, other)] if arguments.get("eq", True) else None,
        *(one == same, one != same, one == other, one == 1, one.z is kind(x=1).z, one.made),
        *(answer(lambda: hash(one) == hash(same)), answer(lambda: hash(kind(1, 2, ())) == hash(kind(1, 2, ())))),
        *(answer(kind), answer(lambda: kind(1, 2, [], "", 9)), answer(lambda: kind(1).y)),
        *(answer(lambda: setattr(one, "x", 5)), answer(lambda: delattr(same, "y")), answer(lambda: one < other)),
        answer(lambda: dataclasses.replace(other, y=5).y),
        answer(lambda: dataclasses.asdict(copy.deepcopy(other))),
        *(kind.__match_args__, kind.__hash__ is None, kind.__qualname__),
    ]


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
def test_a_class_behaves_as_that_of_the_standard_library(arguments: dict[str, bool]) -> None:
    expected = behaviour(declared(dataclasses.dataclass, **arguments), arguments)
    assert behaviour(declared(ours, **arguments), arguments) == expected


@ours(frozen=True, slots=True)
class Base:
    name: str

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("no name")


@ours(frozen=True, slots=True)
class Child(Base):
    age: int = 0

    def __hash__(self) -> int:
        return 1


def test_fields_checks_and_methods_of_its_own_are_kept() -> None:
    child = Child("Ada", 36)
    assert (child.name, child.age, hash(child)) == ("Ada", 36, 1)
    assert child != Base("Ada")
    assert pickle.loads(pickle.dumps(child)) == child
    with pytest.raises(ValueError, match="no name"):
        Child("")
    with pytest.raises(dataclasses.FrozenInstanceError):
        child.age = 37  # type: ignore[misc]


def test_a_method_is_compiled_at_its_first_call() -> None:
    made = declared(ours, frozen=True, slots=True)
    before = made.__init__, made.__eq__
    made(1)
    assert made.__init__ is not before[0]
    assert made.__eq__ is before[1]
    assert made(1) == made(1)
    assert made.__eq__ is not before[1]

"""What the running code says of its size: steps, fields of a record, files that one decision runs through."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import FrameType

from gitops_bg.core import engine
from gitops_bg.core.model.record import Record
from tests.core import worlds
from tests.counts.source import PRODUCT, ROOT

AT_REST = (worlds.archived(1), worlds.legacy(2), worlds.active(3))
"""The versions of an app that has nothing to do."""


def types_of(record: type) -> set[type]:
    """Return a dataclass and all dataclasses that its fields are made of."""
    found: set[type] = set()
    waiting = [record]
    while waiting:
        kind = waiting.pop()
        if kind in found:
            continue
        found.add(kind)
        for hint in typing.get_type_hints(kind).values():
            waiting += [each for each in _parts(hint) if isinstance(each, type) and is_dataclass(each)]
    return found


def fields_of(record: type) -> int:
    """Return how many fields a record has, those of its parts with it; each type counts once."""
    return sum(len(fields(kind)) for kind in types_of(record))


def files_of_a_decision() -> int:
    """Return how many files of the product `decide` runs through, for an app at rest."""
    world = worlds.world(*AT_REST)
    record, before = world.record, None
    while record != before:
        record, before = engine.decide(world.spec, world.desired, world.observed, record, world.now).record, record
    return len(_files_run(lambda: engine.decide(world.spec, world.desired, world.observed, record, world.now)))


def _files_run(work: Callable[[], object]) -> set[str]:
    """Return the files of the product whose functions ``work`` calls."""
    product = str(ROOT / PRODUCT)
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(product):
            seen.add(str(Path(frame.f_code.co_filename)))

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return seen


def _parts(hint: object) -> Iterator[object]:
    """Yield a type, and the types that it is made of: those of a tuple, a union, a mapping."""
    yield hint
    for argument in typing.get_args(hint):
        yield from _parts(argument)


def steps() -> dict[str, int]:
    """Return how many steps each engine has."""
    from gitops_bg.core import group_engine as of_groups

    return {"apps": len(engine.STEPS), "release groups": len(of_groups.STEPS)}


def record_fields() -> dict[str, int]:
    """Return how many fields the record of each kind of subject has."""
    from gitops_bg.core.groups.record import GroupRecord

    return {"apps": fields_of(Record), "release groups": fields_of(GroupRecord)}

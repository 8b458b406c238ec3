"""Records as tables write them: each field by its stored name, whichever part of the record it is in."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

from gitops_bg.core.model.record import Record
from gitops_bg.core.model.stored import STORED_AS

OWN = "record"


def places() -> dict[str, tuple[str, str]]:
    """By the stored name of a field: the part that it is in (`OWN` for the record itself), and its name there."""
    found = {}
    for one in fields(Record):
        part = getattr(Record(), one.name)
        inner = fields(part) if is_dataclass(part) else (one,)
        owner = one.name if is_dataclass(part) else OWN
        found |= {each.metadata.get(STORED_AS, each.name): (owner, each.name) for each in inner}
    return found


PLACES = places()


def record_of(**values: Any) -> Record:
    """A record with these values."""
    record = Record()
    for stored, value in values.items():
        owner, name = PLACES.get(stored, (OWN, stored))
        part = record if owner == OWN else getattr(record, owner)
        changed = replace(part, **{name: value})
        record = changed if isinstance(changed, Record) else record.with_part(changed)
    return record

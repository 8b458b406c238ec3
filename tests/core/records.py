"""Records as tables write them: each field by its name, whichever part of the record it is in."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

from gitops_bg.core.model.record import Record
from gitops_bg.spec.codec import to_json

OWN = "record"
IN_TWO_PARTS = {"hooks": ("hook_state", "runs"), "analysis": ("analyses", "runs"), "past_runs": ("analyses", "past")}
"""What tables call the fields whose names stand in two parts."""


def places() -> dict[str, tuple[str, str]]:
    """By the name of a field: the part that it is in (`OWN` for the record itself), and its name there."""
    found = {}
    for one in fields(Record):
        part = getattr(Record(), one.name)
        inner = fields(part) if is_dataclass(part) else (one,)
        owner = one.name if is_dataclass(part) else OWN
        found |= {each.name: (owner, each.name) for each in inner}
    return found | IN_TWO_PARTS


PLACES = places()


def record_of(**values: Any) -> Record:
    """A record with these values."""
    record = Record()
    for said, value in values.items():
        owner, name = PLACES.get(said, (OWN, said))
        part = record if owner == OWN else getattr(record, owner)
        changed = replace(part, **{name: value})
        record = changed if isinstance(changed, Record) else record.with_part(changed)
    return record


def stored(record: Record) -> dict[str, Any]:
    """A record as it is stored in the cluster."""
    return to_json(record)

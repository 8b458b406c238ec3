"""Records as tables write them: each field by its name, whichever part of the record it is in."""

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import chain
from typing import Any, TypeVar

from gitops_bg.core.delivery.holds import WayBack, can_roll_back_without_gates
from gitops_bg.core.model.record import Delivery, Record
from gitops_bg.core.model.statements import Hold, Override, Says, Statement, Statements
from gitops_bg.repo.ledger.ledger_file import LedgerDocument, parse, render, state_of
from gitops_bg.spec.codec import to_json

R = TypeVar("R", bound=Delivery)

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


def statements_of(*holds: Hold) -> Statements:
    """What was said where these are the holds, those that were lifted with the answer."""
    return tuple(chain.from_iterable(map(_statements, holds)))


def _statements(hold: Hold) -> Iterator[Statement]:
    said = Statement(hold.digest, Says.REFUSED, hold.since, hold.cause, hold.reason)
    yield replace(said, awaits=hold.awaits, sequence=hold.sequence)
    if hold.lifted:
        yield Statement(hold.digest, hold.lifted, hold.since)


def wanted_of(override: Override) -> Statement:
    """What was said where this is the override."""
    by, at, cause = override.by, override.at, override.cause
    said = Statement(override.to_digest, Says.WANTED, at, cause, override.reason, by, override.commit, override.awaits)
    number = 1 if override.diverged else 0
    return replace(said, sequence=number, instead_of=override.from_digest, main_named=override.main_named)


def overriding(record: R, override: Override) -> R:
    """A record with this override."""
    return record.saying(wanted_of(override))


def record_of(
    *, holds: Iterable[Hold] = (), past_holds: Iterable[Hold] = (), override: Override | None = None, **values: Any
) -> Record:
    """A record with these values. Main named what an override left, where nothing else is said."""
    past = (replace(each, lifted=each.lifted or Says.PASSED_OVER) for each in past_holds)
    record = Record(statements=statements_of(*past, *holds))
    if override is not None:
        record = overriding(record, override)
        values = {"primary": override.from_digest, **values}
    line = (*values.pop("named_before", ()), values.pop("primary", ""))
    record = record.with_part(replace(record.git, named=tuple(filter(None, line))))
    for said, value in values.items():
        owner, name = PLACES.get(said, (OWN, said))
        part = record if owner == OWN else getattr(record, owner)
        changed = replace(part, **{name: value})
        record = changed if isinstance(changed, Record) else record.with_part(changed)
    return record


def stored(record: Record) -> dict[str, Any]:
    """A record as it is stored in the cluster."""
    return to_json(record)


def as_the_ledger_has_it(record: Record) -> LedgerDocument:
    """What Git says of a record once its ledger has been written and read again."""
    return parse(render(LedgerDocument(state_of(record))))


def way_back_to(record: Record, digest: str) -> WayBack:
    """Whether traffic may go back to a version without gates, and why not."""
    version = record.version(digest)
    assert version is not None
    return can_roll_back_without_gates(record, version)

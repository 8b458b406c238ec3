"""The releases before and after can read a stored record, whatever the code's own names are."""

import json
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from pydantic.alias_generators import to_camel

from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import Version
from gitops_bg.spec.codec import from_json, to_json
from tests.core.records import PLACES

BEFORE = Path(__file__).parents[1] / "fixtures" / "record.json"
"""A record in which every field is set, as the release wrote it whose records and versions had no parts."""


def stored() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(BEFORE.read_text())
    return read


def test_record_of_the_release_before_loses_nothing_and_is_stored_as_it_was() -> None:
    assert to_json(from_json(Record, stored())) == stored()


def test_version_on_its_way_out_is_stored_as_it_was() -> None:
    (version,) = stored()["versions"]
    read = from_json(Version, version)
    assert read.retirement is not None
    assert read.retirement.since is not None
    assert read.retirement.until == read.scale_down_at is not None
    assert to_json(read) == version


def test_field_that_the_release_before_did_not_know_may_be_absent() -> None:
    assert not [one.name for one in fields(Record) if one.default is MISSING and one.default_factory is MISSING]
    assert from_json(Record, {}) == Record()


def test_every_field_of_then_is_still_stored_under_its_name() -> None:
    assert stored().keys() <= {to_camel(name) for name in PLACES}

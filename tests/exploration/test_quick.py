"""The quick `replace` gives what that of the standard library gives, for every class that the engine is made of."""

import dataclasses

import pytest

from tests.core.simulation import deployed, manual
from tests.exploration import quick

RECORD = deployed(manual()).record
VALUES = (RECORD, RECORD.versions[0], RECORD.versions[0].snapshot, RECORD.git.main, manual(), manual().strategy)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_it_is_what_it_replaces(value: object) -> None:
    assert quick.replace(value) == dataclasses.replace(value)  # type: ignore[type-var]
    for field in dataclasses.fields(value):  # type: ignore[arg-type]
        changed = {field.name: "another"}
        assert quick.replace(value, **changed) == dataclasses.replace(value, **changed)  # type: ignore[type-var]


def test_it_refuses_what_is_no_field() -> None:
    with pytest.raises(KeyError):
        quick.replace(RECORD, color="green")

"""The table of seeded faults fits the engine: each edits exactly one place, and what it makes of it compiles."""

from __future__ import annotations

import pytest

from tests.exploration.faults import FAULTS, Fault, edited, file_of


def test_there_are_at_least_thirty_and_each_has_a_name_of_its_own() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert len(FAULTS) >= 30


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_fault_edits_one_place_of_the_engine(fault: Fault) -> None:
    compile(edited(fault), str(file_of(fault)), "exec")

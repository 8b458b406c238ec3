"""The table of stages is what the engine does, and docs/architecture/stages.md is what the table says."""

import pytest

from gitops_bg.core import engine
from gitops_bg.core.model.statements import Cause
from gitops_bg.core.model.version import Stage
from gitops_bg.core.transitions.verdicts import TRIGGERS
from tests.documentation.stages import NOWHERE, TABLE, observed, ways
from tests.documentation.stages_page import COMMAND, PAGE, SAID_BY_OTHERS, page


@pytest.mark.slow
def test_engine_changes_no_stage_but_as_the_table_says():
    allowed = frozenset().union(*(row.changes for row in TABLE))
    assert observed() - allowed == frozenset(), "add these to TABLE in tests/documentation/stages.py, then `make docs`"


@pytest.mark.slow
def test_every_row_of_the_table_happens():
    assert not [row for row in TABLE if not row.changes & observed()]


def test_every_step_that_the_table_names_is_one():
    assert {step for row in TABLE for step in row.steps} <= {step.__name__ for step in engine.STEPS}


def test_each_way_has_one_row_and_every_stage_is_left_and_come_to():
    rows = [(row.origin, row.goal) for row in TABLE]
    assert len(set(rows)) == len(rows)
    assert set(rows) == ways(), "the rows are the ways of core.model.version"
    assert {origin for origin, _ in rows} == {goal for _, goal in rows} == {NOWHERE, *Stage}


def test_every_cause_of_a_hold_has_a_row_that_says_what_follows():
    causes = [each.cause for each in TRIGGERS] + [cause for _, cause, _ in SAID_BY_OTHERS]
    assert sorted(causes) == sorted(set(Cause) - {Cause.UNKNOWN})


def test_page_is_as_the_table_and_the_steps_are():
    assert PAGE.read_text() == page(), f"docs/architecture/stages.md is stale: run `{COMMAND}`"

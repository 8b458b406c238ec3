"""What others ask of the steps: the agent, what else to read of Git; the CLI, what an abort would do."""

from dataclasses import replace

import pytest

from gitops_bg.core.checks.git import Asked, asks_for_names, asks_main
from gitops_bg.core.model.desired import LedgerMemory, Missing
from gitops_bg.core.model.record import OperatorState, Record, SeenInGit
from gitops_bg.core.model.spec import Retry
from gitops_bg.core.model.version import Stabilization
from gitops_bg.core.transitions.journal import aborting
from tests.core.engine.git.test_naming import LATER, looked_again
from tests.core.simulation import manual
from tests.core.worlds import NOW, active, archived, candidate, digest, legacy, primary, world


def test_it_is_asked_only_where_primary_yaml_was_changed() -> None:
    """Never at each pass: it costs a few readings of Git."""
    same = looked_again(active(1), candidate(2))
    record = same.record
    assert asks_for_names(same.desired, record)
    assert asks_for_names(replace(same.desired, primary=primary(2)), record), "others may have been named before"
    assert not asks_for_names(replace(same.desired, primary=primary(1)), record)
    assert not asks_for_names(replace(same.desired, primary=Missing.ABSENT), record)
    assert not asks_for_names(same.desired, record.with_part(replace(record.git, primary_by=""))), (
        "a record of the code of before"
    )


def test_a_record_that_begins_asks_since_the_look_that_the_ledger_knows() -> None:
    begins = replace(looked_again(active(1)).desired, memory=LedgerMemory(primary_by="e" * 40))
    assert asks_for_names(begins, Record()) == "e" * 40
    assert not asks_for_names(begins, Record(git=SeenInGit(primary_by=LATER)))


@pytest.mark.parametrize(("answered", "asks"), [(2, 2), (3, 3), (4, None)])
def test_retries_are_asked_for_since_the_one_that_was_answered_last(answered: int, asks: int | None) -> None:
    state = world(active(1), candidate(2), spec=replace(manual(), retry=Retry(digest(3), 4, "ada")))
    record = state.record.with_part(OperatorState(retry=answered))
    assert asks_main(state.spec, state.desired, record).retries_after == asks


def test_an_app_at_rest_and_an_ordinary_push_ask_main_for_nothing() -> None:
    for state in (world(active(1)), world(active(1), candidate(2), names_=1), world(legacy(1), active(2))):
        asked = asks_main(state.spec, state.desired, state.record)
        assert replace(asked, who_brought=False) == Asked(), "of the file, who brought it is known"
    assert asks_main(manual(), world(active(1)).desired, world(active(1)).record) == Asked()


def test_an_abort_says_before_what_it_would_stop_and_where_traffic_would_go() -> None:
    found = aborting(world(legacy(1), active(2, stabilization=Stabilization(3, NOW)), candidate(3)))
    assert [version.number for version in found.stops] == [3, 2]
    assert found.goes_to.number == 1
    assert not aborting(world(archived(1), active(2)))

"""Notes that are not saved yet: later looks know them, and after a while they are saved by themselves."""

from datetime import UTC, datetime, timedelta

from gitops_bg.agent.reconcile.unsaved import LONGEST, Unsaved
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey

APP, OTHER = AppKey("shop", "web"), AppKey("shop", "api")
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SAVED, NOTED, LATER = Record("5eed", 5), Record("5eed", 5, rollout=1), Record("5eed", 5, rollout=2)
SECOND = timedelta(seconds=1)


def noting() -> Unsaved:
    unsaved = Unsaved()
    unsaved.note(APP, SAVED, NOTED, NOW)
    return unsaved


def test_the_next_look_decides_on_the_record_with_its_notes() -> None:
    unsaved = noting()
    assert unsaved.record(APP, SAVED) == NOTED
    assert unsaved.record(OTHER, SAVED) == SAVED
    assert unsaved.saved(APP, NOTED) == SAVED
    assert unsaved.saved(OTHER, NOTED) == NOTED


def test_notes_on_another_record_than_the_live_one_are_dropped() -> None:
    """Somebody else has saved one: what was noted is found again, if it is still so."""
    unsaved = noting()
    assert unsaved.record(APP, LATER) == LATER
    assert unsaved.record(APP, SAVED) == SAVED
    assert unsaved.until(APP) is None


def test_the_first_note_is_saved_after_a_while_and_with_it_those_that_came_later() -> None:
    unsaved = noting()
    unsaved.note(APP, SAVED, LATER, NOW + LONGEST / 2)
    assert unsaved.record(APP, SAVED) == LATER
    assert unsaved.until(APP) == NOW + LONGEST
    assert unsaved.may_wait(APP, NOW + LONGEST - SECOND)
    assert not unsaved.may_wait(APP, NOW + LONGEST)
    assert unsaved.may_wait(OTHER, NOW + LONGEST)


def test_what_is_saved_is_no_note_any_more() -> None:
    unsaved = noting()
    unsaved.drop(APP)
    unsaved.drop(OTHER)
    assert unsaved.record(APP, SAVED) == SAVED
    assert (unsaved.until(APP), unsaved.saved(APP, LATER)) == (None, LATER)

"""Notes that are not saved yet: later looks know them, and after a while they are saved by themselves."""

from datetime import UTC, datetime, timedelta

from gitops_bg.agent.reconcile.apps import Unsaved
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey

APP, OTHER = AppKey("shop", "web"), AppKey("shop", "api")
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
UNTIL = NOW + 60 * SECOND
SAVED, NOTED, LATER = Record("5eed", 5), Record("5eed", 5, rollout=1), Record("5eed", 5, rollout=2)


def noting() -> Unsaved:
    unsaved = Unsaved()
    assert unsaved.may_wait(APP, SAVED, NOTED, UNTIL, NOW)
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


def test_all_are_saved_when_the_first_is_due() -> None:
    unsaved = noting()
    assert unsaved.may_wait(APP, SAVED, LATER, UNTIL + 30 * SECOND, NOW + 30 * SECOND)
    assert (unsaved.record(APP, SAVED), unsaved.until(APP)) == (LATER, UNTIL)
    assert unsaved.may_wait(APP, SAVED, LATER, NOW + 32 * SECOND, NOW + 31 * SECOND)
    assert unsaved.until(APP) == NOW + 32 * SECOND
    assert not unsaved.may_wait(APP, SAVED, LATER, UNTIL, NOW + 32 * SECOND)
    assert unsaved.record(APP, SAVED) == LATER, "until they are saved"
    assert unsaved.may_wait(OTHER, SAVED, LATER, UNTIL, NOW + 32 * SECOND)


def test_before_the_end_all_are_saved_and_no_new_one_waits() -> None:
    unsaved = noting()
    assert unsaved.hurry() == {APP}
    assert not unsaved.may_wait(APP, SAVED, NOTED, UNTIL, NOW)
    assert not unsaved.may_wait(OTHER, SAVED, NOTED, UNTIL, NOW)


def test_what_is_saved_is_no_note_any_more() -> None:
    unsaved = noting()
    unsaved.drop(APP)
    unsaved.drop(OTHER)
    assert unsaved.record(APP, SAVED) == SAVED
    assert (unsaved.until(APP), unsaved.saved(APP, LATER)) == (None, LATER)

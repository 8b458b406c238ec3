"""The table of events: every event has a row, and each row has a text."""

import re
import string

import pytest

from gitops_bg.core.model.analysis import AnalysisPhase
from gitops_bg.core.model.events import (
    EVENTS,
    MOVES,
    NOTICES,
    EventRow,
    Notice,
    analysis_notice,
    metric_notice,
    severity_of,
)
from gitops_bg.core.model.hooks import Severity
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.transitions.switching import EVENT_OF
from tests.core.worlds import NOW


def test_every_event_has_its_row():
    assert list(EVENTS) == list(Event), "in the order of the names"


@pytest.mark.parametrize("event", Event)
def test_a_row_has_a_verb_a_sentence_and_a_reason_of_its_own(event: Event):
    row = EVENTS[event]
    assert row.verb
    assert fields(row.sentence) <= {"to", "origin"}
    assert fields(row.remedy) <= {"app"}
    assert re.fullmatch(r"([A-Z][a-z]+)+", row.reason), "one CamelCase word, as Kubernetes wants it"


@pytest.mark.parametrize("field", ["verb", "sentence", "reason"])
def test_no_two_events_say_the_same(field: str):
    said = [getattr(row, field) for row in EVENTS.values()]
    assert len(set(said)) == len(said)


def test_every_notice_has_its_row_and_its_reason():
    assert list(NOTICES) == list(Notice), "in the order of the names"
    assert all(re.fullmatch(r"([A-Z][a-z]+)+", notice) for notice in Notice), (
        "one CamelCase word, as Kubernetes wants it"
    )


def test_no_reason_of_a_notice_is_that_of_an_event():
    assert not {row.reason for row in EVENTS.values()} & set(Notice)


@pytest.mark.parametrize("phase", AnalysisPhase)
def test_every_phase_of_an_analysis_can_be_told(phase: AnalysisPhase):
    assert NOTICES[analysis_notice(phase)]
    assert phase is AnalysisPhase.RUNNING or NOTICES[metric_notice(phase)]


def test_the_events_that_move_traffic_are_those_of_the_switches():
    assert set(EVENT_OF.values()) == MOVES
    asked = {event for event, row in EVENTS.items() if row.asks}
    assert asked == MOVES | {Event.ENTERED}, "a commit asks for nothing else, but that a release comes in"


@pytest.mark.parametrize("event", Event)
def test_only_a_failure_is_less_grave_where_somebody_asked_for_it(event: Event):
    alone, asked = (severity_of(LedgerEntry(1, NOW, event, by=by)) for by in ("", "Ada <ada@example.com>"))
    assert alone is EVENTS[event].severity
    failures = (Event.ABORTED, Event.ROLLED_BACK)
    by_hand = (Severity.ERROR, Severity.WARN) if event in failures else (alone, alone)
    assert (alone, asked) == by_hand


def test_a_commit_that_asked_for_it_is_somebody_who_did():
    """Nobody knows whose hand it was where a group goes back because its group.yaml names the version before."""
    assert severity_of(LedgerEntry(1, NOW, Event.ROLLED_BACK, commit="c" * 40)) is Severity.WARN


def test_a_row_names_all_of_itself():
    with pytest.raises(TypeError):
        EventRow("promoted", "{to} is live")  # type: ignore[call-arg, misc]


def fields(text: str) -> set[str]:
    """The names between braces."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}

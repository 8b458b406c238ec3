"""Conditions that may cost without bound, in the child that is killed: same answers, and nobody waits for long."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from gitops_bg.analysis.bounded import PAUSE, BoundedConditions
from gitops_bg.core.model.policy_rules import NoAnswer
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.expressions import NoValue
from tests.support.waiting import PATIENCE

SOON = timedelta(seconds=1)
COSTLY = "size(result.map(a, result.map(b, result))) > 0"
"""The library copies a list for each item that `map` adds to it: minutes for a thousand items."""
MANY = {"result": list(range(1_000))}
NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


WEB, API = AppKey("shop", "web"), AppKey("shop", "api")


class Clock:
    now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def patient(clock: Clock) -> Iterator[BoundedConditions]:
    conditions = BoundedConditions(clock, longest=timedelta(seconds=PATIENCE))
    yield conditions
    conditions.close()


@pytest.fixture
def hasty(clock: Clock) -> Iterator[BoundedConditions]:
    conditions = BoundedConditions(clock, longest=SOON)
    yield conditions
    conditions.close()


def pid_of(conditions: BoundedConditions) -> int | None:
    return conditions._child.pid if conditions._child else None


@pytest.mark.parametrize(
    ("text", "result", "answer"),
    [
        ("result.all(each, each < 5)", [1, 2], True),
        ("result.exists(each, each.name == 'ü\\n')", [{"name": "ü\n"}], True),
        ("result.matches('^v[0-9]+$')", "v2", True),
        ("size(result) == 5000", [0.5] * 5_000, True),
        ("result.all(each, each < 5)", [7], False),
    ],
)
def test_it_answers_as_this_process_would(text: str, result: Any, answer: bool, patient: BoundedConditions) -> None:
    assert patient.is_true(WEB, text, {"result": result}) is answer
    assert pid_of(patient), "it was the child that answered"


def test_what_is_cheap_needs_no_child(patient: BoundedConditions) -> None:
    assert patient.is_true(WEB, "result[0] < 0.05", {"result": [0.01]})
    assert pid_of(patient) is None


def test_missing_values_and_answers_that_are_none_come_through(patient: BoundedConditions) -> None:
    with pytest.raises(NoValue, match="errors is not there"):
        patient.is_true(WEB, "result.all(each, each.errors < 1)", {"result": [{}]})
    with pytest.raises(NoAnswer, match="neither true nor false"):
        patient.is_true(WEB, "result.map(each, each)", {"result": [1]})


@pytest.mark.slow
def test_what_takes_too_long_has_no_answer_and_the_others_go_on(hasty: BoundedConditions, clock: Clock) -> None:
    assert hasty.is_true(WEB, "result.all(each, each < 5)", {"result": [1]})
    first = pid_of(hasty)
    with pytest.raises(NoAnswer, match=r"costs more than 1 s or 256 MiB: ask for less"):
        hasty.is_true(WEB, COSTLY, MANY)
    assert pid_of(hasty) is None
    assert hasty.is_true(API, "result.all(each, each < 5)", {"result": [1]})
    assert hasty.is_true(API, COSTLY, {"result": [1]}), "another app may have the same template, and little data"
    second = pid_of(hasty)
    assert second not in (None, first)
    with pytest.raises(NoAnswer, match="costs more"):
        hasty.is_true(WEB, COSTLY, MANY)
    with pytest.raises(NoAnswer, match="costs more"):
        hasty.is_true(WEB, "result.all(each, each < 6)", {"result": [1]})
    assert pid_of(hasty) == second, "the child is not even asked for this app: the others would wait for it"
    clock.now += PAUSE
    assert hasty.is_true(WEB, COSTLY, {"result": [1]}), "later it is asked again, and about less it has an answer"


def test_the_child_sees_nothing_of_the_agents_environment(
    patient: BoundedConditions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITOPS_BG_TEST_TOKEN", "secret")
    patient.is_true(WEB, "result.all(each, each < 5)", {"result": [1]})
    assert b"GITOPS_BG_TEST_TOKEN" not in Path(f"/proc/{pid_of(patient)}/environ").read_bytes()


def test_once_it_is_closed_no_child_is_started(patient: BoundedConditions) -> None:
    """A measurement may be under way when the agent stops."""
    patient.close()
    with pytest.raises(NoAnswer, match="the agent is stopping"):
        patient.is_true(WEB, "result.all(each, each < 5)", {"result": [1]})
    assert pid_of(patient) is None


@pytest.mark.slow
def test_this_process_goes_on_meanwhile(hasty: BoundedConditions) -> None:
    """In it the library would keep the interpreter's lock from the first item to the last."""
    ended, ticks = Event(), 0

    def evaluate() -> None:
        with pytest.raises(NoAnswer):
            hasty.is_true(WEB, COSTLY, MANY)
        ended.set()

    thread = Thread(target=evaluate)
    thread.start()
    while not ended.wait(0.01):
        ticks += 1
    thread.join()
    assert ticks > 10


@pytest.mark.slow
def test_what_takes_too_much_memory_has_no_answer(clock: Clock) -> None:
    conditions = BoundedConditions(clock, longest=timedelta(seconds=PATIENCE))
    assert conditions.is_true(WEB, "size(result.map(a, result)) > 0", {"result": [1]})
    with pytest.raises(NoAnswer, match="256 MiB"):
        conditions.is_true(WEB, "size(result.filter(a, true) + result) > 0", {"result": ["x" * 1_000] * 200_000})
    conditions.close()

"""One hook on its own: what an answer counts for, when it is asked again, and when its time is over."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gitops_bg.core.model.hooks import (
    Hook,
    HookAnswer,
    HookResponse,
    HookRun,
    HookType,
    due_at,
    expires_at,
    id_of,
    key_of,
    with_answer,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
CONFIRM_PROMOTION, PRE_ROLLOUT = HookType.CONFIRM_PROMOTION, HookType.PRE_ROLLOUT


def hook(type_: HookType = PRE_ROLLOUT, **changes: Any) -> Hook:
    return replace(Hook("h", type_), **changes)


def run_of(type_: HookType = PRE_ROLLOUT, **changes: Any) -> HookRun:
    return replace(HookRun("h", type_, "v1:x", 1, START), **changes)


COUNTS = {
    HookAnswer.ACCEPTED: ((200, 201, 202, 204, 299), (1, 0, 0)),
    HookAnswer.REFUSED: ((199, 300, 301, 400, 403, 404, 409, 500, 501, 505), (0, 1, 0)),
    HookAnswer.UNANSWERED: ((0, 429, 502, 503, 504), (0, 0, 1)),
}


@pytest.mark.parametrize(("answer", "status"), [(one, each) for one, (all_, _) in COUNTS.items() for each in all_])
def test_what_a_status_counts_for(answer, status):
    after = with_answer(run_of(), hook(), HookResponse("", status, START, "why"))
    assert (after.answer, after.text) == (answer, "why")
    assert (after.accepted, after.refused, after.tries) == COUNTS[answer][1]


def test_no_answer_is_asked_again_with_growing_pauses():
    one, pauses, now = run_of(), [], START
    for _ in range(7):
        one = with_answer(one, hook(), HookResponse("", 0, now))
        due = due_at(one, hook())
        pauses.append((due - now).total_seconds())
        now = due
    assert pauses == [1, 2, 4, 8, 16, 30, 30]


@pytest.mark.parametrize(("status", "asked_again"), [(500, True), (505, True), (501, False), (403, False)])
def test_retries_ask_again_before_a_5xx_counts_as_flagger_does(status, asked_again):
    one, retried = run_of(), hook(retries=2)
    for tries in (1, 2) if asked_again else ():
        one = with_answer(one, retried, HookResponse("", status, START))
        assert (one.refused, one.tries) == (0, tries)
    one = with_answer(one, retried, HookResponse("", status, START))
    assert (one.refused, one.tries) == (1, 0)


@pytest.mark.parametrize(("status", "tries"), [(200, 0), (403, 0), (500, 4)])
def test_an_answer_ends_the_patience_with_a_backend_that_was_down(status, tries):
    silent = run_of(tries=3, unanswered_since=START, answer=HookAnswer.UNANSWERED)
    after = with_answer(silent, hook(retries=4), HookResponse("", status, START))
    assert (after.tries, after.unanswered_since) == (tries, None), "a refusal that is asked again counts as a try"


KEYS = {
    "confirm-promotion.h.1767225600000.0": {},
    "confirm-promotion.h.1767225600000.3": {"accepted": 1, "refused": 2},
    "final.h.1767225600000.3": {"accepted": 1, "refused": 2, "final": True},
    "final.h.1767225600001.0": {"since": START + timedelta(milliseconds=1), "final": True},
}


@pytest.mark.parametrize("key", KEYS)
def test_each_call_has_a_key_of_its_own_which_every_try_of_it_has(key):
    run = run_of(CONFIRM_PROMOTION, **KEYS[key])
    assert key_of(run, "5eed") == f"5eed.1.{key}"
    assert id_of(replace(run, tries=2), "5eed") == f"5eed.1.{key}.2"


DEADLINES = {
    "a confirmation's is counted from when it was asked first": (HookType.CONFIRM_ROLLOUT, {}, 600),
    "a check has none while its backend answers": (PRE_ROLLOUT, {}, None),
    "a check's is that of a backend that is down": (PRE_ROLLOUT, {"unanswered_since": START}, 600),
    "a rollback hook is asked for as long as there is something to roll back": (
        HookType.ROLLBACK,
        {"unanswered_since": START},
        None,
    ),
}


@pytest.mark.parametrize("name", DEADLINES)
def test_the_deadline(name):
    type_, one, seconds = DEADLINES[name]
    ends = expires_at(run_of(type_, **one), hook(type_, deadline=600), None)
    assert ends == (None if seconds is None else START + timedelta(seconds=seconds))

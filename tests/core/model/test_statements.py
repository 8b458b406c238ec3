"""What follows from who said what about a version: a table over the list, and that nothing told is needed twice."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from gitops_bg.core.model.journal import AwaitsPoll, PollCount
from gitops_bg.core.model.statements import (
    MOST_ANSWERED_REFUSALS,
    Cause,
    Override,
    Says,
    Statement,
    Statements,
    after_poll,
    held,
    holds,
    objection,
    override,
    past_holds,
    preceded,
    refused_by_main,
    restated,
    unwanted,
    with_statement,
    without,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
WORDS = {
    "bad": (Says.REFUSED, Cause.ROLLED_BACK),
    "worse": (Says.REFUSED, Cause.ANALYSIS_FAILED),
    "late": (Says.REFUSED, Cause.EXPIRED),
    "closed": (Says.REFUSED, Cause.CLOSED),
    "cleared": (Says.CLEARED, Cause.UNKNOWN),
    "named": (Says.NAMED, Cause.UNKNOWN),
    "passed over": (Says.PASSED_OVER, Cause.UNKNOWN),
}


def statement(word: str, minutes: int = 0, digest: str = "v1:2") -> Statement:
    says, cause = WORDS[word]
    return Statement(digest, says, NOON + timedelta(minutes=minutes), cause, word)


def telling(*words: str) -> Statements:
    """What is kept where this was said of one version, in this order."""
    statements: Statements = ()
    for minutes, word in enumerate(words):
        statements = with_statement(statements, statement(word, minutes))
    return statements


FOLLOWS: dict[tuple[str, ...], tuple[str, str, Says | None]] = {
    (): ("", "", None),
    ("bad",): ("bad", "bad", None),
    ("bad", "cleared"): ("", "bad", Says.CLEARED),
    ("bad", "named"): ("", "bad", Says.NAMED),
    ("bad", "passed over"): ("", "bad", Says.PASSED_OVER),
    ("bad", "passed over", "cleared"): ("", "bad", Says.CLEARED),
    ("bad", "cleared", "worse"): ("worse", "worse", None),
    ("bad", "cleared", "late"): ("late", "late", None),
    ("bad", "cleared", "late", "passed over"): ("", "bad", Says.PASSED_OVER),
    ("late",): ("late", "late", None),
    ("late", "cleared"): ("", "", None),
    ("late", "cleared", "bad"): ("bad", "bad", None),
    ("cleared",): ("", "", None),
}
"""What was said: the hold in force, what speaks against the version, and how that was answered."""


@pytest.mark.parametrize("words", FOLLOWS, ids=", then ".join)
def test_what_follows(words: tuple[str, ...]) -> None:
    in_force, against, lifted = FOLLOWS[words]
    statements = telling(*words)
    hold, bad = held(statements, "v1:2"), objection(statements, "v1:2")
    assert (hold.reason if hold else "") == in_force
    assert ((bad.reason, bad.lifted) if bad else ("", None)) == (against, lifted)
    assert [each.reason for each in holds(statements)] == [in_force][: bool(in_force)]
    assert held(statements, "v1:3") is objection(statements, "v1:3") is None
    assert without(statements, "v1:2") == ()


def test_what_is_forgotten_changes_no_answer() -> None:
    for words in product(WORDS, repeat=4):
        whole = tuple(statement(word, minutes) for minutes, word in enumerate(words))
        kept = telling(*words)
        assert held(kept, "v1:2") == held(whole, "v1:2"), words
        assert objection(kept, "v1:2") == objection(whole, "v1:2"), words
        assert len(kept) <= 3, words


def test_a_hold_that_speaks_not_against_the_version_leaves_the_fact_that_it_was_bad() -> None:
    (past,) = past_holds(telling("bad", "cleared", "late"))
    assert (past.reason, past.lifted, past.since) == ("bad", Says.CLEARED, NOON)


def test_the_oldest_answered_refusals_are_forgotten_and_no_hold_in_force() -> None:
    statements = with_statement((), statement("bad", digest="v1:held"))
    for number in range(MOST_ANSWERED_REFUSALS + 1):
        for word in ("bad", "passed over"):
            statements = with_statement(statements, statement(word, digest=f"v1:{number}"))
    assert [each.digest for each in holds(statements)] == ["v1:held"]
    assert [each.digest for each in past_holds(statements)] == [f"v1:{n}" for n in range(1, MOST_ANSWERED_REFUSALS + 1)]


def test_a_look_that_began_later_ends_the_wait_of_every_statement_and_an_older_one_of_none() -> None:
    waiting = replace(statement("bad"), awaits=AwaitsPoll((("a", 3),)))
    elsewhere = replace(statement("late", digest="v1:3"), awaits=AwaitsPoll((("b", 9),)))
    assert after_poll((waiting,), PollCount("a", 3, 4)) == (waiting,)
    wanted = replace(WANTED, awaits=AwaitsPoll((("a", 3),)))
    first, second, third = after_poll((waiting, elsewhere, wanted), PollCount("a", 4, 4))
    assert (first.awaits, second.awaits, third.awaits) == (None, AwaitsPoll((("b", 9), ("a", 4))), None)


def test_an_answer_ends_the_wait_of_what_it_answers() -> None:
    waiting = replace(statement("bad"), awaits=AwaitsPoll((("a", 3),)))
    assert not any(each.awaits for each in with_statement((waiting,), statement("cleared", 1)))


def test_a_hold_that_is_said_once_more_awaits_the_next_look_and_nothing_else_does() -> None:
    statements = (*telling("bad", "cleared", "late"), statement("bad", digest="v1:3"))
    again = restated(statements, "v1:2", AwaitsPoll((("a", 1),)))
    assert [each.reason for each in again if each.awaits] == ["late"]
    assert restated(telling("bad", "cleared"), "v1:2", AwaitsPoll((("a", 1),))) == telling("bad", "cleared")


def test_what_the_ledger_says_comes_first_and_counts_for_no_version_that_the_record_knows() -> None:
    own = telling("cleared", "late")
    ledger = (statement("bad"), statement("bad", digest="v1:3"), statement("passed over", 1, "v1:3"))
    assert [(each.digest, each.reason) for each in preceded(own, ledger)] == [
        ("v1:3", "bad"),
        ("v1:3", "passed over"),
        ("v1:2", "late"),
    ]


WANTED = Statement("v1:1", Says.WANTED, NOON, Cause.ABORTED, "5xx", "ada", instead_of="v1:2")


def test_the_override_is_what_was_wanted_last_until_it_is_wanted_no_more() -> None:
    assert override(telling("bad")) is None
    again = with_statement(with_statement((), WANTED), replace(WANTED, digest="v1:0", commit="c" * 40))
    assert override(again) == Override("v1:2", "v1:0", "5xx", "ada", NOON, Cause.ABORTED, commit="c" * 40)
    assert unwanted(again) == ()


def test_main_that_refuses_what_is_wanted_diverges_and_changes_no_hold() -> None:
    statements = refused_by_main((*telling("bad"), WANTED), 7)
    made = override(statements)
    assert made is not None
    assert made.diverged
    assert held(statements, "v1:2") == held(telling("bad"), "v1:2")


def test_where_traffic_is_to_go_says_nothing_for_or_against_a_version() -> None:
    """Neither while it is wanted nor once traffic has come there, and it is not forgotten with what was bad."""
    wanted = with_statement(telling("bad"), replace(WANTED, digest="v1:2"))
    assert (held(wanted, "v1:2"), objection(wanted, "v1:2")) == (held(telling("bad"), "v1:2"),) * 2
    assert (holds(without(wanted, "v1:2")), bool(override(without(wanted, "v1:2")))) == ((), True)
    for number in range(MOST_ANSWERED_REFUSALS + 1):
        for word in ("bad", "passed over"):
            wanted = with_statement(wanted, statement(word, digest=f"v1:{number}"))
    assert override(wanted) is not None


def test_an_answer_that_the_ledger_has_without_its_refusal_says_nothing() -> None:
    assert preceded((), (statement("cleared"), statement("named"))) == ()

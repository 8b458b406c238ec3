"""Approvals count for a digest: by people, not by authors or bots, their last word, on what they had seen."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_bg.forge.offer import approvals_of
from gitops_bg.forge.port import Review, ReviewVerdict, User

NOW = datetime(2026, 11, 22, 20, tzinfo=UTC)
ANA, BEN, AGENT, ROBOT = User("3", "ana"), User("4", "ben"), User("2", "agent"), User("9", "renovate", bot=True)
OFFER, OTHER = "v1:3f9c", "v1:77aa"
AT = {"c1": OFFER, "c2": OTHER, "c3": OFFER}
"""What each head offered: c3 is the content of c1 once more, on a newer main."""


def review(
    user: User = ANA,
    verdict: ReviewVerdict = ReviewVerdict.APPROVED,
    minute: int = 0,
    commit: str = "c1",
    stale: bool = False,
):
    return Review(user, verdict, NOW + timedelta(minutes=minute), commit, stale)


def who(*reviews: Review, digest: str = OFFER) -> list[str]:
    return [each.user.login for each in approvals_of(reviews, digest, AT, {AGENT.id}).counted]


@pytest.mark.parametrize(
    ("reviews", "counted"),
    [
        ([], []),
        ([review()], ["ana"]),
        ([review(minute=1), review(BEN)], ["ben", "ana"]),
        ([review(stale=True)], ["ana"]),
        ([review(commit="c3")], ["ana"]),
        ([review(commit="c2")], []),
        ([review(commit="gone")], []),
        ([review(commit="")], []),
        ([review(ROBOT)], []),
        ([review(AGENT)], []),
        ([review(User("", "ghost"))], []),
        ([review(), review(verdict=ReviewVerdict.CHANGES_REQUESTED, minute=1)], []),
        ([review(verdict=ReviewVerdict.CHANGES_REQUESTED), review(minute=1)], ["ana"]),
        ([review(), review(verdict=ReviewVerdict.WITHDRAWN, minute=1)], []),
        ([review(minute=1), review(verdict=ReviewVerdict.CHANGES_REQUESTED)], ["ana"]),
        ([review(), review(minute=1, commit="c2")], []),
        ([review(commit="c2"), review(minute=1)], ["ana"]),
        ([review(), review(User("3", "ana-renamed"), minute=1)], ["ana-renamed"]),
        ([review(), review(User("7", "ana"), minute=1, commit="c2")], ["ana"]),
    ],
)
def test_who_counts(reviews: list[Review], counted: list[str]):
    assert who(*reviews) == counted


@pytest.mark.parametrize(
    ("given_review", "why"),
    [
        (review(ROBOT), "renovate is a bot"),
        (review(AGENT), "agent is an author"),
        (review(verdict=ReviewVerdict.WITHDRAWN), "approval of ana was withdrawn"),
        (review(verdict=ReviewVerdict.CHANGES_REQUESTED), "ana asks for changes"),
        (review(commit="c2"), "other content"),
        (review(commit="0123456789abcdef"), "nobody can tell what ana approved: commit 0123456789 is gone"),
    ],
)
def test_what_does_not_count_says_why(given_review: Review, why: str):
    judged = approvals_of([given_review], OFFER, AT, {AGENT.id})
    assert judged.counted == ()
    assert [why in each.why for each in judged.void] == [True]


REVIEWS = st.lists(
    st.builds(
        review,
        st.sampled_from([ANA, BEN, AGENT, ROBOT]),
        st.sampled_from(list(ReviewVerdict)),
        st.integers(0, 5),
        st.sampled_from(["c1", "c2", "c3", "gone"]),
        st.booleans(),
    )
)


@given(REVIEWS)
def test_each_person_is_judged_once_and_an_approval_is_of_one_digest_only(reviews: list[Review]):
    of_offer, of_other = (approvals_of(reviews, digest, AT, {AGENT.id}) for digest in (OFFER, OTHER))
    people = {each.user.id for each in reviews}
    for judged in (of_offer, of_other):
        assert sorted(each.user.id for each in (*judged.counted, *judged.void)) == sorted(people)  # type: ignore[attr-defined]
        assert not {each.user.id for each in judged.counted} & {AGENT.id, ROBOT.id}
    assert not {each.user.id for each in of_offer.counted} & {each.user.id for each in of_other.counted}


@given(REVIEWS)
def test_what_the_forge_calls_stale_changes_nothing(reviews: list[Review]):
    fresh = [replace(each, stale=False) for each in reviews]
    assert approvals_of(reviews, OFFER, AT, ()) == approvals_of(fresh, OFFER, AT, ())

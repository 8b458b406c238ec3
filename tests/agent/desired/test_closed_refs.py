"""Branches that a remote refuses: each waits for itself, ever longer, and says what the remote said."""

from datetime import UTC, datetime, timedelta

from gitops_bg.agent.desired.batching import SHOWN_AFTER, ClosedRefs
from gitops_bg.core.backoff import Backoff
from gitops_bg.repo.git.errors import PushRefused, RemoteTimedOut

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
A, B = "gitops-bg/promote/shop/a", "gitops-bg/promote/shop/b"
REFUSED = PushRefused("the remote refuses the push to a, b: no", {A: "rule 7", B: "rule 8"})
LATE = RemoteTimedOut("git push: no answer within 60 s")


class Time:
    now = NOW

    def __call__(self) -> datetime:
        return self.now


def closed(time: Time) -> ClosedRefs:
    return ClosedRefs(Backoff(lambda: 1.0, first=2.0, longest=300.0), time)


def test_each_branch_waits_twice_as_long_as_the_last_time_and_no_other_with_it() -> None:
    time = Time()
    refs = closed(time)
    waits = []
    for _ in range(10):
        refs.failed({A: REFUSED})
        opens = refs.opens_at(A)
        assert opens
        waits.append((opens - time.now).total_seconds())
        time.now = opens
        assert refs.opens_at(A) is None
    assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert refs.opens_at(B) is None


def test_what_failed_together_is_tried_again_together() -> None:
    refs = closed(Time())
    refs.failed({A: REFUSED})
    refs.failed({A: REFUSED, B: REFUSED})
    assert refs.opens_at(A) == refs.opens_at(B) == NOW + timedelta(seconds=4)


def test_a_refusal_is_news_once_in_the_words_about_this_branch() -> None:
    refs = closed(Time())
    assert refs.failed({A: REFUSED, B: REFUSED})
    assert not refs.failed({A: REFUSED})
    assert refs.why(A) == f"the remote refuses {A}: rule 7"
    assert refs.why(B) == f"the remote refuses {B}: rule 8"
    assert refs.counts(lambda name: name[-1]) == {"a": 1, "b": 1}
    assert refs.mark_written([A])
    assert not refs.mark_written([A])
    assert (refs.why(A), refs.opens_at(A)) == ("", None)


def test_what_may_pass_by_itself_is_said_when_it_does_not() -> None:
    refs = closed(Time())
    news = [refs.failed({A: LATE}) for _ in range(SHOWN_AFTER + 1)]
    assert news == [False, False, True, False]
    assert refs.why(A) == str(LATE)


def test_all_are_tried_when_somebody_asks_and_the_next_wait_is_no_shorter_for_it() -> None:
    refs = closed(Time())
    refs.failed({A: REFUSED})
    refs.forgive()
    assert refs.opens_at(A) is None
    assert refs.why(A)
    refs.failed({A: REFUSED})
    assert refs.opens_at(A) == NOW + timedelta(seconds=4)

"""Who asked for a look at main is answered by the first look that began afterwards, and by no earlier one."""

from __future__ import annotations

from gitops_bg.agent.desired.lineage import LONGEST, RequestedPolls
from gitops_bg.core.model.decision import HandledPoll
from gitops_bg.core.model.journal import PollCount
from gitops_bg.core.model.version import AppKey

WEB = AppKey("shop", "web")
HEAD, OTHER = "a" * 40, "b" * 40


def asked(request: str, begun: int) -> RequestedPolls:
    made = RequestedPolls(lambda: PollCount("p", 0, begun), lambda wanted, head: wanted == head)
    assert made.add(WEB, request)
    return made


def test_a_look_that_began_before_the_request_is_no_answer_to_it() -> None:
    made = asked(f"now {HEAD}", begun=3)
    assert made.waits(WEB, PollCount("p", 3, 4))
    assert made.handled(WEB, HEAD, PollCount("p", 3, 4)) is None
    assert not made.waits(WEB, PollCount("p", 4, 4))
    assert made.handled(WEB, HEAD, PollCount("p", 4, 4)) == HandledPoll(f"now {HEAD}", HEAD, True)


def test_the_answer_says_whether_main_has_the_commit_where_one_was_named() -> None:
    assert asked(f"now {OTHER}", 0).handled(WEB, HEAD, PollCount("p", 1, 1)) == HandledPoll(f"now {OTHER}", HEAD, False)
    assert asked("now", 0).handled(WEB, HEAD, PollCount("p", 1, 1)) == HandledPoll("now", HEAD, None)


def test_nothing_is_answered_before_main_was_read_or_to_nobody() -> None:
    assert asked("now", 0).handled(WEB, "", PollCount("p", 1, 1)) is None
    assert asked("now", 0).handled(AppKey("shop", "cart"), HEAD, PollCount("p", 1, 1)) is None


def test_a_request_is_new_once_and_none_is_none() -> None:
    made = asked("now", 0)
    assert not made.add(WEB, "now")
    assert not made.add(WEB, "")
    assert made.add(WEB, "later")


def test_an_enormous_request_is_a_request_and_is_not_repeated_in_the_status() -> None:
    made = asked("x" * (LONGEST + 1), 0)
    assert made.handled(WEB, HEAD, PollCount("p", 1, 1)) is None

"""An agent whose writes another one keeps undoing repeats them at growing intervals, and soon without
effect on people.
"""

import itertools

from gitops_bg.agent.reconcile.contests import FIRST_POLLS, MOST_POLLS, RewriteReports
from gitops_bg.core.model.version import AppKey

APP = AppKey("shop", "web")
LOST = "e" * 40


def test_who_is_contradicted_at_once_every_time_says_it_at_longer_and_longer_intervals() -> None:
    reports, said = RewriteReports(), []
    for poll in range(1, 500):
        if reports.may_report(APP, LOST, poll):
            reports.reported(APP, LOST, poll)
            said.append(poll)
    pauses = [after - before for before, after in itertools.pairwise(said)]
    assert pauses == sorted(pauses)
    assert min(pauses) > FIRST_POLLS
    assert max(pauses) == MOST_POLLS + 1
    assert len(said) < 10


def test_what_stands_may_be_said_for_ever_and_what_was_never_contradicted_counts_from_the_loss() -> None:
    reports = RewriteReports()
    reports.reported(APP, LOST, 1)
    assert all(reports.may_report(APP, LOST, poll, shown=True) for poll in range(1, 500))
    assert reports.stood(APP, 3) == 3


def test_what_is_said_again_must_last_again_and_is_looked_at_when_it_may_be_said() -> None:
    reports = RewriteReports()
    reports.reported(APP, LOST, 1)
    assert not reports.may_report(APP, LOST, 2)
    again = 2 + FIRST_POLLS
    assert [poll for poll in range(2, 50) if list(reports.due(poll, 3))] == [again]
    assert reports.may_report(APP, LOST, again)
    reports.reported(APP, LOST, again)
    assert reports.stood(APP, again + 2) == 2
    assert list(reports.due(again + 3, 3)) == [APP]


def test_another_loss_is_another_word() -> None:
    reports = RewriteReports()
    reports.reported(APP, LOST, 1)
    assert not reports.may_report(APP, LOST, 2)
    assert reports.may_report(APP, "f" * 40, 2)
    reports.forget()
    assert reports.may_report(APP, LOST, 2)

"""When a batch is due: soon for one, later for many, and history never before it must be."""

from datetime import UTC, datetime, timedelta

from gitops_bg.agent.desired import batching as times
from gitops_bg.agent.desired.batching import CROWD, HISTORY, SOON, Gathering

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
A_BIT = timedelta(milliseconds=1)


def crowded() -> Gathering:
    gathering = Gathering()
    gathering.wrote(CROWD, NOW)
    return gathering


def test_nothing_is_due_where_nobody_wants_anything() -> None:
    assert not Gathering().is_due(NOW)
    assert Gathering().patience(NOW) is None


def test_what_is_urgent_is_due_soon_and_later_ones_do_not_put_it_off() -> None:
    gathering = Gathering()
    gathering.add(NOW, urgent=True, history=False)
    gathering.add(NOW + A_BIT, urgent=True, history=True)
    assert gathering.patience(NOW) == SOON.total_seconds()
    assert not gathering.is_due(NOW + SOON - A_BIT)
    assert gathering.is_due(NOW + SOON)


def test_history_alone_gathers_for_longer_and_goes_along_with_what_is_urgent() -> None:
    gathering = Gathering()
    gathering.add(NOW, urgent=False, history=True)
    assert not gathering.is_due(NOW + HISTORY - A_BIT)
    assert gathering.is_due(NOW + HISTORY)
    gathering.add(NOW, urgent=True, history=False)
    assert gathering.begin(NOW + SOON), "history is in the batch"
    assert gathering.patience(NOW + SOON) is None


def test_in_a_crowd_both_gather_for_longer_and_history_has_batches_of_its_own() -> None:
    gathering = crowded()
    gathering.add(NOW, urgent=True, history=True)
    assert not gathering.is_due(NOW + times.SOON_IN_A_CROWD - A_BIT)
    assert gathering.is_due(NOW + times.SOON_IN_A_CROWD)
    assert not gathering.begin(NOW + times.SOON_IN_A_CROWD), "history waits"
    assert not gathering.is_due(NOW + times.HISTORY_IN_A_CROWD - A_BIT)
    assert gathering.is_due(NOW + times.HISTORY_IN_A_CROWD)
    assert gathering.begin(NOW + times.HISTORY_IN_A_CROWD)


def test_a_crowd_of_long_ago_holds_up_nobody() -> None:
    gathering = crowded()
    gathering.add(NOW + times.LASTS, urgent=True, history=True)
    assert gathering.patience(NOW + times.LASTS) == SOON.total_seconds()
    assert gathering.begin(NOW + times.LASTS + SOON), "history is in the batch"


def test_after_a_small_batch_nobody_waits_for_others_any_more() -> None:
    gathering = crowded()
    gathering.wrote(CROWD - 1, NOW)
    gathering.add(NOW, urgent=True, history=True)
    assert gathering.is_due(NOW + SOON)
    assert gathering.begin(NOW + SOON)


def test_at_once_means_history_too() -> None:
    gathering = crowded()
    gathering.add(NOW, urgent=True, history=True)
    gathering.at_once(NOW)
    assert gathering.is_due(NOW)
    assert gathering.begin(NOW)


def test_a_later_moment_puts_nothing_off() -> None:
    gathering = Gathering()
    gathering.by(NOW)
    gathering.by(NOW + HISTORY)
    assert gathering.is_due(NOW)


def test_what_is_dropped_is_not_due() -> None:
    gathering = Gathering()
    gathering.at_once(NOW)
    gathering.drop()
    assert not gathering.is_due(NOW)

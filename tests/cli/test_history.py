"""`history`: where changes of promotion policies stand between the entries of an app's ledger."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.repo.ledger.ledger import Committed
from gitops_bg.repo.ledger.policy_log import PolicyChange
from gitops_bg.views.history import HistoryRow, with_policies
from tests.integration.repo.conftest import NOON


def entry(event: Event, at: datetime) -> HistoryRow:
    return HistoryRow(Committed("", "", LedgerEntry(1, at, event)))


DEPLOYED = NOON + timedelta(milliseconds=400)
PROMOTED = NOON + timedelta(seconds=9)
OF_THE_APP = [entry(Event.PROMOTED, PROMOTED), entry(Event.DEPLOYED, DEPLOYED)]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param(NOON - timedelta(seconds=1), ["promoted", "deployed"], id="older than the app's first entry"),
        pytest.param(
            NOON,
            ["promoted", "deployed", "policy-changed"],
            id="in the second of the first entry: Git tells no fractions, so it may be the later one",
        ),
        pytest.param(NOON + timedelta(seconds=5), ["promoted", "policy-changed", "deployed"], id="between two entries"),
        pytest.param(NOON + timedelta(minutes=1), ["policy-changed", "promoted", "deployed"], id="newer than all"),
    ],
)
def test_a_change_of_policies_stands_where_its_commit_was_made(changed: datetime, expected: list[str]) -> None:
    shown = with_policies(OF_THE_APP, [PolicyChange(at=changed, commit="a" * 40)])
    assert [row.event for row in shown] == expected

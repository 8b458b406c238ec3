"""Candidates that come up: which are ready since when, and which take too long."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.hooks import Hook, HookType
from gitops_bg.core.model.spec import Suspension
from tests.core.simulation import manual
from tests.core.worlds import NOW, SECOND, active, candidate, decided, pods, rising, world

UNREADY = (pods(1), pods(2, 3, 2))
SUSPENDED, ASLEEP = {"suspended": True}, replace(manual(), suspend=Suspension("incident"))
LONG_SINCE = NOW - 900 * SECOND
COMING = {
    "it waits from now on": (world(active(1), rising(2, waiting_since=None), sets=UNREADY), ("", None, NOW)),
    "it goes on waiting": (
        world(active(1), rising(2, waiting_since=NOW - SECOND), sets=UNREADY),
        ("", None, NOW - SECOND),
    ),
    "it is late": (
        world(active(1), rising(2, waiting_since=NOW - 600 * SECOND), sets=UNREADY),
        ("ProgressDeadlineExceeded", None, NOW - 600 * SECOND),
    ),
    "it is late, and the app sleeps: nobody fails": (
        world(active(1), rising(2, waiting_since=LONG_SINCE), sets=UNREADY, record=SUSPENDED, spec=ASLEEP),
        ("", None, LONG_SINCE),
    ),
    "it was late when a suspension ended: the deadline begins anew": (
        world(active(1), rising(2, waiting_since=LONG_SINCE), sets=UNREADY, record=SUSPENDED),
        ("", None, LONG_SINCE),
    ),
    "it is up": (world(active(1), rising(2)), ("", NOW, None)),
    "it is up after all": (world(active(1), rising(2, failure="late")), ("", NOW, None)),
    "it stays up": (world(active(1), candidate(2, available_since=NOW - SECOND)), ("", NOW - SECOND, None)),
    "it goes down again": (world(active(1), candidate(2), sets=UNREADY), ("", None, NOW)),
}


@pytest.mark.parametrize("name", COMING)
def test_candidate_where(name):
    state, expected = COMING[name]
    noted = decided(state).record.numbered(2)
    assert (noted.failure, noted.available_since, noted.waiting_since) == expected


def test_a_candidate_that_awaits_confirmation_has_no_progress_deadline_and_is_not_up():
    asked = manual(hooks=(Hook("ask", HookType.CONFIRM_ROLLOUT),))
    noted = decided(world(active(1), candidate(2), spec=asked, sets=UNREADY)).record.numbered(2)
    assert (noted.available_since, noted.waiting_since) == (None, None)


def test_a_candidate_that_is_gone_is_not_watched():
    gone = candidate(2, retiring=True)
    state = world(active(1), gone, wants=1, sets=UNREADY)
    after = decided(state).record.numbered(2)
    assert (after.failure, after.available_since, after.waiting_since) == ("", gone.available_since, None)

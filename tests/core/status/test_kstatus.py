"""Whether an app goes on by itself, so that it may keep its place before those that have not begun."""

from __future__ import annotations

import pytest

from gitops_bg.core.model.decision import goes_on_by_itself
from gitops_bg.core.world import World
from tests.core.simulation import automatic, manual
from tests.core.worlds import NOW, active, candidate, decided, pods, rising, world

TABLE: dict[str, tuple[World, bool]] = {
    "what Git asks for is live": (world(active(1)), False),
    "pods of a candidate come up": (
        world(active(1), rising(2, waiting_since=NOW), sets=(pods(1), pods(2, 3, 0))),
        True,
    ),
    "a candidate waits for a person": (world(active(1), candidate(2), spec=manual()), False),
    "a candidate waits until it may promote itself": (
        world(active(1), candidate(2, available_since=NOW), spec=automatic(auto_promotion_seconds=60)),
        False,
    ),
    "Git is about to promote a candidate": (world(active(1), candidate(2), spec=automatic()), True),
    "traffic is about to move": (world(active(1), candidate(2), names_=2, spec=manual()), True),
}


@pytest.mark.parametrize("name", TABLE)
def test_an_app_goes_on_by_itself_until_it_waits_for_people_or_time(name: str) -> None:
    state, expected = TABLE[name]
    decision = decided(state)
    assert goes_on_by_itself(decision.phase, decision.actions) is expected

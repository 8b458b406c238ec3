"""A switch that is not wanted any more: it is withdrawn, and over once no write of it can come through."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.actions import MarkService, SwitchTraffic
from gitops_bg.core.model.record import Event, Switch, SwitchKind
from gitops_bg.core.world import World
from tests.core.worlds import NOW, active, candidate, decided, digest, rising, service, world

ON_ITS_WAY = Switch(digest(1), digest(2), SwitchKind.PROMOTION, NOW)


def test_a_switch_that_is_not_wanted_any_more_is_withdrawn_and_the_services_say_so() -> None:
    """Who stands still between the record and the Service is refused when it goes on: the Service is another one."""
    state = decided(world(active(1), candidate(2), names_=1, record={"switch": ON_ITS_WAY}))
    assert (state.record.routing.switch, state.record.withdrawn) == (replace(ON_ITS_WAY, withdrawn=True), "5eed-1")
    assert [action for action in state.actions if isinstance(action, MarkService)] == [
        MarkService("web", service("web", 1).selector, "5eed-1")
    ]
    assert not [action for action in state.actions if isinstance(action, SwitchTraffic)]


def marked(number: int = 1, **changes: object) -> dict[str, object]:
    return {"active_service": service("web", number, **changes)}


def withdrawn(number: int | None = 1, names_: int = 1, **changes: object) -> World:
    """The switch from 1 to 2 is withdrawn; the Service selects ``number``."""
    record = {"switch": replace(ON_ITS_WAY, withdrawn=True), "withdrawals": 1}
    seen = {"active_service": None} if number is None else marked(number, **changes)
    return world(active(1), candidate(2), names_=names_, record=record, observed=seen)


ENDS = {
    "it may still be on its way": (withdrawn(), ["5eed-1"], False),
    "one of an earlier mark": (withdrawn(withdrawn="5eed-0"), ["5eed-1"], False),
    "somebody changed the selector meanwhile": (withdrawn(0), ["5eed-1"], False),
    "it can only come too late": (withdrawn(withdrawn="5eed-1"), [], True),
    "the Service is somebody else's by now": (withdrawn(ours=False), [], True),
    "there is no Service": (withdrawn(None), [], True),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_withdrawn_switch_ends_once_no_write_of_it_can_come_through(name: str) -> None:
    state, marks, ends = ENDS[name]
    decision = decided(state)
    assert (decision.record.routing.switch is None) is ends
    assert [action.withdrawn for action in decision.actions if isinstance(action, MarkService)] == marks
    assert decision.record.routing.traffic == digest(1)


def test_a_withdrawn_switch_that_came_through_before_the_mark_is_a_movement_and_is_taken_back() -> None:
    """Nobody can stop a request that is on its way; but each movement of traffic has its entry and its reason."""
    decision = decided(withdrawn(2))
    assert [entry.event for entry in decision.record.ledger] == [Event.PROMOTED, Event.HELD]
    assert decision.record.routing.switch
    assert (decision.record.routing.switch.to_digest, decision.record.routing.switch.switch_kind) == (
        digest(1),
        SwitchKind.ROLLBACK,
    )


def test_another_switch_is_decided_once_the_withdrawn_one_is_over() -> None:
    assert decided(withdrawn(names_=2)).record.routing.switch == replace(ON_ITS_WAY, withdrawn=True)
    over = decided(withdrawn(names_=2, withdrawn="5eed-1"))
    assert over.record.routing.switch
    assert not over.record.routing.switch.withdrawn
    assert [action.digest for action in over.actions if isinstance(action, SwitchTraffic)] == [digest(2)]


MARKS = {
    "nothing was withdrawn": (world(active(1), record={"withdrawals": 0}), []),
    "nothing was withdrawn since the record began anew: an older mark stays": (
        world(active(1), observed=marked(withdrawn="dead-2")),
        [],
    ),
    "nothing serves, and no switch is on its way": (
        world(rising(1), live=0, record={"withdrawals": 2}, observed=marked(0)),
        [],
    ),
    "it does not say so yet": (world(active(1), record={"withdrawals": 2}), ["5eed-2"]),
    "it says so": (world(active(1), record={"withdrawals": 2}, observed=marked(withdrawn="5eed-2")), []),
    "it says so of an earlier one": (
        world(active(1), record={"withdrawals": 2}, observed=marked(withdrawn="5eed-1")),
        ["5eed-2"],
    ),
    "it says so in a former life of the record": (
        world(active(1), record={"withdrawals": 2}, observed=marked(withdrawn="dead-2")),
        ["5eed-2"],
    ),
    "another switch is decided, and changes it": (
        world(active(1), candidate(2), names_=2, record={"withdrawals": 2, "switch": ON_ITS_WAY}),
        [],
    ),
    "somebody changed its selector: that is repaired first": (
        world(active(1), record={"withdrawals": 2}, observed=marked(0)),
        [],
    ),
    "it is somebody else's": (world(active(1), record={"withdrawals": 2}, observed=marked(ours=False)), []),
    "there is none": (world(active(1), record={"withdrawals": 2}, observed={"active_service": None}), []),
}


@pytest.mark.parametrize("name", MARKS)
def test_mark_of_a_withdrawn_switch(name: str) -> None:
    state, marks = MARKS[name]
    assert [action.withdrawn for action in decided(state).actions if isinstance(action, MarkService)] == marks

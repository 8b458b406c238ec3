"""How long a confirmation counts: traffic never moves by a yes of before."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.hooks import Hook
from gitops_bg.core.model.observed import OperatorCommand
from tests.core.simulation import deployed, manual
from tests.core.transitions.test_hooks import CONFIRM_PROMOTION, PRE_ROLLOUT, called, hook, hooked, pushed, shut

CALENDAR, TICKETS = Hook("calendar", CONFIRM_PROMOTION), Hook("tickets", CONFIRM_PROMOTION)
RELEASE = Hook("release", CONFIRM_PROMOTION, manual=True)


# --- how long a yes counts ---


def test_traffic_does_not_move_by_a_final_yes_of_days_ago_while_it_is_asked_for_again():
    world = deployed(hooked(manual(), CALENDAR, TICKETS))
    world.push("2")
    world.settle()
    world.answer({"calendar": 200, "tickets": 200})
    world.settle()
    world.merge()
    world.settle()
    world.answer({"calendar": 200, "tickets": 409})
    world.settle()
    world.later(days=3)
    world.step()
    assert called(world) == ["calendar", "tickets"]
    world.answer({"tickets": 200})
    world.settle()
    assert world.live == "1"
    world.answer({"calendar": 200})
    world.settle()
    assert world.live == "2"


def test_promotion_is_not_committed_by_a_yes_of_before_a_suspension():
    world = pushed(CALENDAR, RELEASE)
    world.answer({"calendar": 200})
    world.settle()
    world.suspend()
    world.settle()
    world.later(days=3)
    world.resume()
    world.ask(OperatorCommand.OPEN_GATE, gate="release")
    world.settle()
    assert (world.primary, called(world)) == ("1", ["calendar"])
    world.answer({"calendar": 200})
    world.settle()
    assert world.primary == "2"


def test_confirmation_counts_for_ten_seconds_while_it_is_asked_for_again_and_then_says_why_not():
    world = pushed(CALENDAR, spec=manual())
    world.answer({"calendar": 200})
    reasons = []
    for seconds in (29, 10, 1):
        world.later(seconds=seconds)
        world.settle()
        reasons.append([reason for reason in shut(world) if "calendar" in reason])
    said = "confirm-promotion hook calendar: accepted (200); too old to count, asked again since 00:00:30Z"
    assert reasons == [[], [], [said]]


@pytest.mark.parametrize("gate", [RELEASE, hook(PRE_ROLLOUT)], ids=["of a person", "that is asked once only"])
def test_answer_that_nobody_asks_for_again_counts_however_old_it_is(gate):
    world = pushed(gate, spec=manual())
    world.ask(OperatorCommand.OPEN_GATE, gate="release")
    world.answer({"pre-rollout": 200})
    world.settle()
    world.later(days=3)
    world.settle()
    assert [reason for reason in shut(world) if gate.name in reason] == []


def test_confirmation_that_got_old_has_a_time_of_its_own_to_come_again():
    world = pushed(replace(CALENDAR, deadline=600), spec=manual())
    world.answer({"calendar": 200})
    world.later(days=3)
    world.settle()
    assert called(world) == ["calendar"], "the deadline is that of a backend that does not answer"

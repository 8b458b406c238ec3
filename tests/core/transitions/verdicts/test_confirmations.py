"""How long a confirmation counts, and what tells one question from the next: traffic never moves by a yes of before."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.hooks import Hook, HookCall, HookResponse
from gitops_bg.core.model.observed import OperatorCommand
from tests.core.simulation import Simulation, automatic, deployed, manual
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


# --- what tells one question from the next ---


class Replaying:
    """A backend that keeps to the key: a question that it knows gets the answer of then."""

    def __init__(self) -> None:
        self.says, self._answered = 200, dict[str, int]()

    def __call__(self, call: HookCall) -> int:
        return self._answered.setdefault(call.key, self.says)

    def ask(self, world: Simulation) -> None:
        calls = [call for call in world.decide().calls if call.hook == CALENDAR]
        world.answers = tuple(HookResponse(call.id, self(call), world.now) for call in calls)
        world.step()
        world.answers = ()
        world.settle()


def test_backend_that_keeps_to_the_key_is_asked_anew_when_traffic_would_move_anew():
    world, backend = deployed(hooked(manual(), CALENDAR, RELEASE)), Replaying()
    world.ask(OperatorCommand.OPEN_GATE, gate="release")
    world.settle()
    world.push("2")
    world.settle()
    backend.ask(world)
    world.ask(OperatorCommand.CLOSE_GATE, gate="release")
    world.step()
    world.merge()
    world.settle()
    backend.ask(world)
    assert world.live == "1", "the gate is shut"
    world.suspend()
    world.settle()
    world.later(days=3)
    backend.says = 409
    world.resume()
    world.ask(OperatorCommand.OPEN_GATE, gate="release")
    world.settle()
    backend.ask(world)
    assert world.live == "1", "moved by the answer to a former question"


def _keys(world: Simulation) -> list[str]:
    return [call.key for call in world.decide().calls]


@pytest.mark.parametrize("said", [{}, {"confirm-promotion": 409}], ids=["not answered", "answered"])
def test_final_question_that_was_dropped_and_is_asked_anew_has_another_key(said):
    world = pushed(hook(CONFIRM_PROMOTION), spec=automatic())
    world.answer({"confirm-promotion": 200})
    world.settle()
    (first,) = _keys(world)
    world.answer(said)
    world.pods_fail("2")
    world.step()
    world.step()
    assert _keys(world) == [], "nobody is asked while pods are missing"
    world.later(hours=5)
    world.settle()
    (again,) = _keys(world)
    assert again != first


def test_question_keeps_its_key_for_as_long_as_it_has_no_answer():
    world = pushed(hook(CONFIRM_PROMOTION))
    before, ids = _keys(world), [call.id for call in world.decide().calls]
    world.answer({"confirm-promotion": 0})
    world.later(seconds=30)
    world.step()
    assert _keys(world) == before
    assert [call.id for call in world.decide().calls] != ids, "each try has an id of its own"

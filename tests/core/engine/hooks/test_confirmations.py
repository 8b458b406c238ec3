"""How long a confirmation counts, and what tells one question from the next: traffic never moves by a yes of before."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.hooks import Hook, HookCall, HookResponse
from gitops_bg.core.model.observed import OperatorCommand
from tests.core.engine.hooks.notation import CONFIRM_PROMOTION, PRE_ROLLOUT, answer, called, hook, hooked, pushed, shut
from tests.core.simulation import Simulation, automatic, deployed, manual
from tests.core.stories import ask, coming, merge, push, suspend, wait

CALENDAR, TICKETS = Hook("calendar", CONFIRM_PROMOTION), Hook("tickets", CONFIRM_PROMOTION)
RELEASE = Hook("release", CONFIRM_PROMOTION, manual=True)


# --- how long a yes counts ---


def test_traffic_does_not_move_by_a_final_yes_of_days_ago_while_it_is_asked_for_again():
    sim = coming(hooked(manual(), CALENDAR, TICKETS))
    answer(sim, {"calendar": 200, "tickets": 200})
    merge(sim)
    answer(sim, {"calendar": 200, "tickets": 409})
    sim.later(days=3)
    sim.step()
    assert called(sim) == ["calendar", "tickets"]
    answer(sim, {"tickets": 200})
    assert sim.live == "1"
    answer(sim, {"calendar": 200})
    assert sim.live == "2"


def test_promotion_is_not_committed_by_a_yes_of_before_a_suspension():
    sim = pushed(CALENDAR, RELEASE)
    answer(sim, {"calendar": 200})
    suspend(sim)
    sim.later(days=3)
    sim.resume()
    ask(sim, OperatorCommand.OPEN_GATE, gate="release")
    assert (sim.primary, called(sim)) == ("1", ["calendar"])
    answer(sim, {"calendar": 200})
    assert sim.primary == "2"


def test_confirmation_counts_for_ten_seconds_while_it_is_asked_for_again_and_then_says_why_not():
    sim = pushed(CALENDAR, spec=manual())
    sim.answer({"calendar": 200})
    reasons = []
    for seconds in (29, 10, 1):
        wait(sim, seconds=seconds)
        reasons.append([reason for reason in shut(sim) if "calendar" in reason])
    said = "confirm-promotion hook calendar: accepted (200); too old to count, asked again since 00:00:30Z"
    assert reasons == [[], [], [said]]


@pytest.mark.parametrize("gate", [RELEASE, hook(PRE_ROLLOUT)], ids=["of a person", "that is asked once only"])
def test_answer_that_nobody_asks_for_again_counts_however_old_it_is(gate):
    sim = pushed(gate, spec=manual())
    sim.ask(OperatorCommand.OPEN_GATE, gate="release")
    answer(sim, {"pre-rollout": 200})
    wait(sim, days=3)
    assert [reason for reason in shut(sim) if gate.name in reason] == []


def test_confirmation_that_got_old_has_a_time_of_its_own_to_come_again():
    sim = pushed(replace(CALENDAR, deadline=600), spec=manual())
    sim.answer({"calendar": 200})
    wait(sim, days=3)
    assert called(sim) == ["calendar"], "the deadline is that of a backend that does not answer"


# --- what tells one question from the next ---


class Replaying:
    """A backend that keeps to the key: a question that it knows gets the answer of then."""

    def __init__(self) -> None:
        self.says, self._answered = 200, dict[str, int]()

    def __call__(self, call: HookCall) -> int:
        return self._answered.setdefault(call.key, self.says)

    def ask(self, sim: Simulation) -> None:
        calls = [call for call in sim.decide().calls if call.hook == CALENDAR]
        sim.answers = tuple(HookResponse(call.id, self(call), sim.now) for call in calls)
        sim.step()
        sim.answers = ()
        sim.settle()


def test_backend_that_keeps_to_the_key_is_asked_anew_when_traffic_would_move_anew():
    sim, backend = deployed(hooked(manual(), CALENDAR, RELEASE)), Replaying()
    ask(sim, OperatorCommand.OPEN_GATE, gate="release")
    push(sim, "2")
    backend.ask(sim)
    sim.ask(OperatorCommand.CLOSE_GATE, gate="release")
    sim.step()
    merge(sim)
    backend.ask(sim)
    assert sim.live == "1", "the gate is shut"
    suspend(sim)
    sim.later(days=3)
    backend.says = 409
    sim.resume()
    ask(sim, OperatorCommand.OPEN_GATE, gate="release")
    backend.ask(sim)
    assert sim.live == "1", "moved by the answer to a former question"


def _keys(sim: Simulation) -> list[str]:
    return [call.key for call in sim.decide().calls]


@pytest.mark.parametrize("said", [{}, {"confirm-promotion": 409}], ids=["not answered", "answered"])
def test_final_question_that_was_dropped_and_is_asked_anew_has_another_key(said):
    sim = pushed(hook(CONFIRM_PROMOTION), spec=automatic())
    answer(sim, {"confirm-promotion": 200})
    (first,) = _keys(sim)
    sim.answer(said)
    sim.pods_fail("2")
    sim.step()
    sim.step()
    assert _keys(sim) == [], "nobody is asked while pods are missing"
    wait(sim, hours=5)
    (again,) = _keys(sim)
    assert again != first


def test_question_keeps_its_key_for_as_long_as_it_has_no_answer():
    sim = pushed(hook(CONFIRM_PROMOTION))
    before, ids = _keys(sim), [call.id for call in sim.decide().calls]
    sim.answer({"confirm-promotion": 0})
    sim.later(seconds=30)
    sim.step()
    assert _keys(sim) == before
    assert [call.id for call in sim.decide().calls] != ids, "each try has an id of its own"

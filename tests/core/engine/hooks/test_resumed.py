"""A suspension makes nothing late: each wait with a deadline begins anew when it ends."""

import pytest

from gitops_bg.core.model.hooks import HookType
from gitops_bg.core.model.record import Event
from tests.core.engine.hooks.notation import CONFIRM_PROMOTION, PRE_ROLLOUT, answer, called, hook, pushed
from tests.core.simulation import Simulation, deployed, manual
from tests.core.stories import coming, push, resume, suspend, wait

DEADLINE = 600


def _asked(kind: HookType, status: int) -> Simulation:
    sim = pushed(hook(kind, deadline=DEADLINE))
    answer(sim, {kind.value: status})
    return sim


def _suspended(sim: Simulation, *, hours: int) -> None:
    suspend(sim)
    sim.later(hours=hours)
    resume(sim)


def _expired(sim: Simulation) -> int:
    return sim.events().count(Event.HOOK_EXPIRED)


ASKED = {"a gate that does not open": (CONFIRM_PROMOTION, 409), "a backend that was away before it": (PRE_ROLLOUT, 503)}


@pytest.mark.parametrize(("kind", "status"), ASKED.values(), ids=ASKED)
def test_the_deadline_of_a_hook_does_not_run_out_in_a_suspension(kind: HookType, status: int) -> None:
    sim = _asked(kind, status)
    _suspended(sim, hours=2)
    assert called(sim) == [kind.value]
    wait(sim, seconds=DEADLINE - 1)
    assert not _expired(sim)
    wait(sim, seconds=1)
    assert _expired(sim), "it runs out as long after it"


def test_a_hook_whose_deadline_was_over_before_a_suspension_is_not_asked_again() -> None:
    sim = _asked(CONFIRM_PROMOTION, 409)
    wait(sim, seconds=DEADLINE)
    assert (_expired(sim), sim.decide().wake_at) == (1, None)
    _suspended(sim, hours=2)
    assert called(sim) == []
    assert _expired(sim) == 1


def test_a_candidate_does_not_expire_in_a_suspension_but_as_long_after_it() -> None:
    sim = coming(manual(expire_after_seconds=DEADLINE))
    _suspended(sim, hours=2)
    wait(sim, seconds=DEADLINE - 1)
    assert not sim.held
    wait(sim, seconds=1)
    assert sim.held


def test_a_candidate_expires_in_its_time_where_an_older_suspension_ended_before() -> None:
    sim = deployed(manual(expire_after_seconds=DEADLINE))
    _suspended(sim, hours=2)
    sim.later(hours=1)
    push(sim, "2")
    wait(sim, seconds=DEADLINE)
    assert sim.held

"""A suspension makes nothing late: each wait with a deadline begins anew when it ends."""

import pytest

from gitops_bg.core.model.hooks import HookType
from gitops_bg.core.model.record import Event
from tests.core.simulation import Simulation, deployed, manual
from tests.core.transitions.test_hooks import CONFIRM_PROMOTION, PRE_ROLLOUT, called, hook, pushed

DEADLINE = 600


def _asked(kind: HookType, status: int) -> Simulation:
    world = pushed(hook(kind, deadline=DEADLINE))
    world.answer({kind.value: status})
    world.settle()
    return world


def _expiring() -> Simulation:
    world = deployed(manual(expire_after_seconds=DEADLINE))
    world.push("2")
    world.settle()
    return world


def _suspended(world: Simulation, *, hours: int) -> None:
    world.suspend()
    world.settle()
    world.later(hours=hours)
    world.resume()
    world.settle()


def _expired(world: Simulation) -> int:
    return world.events().count(Event.HOOK_EXPIRED)


ASKED = {
    "a gate that does not open": (CONFIRM_PROMOTION, 409),
    "a backend that was away before it": (PRE_ROLLOUT, 503),
}


@pytest.mark.parametrize(("kind", "status"), ASKED.values(), ids=ASKED)
def test_the_deadline_of_a_hook_does_not_run_out_in_a_suspension(kind: HookType, status: int) -> None:
    world = _asked(kind, status)
    _suspended(world, hours=2)
    assert called(world) == [kind.value]
    assert not _expired(world)
    world.later(seconds=DEADLINE - 1)
    world.settle()
    assert not _expired(world)
    world.later(seconds=1)
    world.settle()
    assert _expired(world), "it runs out as long after it"


def test_a_hook_whose_deadline_was_over_before_a_suspension_is_not_asked_again() -> None:
    world = _asked(CONFIRM_PROMOTION, 409)
    world.later(seconds=DEADLINE)
    world.settle()
    assert _expired(world) == 1
    _suspended(world, hours=2)
    assert called(world) == []
    assert _expired(world) == 1


def test_a_candidate_does_not_expire_in_a_suspension() -> None:
    world = _expiring()
    _suspended(world, hours=2)
    assert not world.held
    world.later(seconds=DEADLINE - 1)
    world.settle()
    assert not world.held
    world.later(seconds=1)
    world.settle()
    assert world.held, "it expires as long after it"


def test_a_candidate_expires_in_its_time_where_an_older_suspension_ended_before() -> None:
    world = deployed(manual(expire_after_seconds=DEADLINE))
    _suspended(world, hours=2)
    world.later(hours=1)
    world.push("2")
    world.settle()
    world.later(seconds=DEADLINE)
    world.settle()
    assert world.held

"""A fight over an object of a group: writes to it wait, nothing passes them that must not."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.groups.plan import actions_of, due_now, object_of
from gitops_bg.core.groups.record import ApplyGroup, ApplyRoute, DeleteRoute, DeleteService, FollowMember, GroupAction
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.auxiliary import HttpRoute
from gitops_bg.core.model.drift import AT_ONCE, FIRST_PAUSE, LIVE_PAUSE, DriftLoop
from tests.core.groups.notation import NOW
from tests.core.groups.simulation import STORE, store

ROUTE = ApplyRoute(HttpRoute("store", (), (), ()))
FOLLOW = FollowMember("cart", "cart-v1")
GONE = DeleteRoute("store-v0")
ACTIONS: tuple[GroupAction, ...] = (ApplyGroup(), ROUTE, FOLLOW, GONE, DeleteService("old"))


def repaired(kind: str, name: str, times: int = AT_ONCE) -> DriftLoop:
    return DriftLoop(kind, name, times, NOW)


def world(*contests: DriftLoop, later: timedelta = timedelta()) -> GroupWorld:
    """A group at rest of which these objects were repaired, the last time at NOW."""
    made = store()
    made.settle()
    now = made.decided()
    return replace(now, now=NOW + later, observed=replace(now.observed, contests=contests))


@pytest.mark.parametrize(
    ("contest", "carried_out"),
    [
        (repaired("HTTPRoute", "store", AT_ONCE - 1), ACTIONS),
        (repaired("HTTPRoute", "another"), ACTIONS),
        (repaired("Service", "store"), ACTIONS),
        (repaired("HTTPRoute", "store"), (ApplyGroup(),)),
        (repaired("Service", "cart"), (ApplyGroup(), ROUTE)),
        (repaired("HTTPRoute", "store-v0"), (ApplyGroup(), ROUTE, FOLLOW)),
        (repaired("ReleaseGroup", "store"), ACTIONS[1:]),
    ],
)
def test_nothing_passes_a_write_that_waits_but_for_the_group_itself_that_no_traffic_depends_on(
    contest: DriftLoop, carried_out: tuple[GroupAction, ...]
) -> None:
    assert due_now(world(contest), ACTIONS) == carried_out
    assert due_now(world(contest, later=LIVE_PAUSE), ACTIONS[1:]) == ACTIONS[1:], "a second at most"
    assert due_now(world(contest, later=FIRST_PAUSE), ACTIONS) == ACTIONS


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_writes_one_object(action: GroupAction) -> None:
    kind, name = object_of(STORE, action)
    assert kind in ("ReleaseGroup", "HTTPRoute", "Service")
    assert kind == "ReleaseGroup" or name in str(action)


def test_a_group_is_looked_at_again_when_a_repair_waits_no_longer() -> None:
    made = store()
    made.settle()
    now = made.decided()
    made.contests = (repaired("HTTPRoute", "store", AT_ONCE),)
    made.now = NOW
    made.routes["store"] = ROUTE.route
    decision = made.decide()
    assert (decision.actions, decision.wake_at) == ((), NOW + LIVE_PAUSE)
    assert actions_of(replace(now, observed=made.observed())), "there is something to repair"
    assert made.after(LIVE_PAUSE.total_seconds()).decide().actions

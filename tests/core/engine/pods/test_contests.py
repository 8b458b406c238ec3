"""A repair of what is changed again and again waits; nothing else waits with it, and live traffic not for long."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_bg.core.model.auxiliary import AppRoute, AuxiliaryObject
from gitops_bg.core.model.drift import DriftLoop
from gitops_bg.core.model.observed import AuxiliaryView
from gitops_bg.core.model.version import short
from gitops_bg.core.names import replica_set_name
from gitops_bg.core.world import World
from tests.core.engine.pods.test_configuration_copies import ACTIVE as SERVES
from tests.core.engine.pods.test_configuration_copies import ONE, TWO, copy, target, using
from tests.core.engine.pods.test_configuration_copies import named as copied
from tests.core.engine.pods.test_configuration_copies import state as using_copies
from tests.core.simulation import APP
from tests.core.worlds import NOW, SECOND, active, candidate, decided, digest, legacy, pods, sentences, service, world


def contest(kind: str, name: str, seconds: float = 0, count: int = 9) -> DriftLoop:
    """Repaired so long ago, and so often before."""
    return DriftLoop(kind, name, count, NOW - seconds * SECOND)


def named(number: int) -> str:
    return replica_set_name(APP, number, digest(number))


def fought(state: World, *contests: DriftLoop) -> World:
    return replace(state, observed=replace(state.observed, contests=contests))


LIVE_MOVED = world(active(1), candidate(2), observed={"active_service": service("web", 2)})
LIVE_DRIFTED = world(active(1), observed={"active_service": service("web", 1, drifted=True)})
PREVIEW_MOVED = world(active(1), candidate(2), record={"preview": digest(2)})
PROMOTED = world(active(1), candidate(2), names_=2)
WITHDRAWN = world(active(1), record={"withdrawals": 1})
LIVE_GONE = world(active(1), observed={"active_service": None})
LIVE_SET = world(active(1), sets=(pods(1, drifted=True),))
LIVE_SMALL = world(active(1), sets=(pods(1, 1),))
WARM_SET = world(legacy(1), active(2), sets=(pods(1, drifted=True), pods(2)))
WARM_GONE = world(legacy(1), active(2), sets=(pods(2),))
WARM_BIG = world(legacy(1), active(2), sets=(pods(1, 9), pods(2)))

BUDGET = AuxiliaryObject("PodDisruptionBudget", "web")
BUDGETS = [
    world(
        active(1),
        desired={"auxiliary_objects": (BUDGET,)},
        observed={"auxiliary_objects": live},
        record={"auxiliary_objects": (BUDGET,)},
    )
    for live in ((AuxiliaryView(BUDGET, drifted=True),), ())
]

ROUTE = AuxiliaryObject("HTTPRoute", "web")
ROUTED = world(
    active(1),
    desired={"auxiliary_objects": (ROUTE,), "route": AppRoute(ROUTE, 80)},
    observed={
        "auxiliary_objects": (AuxiliaryView(ROUTE, names_version=short(digest(1)), drifted=True),),
        "active_service": service("web", 1, ports='[{"port":80}]'),
        "preview_service": service("web-preview", 1, ports='[{"port":80}]'),
    },
    record={"auxiliary_objects": (ROUTE,)},
)
WARM_COPY = using_copies(
    using(legacy(1), TWO),
    using(active(2), ONE),
    copies=(copy(ONE), copy(TWO, drifted=True)),
    desired={"target": target(1, TWO)},
)

COPY_DRIFTED, COPY_GONE = (using_copies(SERVES, copies=each) for each in ((copy(ONE, drifted=True),), ()))

GOES_BACK = world(legacy(1), active(2), names_=1, sets=(pods(1, 0), pods(2)))
ROWS: dict[str, tuple[World, DriftLoop, str, float, float]] = {
    # the world, the object fought over, the words of the repair; seconds after the last one: it waits, it is made
    "a warm ReplicaSet, once traffic goes back to it: a second, not two minutes": (
        GOES_BACK, contest("ReplicaSet", named(1)), "from 0 to 3", 0.9, 1),
    "the live selector waits a second": (
        LIVE_MOVED, contest("Service", "web"), "lead the active Service", 0.9, 1),
    "other fields of the live Service as well": (
        LIVE_DRIFTED, contest("Service", "web"), "apply the active Service", 0.9, 1),
    "a live Service that is deleted": (
        LIVE_GONE, contest("Service", "web"), "apply the active Service", 0.9, 1),
    "a live Service that live traffic is to move with": (
        PROMOTED, contest("Service", "web"), "switch live traffic", 0.9, 1),
    "one that is to say that a switch was withdrawn": (
        WITHDRAWN, contest("Service", "web"), "mark Service web", 0.9, 1),
    "the preview waits two minutes": (
        PREVIEW_MOVED, contest("Service", "web-preview"), "point the preview Service", 119, 120),
    "the ReplicaSet that serves": (
        LIVE_SET, contest("ReplicaSet", named(1)), "repair the blue ReplicaSet", 0.9, 1),
    "its size": (LIVE_SMALL, contest("ReplicaSet", named(1)), "from 1 to 3", 0.9, 1),
    "the copy of a ConfigMap that what serves uses": (
        COPY_DRIFTED, contest("ConfigMap", copied(ONE)), "repair settings-", 0.9, 1),
    "such a copy that is deleted": (
        COPY_GONE, contest("ConfigMap", copied(ONE)), "make settings-", 0.9, 1),
    "the route in front of the Services": (
        ROUTED, contest("HTTPRoute", "web"), f"apply {ROUTE}", 0.9, 1),
    "the copy that a warm version uses": (
        WARM_COPY, contest("ConfigMap", copied(TWO)), "repair settings-", 119, 120),
    "a budget": (
        BUDGETS[0], contest("PodDisruptionBudget", "web"), f"apply {BUDGET}", 119, 120),
    "a budget that is deleted": (
        BUDGETS[1], contest("PodDisruptionBudget", "web"), f"apply {BUDGET}", 119, 120),
    "a warm ReplicaSet": (
        WARM_SET, contest("ReplicaSet", named(1)), "repair the blue ReplicaSet", 119, 120),
    "a warm ReplicaSet that is deleted": (
        WARM_GONE, contest("ReplicaSet", named(1)), "create the blue ReplicaSet", 119, 120),
    "its size, when it is too big": (WARM_BIG, contest("ReplicaSet", named(1)), "from 9 to", 119, 120),
}  # fmt: skip


@pytest.mark.parametrize(("state", "what", "said", "waits", "due"), ROWS.values(), ids=ROWS)
def test_the_repair_waits_for_its_pause_and_the_engine_looks_again_then(
    state: World, what: DriftLoop, said: str, waits: float, due: float
) -> None:
    def at(seconds: float) -> World:
        return fought(state, replace(what, last=NOW - seconds * SECOND))

    assert any(said in each for each in sentences(state)), sentences(state)
    assert not any(said in each for each in sentences(at(waits)))
    assert decided(at(waits)).wake_at == NOW + (due - waits) * SECOND
    assert any(said in each for each in sentences(at(due)))


APART: dict[str, tuple[World, DriftLoop, str]] = {
    "another object": (LIVE_MOVED, contest("Service", "web-preview"), "lead the active Service"),
    "an object of another kind": (LIVE_MOVED, contest("ConfigMap", "web"), "lead the active"),
    "three repairs before": (LIVE_MOVED, contest("Service", "web", 0, 3), "lead the active Service"),
}  # fmt: skip


@pytest.mark.parametrize(("state", "what", "said"), APART.values(), ids=APART)
def test_nothing_else_waits(state: World, what: DriftLoop, said: str) -> None:
    assert any(said in each for each in sentences(fought(state, what)))


def test_a_repair_that_is_still_to_come_holds_up_none_because_the_clock_was_set_back() -> None:
    waits, was_later = (contest("Service", "web", seconds) for seconds in (0.5, -3600))
    led = [
        any("lead the active Service" in each for each in sentences(fought(LIVE_MOVED, one)))
        for one in (waits, was_later)
    ]
    assert led == [False, True]

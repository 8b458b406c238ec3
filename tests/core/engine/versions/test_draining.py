"""The old version keeps its pods until the endpoints have followed the Service, and `drainSeconds` longer."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.version import Stage
from tests.core.simulation import deployed, manual
from tests.core.worlds import EARLIER, NOW, SECOND, active, candidate, decided, digest, legacy, pods, service, world

AT = NOW - 10 * SECOND
LEFT = {"left_at": AT, "scale_down_at": AT}
NEW = {"activated_at": AT}

ARRIVED = {
    "exactly the new pods": (world(active(2)), True),
    "the old ones, too": (
        world(active(2), observed={"active_service": service("web", 2, other_endpoints=True)}),
        False,
    ),
    "not all of the new ones": (
        world(active(2), observed={"active_service": service("web", 2, ready_endpoints=2)}),
        False,
    ),
    "those of another selector": (world(active(2), observed={"active_service": service("web", 0)}), False),
    "no Service": (world(active(2), observed={"active_service": None}), False),
    "none of an app at 0": (
        world(active(2), sets=(pods(2, 0),), observed={"active_service": service("web", 2, ready_endpoints=0)}),
        True,
    ),
}


@pytest.mark.parametrize("name", ARRIVED)
def test_traffic_has_arrived_where_the_endpoints_are(name):
    state, arrived = ARRIVED[name]
    assert (decided(state).record.numbered(2).routed_at == NOW) is arrived


def test_time_of_the_arrival_is_kept():
    state = world(active(2, routed_at=EARLIER))
    assert decided(state).record.numbered(2).routed_at == EARLIER


LATE = {"active_service": service("web", 2, other_endpoints=True)}
DRAINS = manual(drain_seconds=20)
KEPT = {
    "until the endpoints have followed": (world(legacy(1, **LEFT), active(2, **NEW), observed=LATE), True),
    "not after they have": (world(legacy(1, **LEFT), active(2, **NEW, routed_at=NOW)), False),
    "drainSeconds longer": (world(legacy(1, **LEFT), active(2, **NEW, routed_at=NOW - 19 * SECOND), spec=DRAINS), True),
    "no longer than that": (
        world(legacy(1, **LEFT), active(2, **NEW, routed_at=NOW - 20 * SECOND), spec=DRAINS),
        False,
    ),
    "also beyond scaleDownDelayRevisionLimit": (
        world(legacy(1, **LEFT), active(2, **NEW), spec=manual(scale_down_delay_revision_limit=0), observed=LATE),
        True,
    ),
    "at most progressDeadlineSeconds": (
        world(legacy(1, **LEFT), active(2, **NEW), spec=replace(manual(), progress_deadline_seconds=10), observed=LATE),
        False,
    ),
    "not one that traffic left before": (
        world(legacy(1, left_at=EARLIER, scale_down_at=AT), active(2, **NEW), observed=LATE),
        False,
    ),
    "not one that never served": (
        world(candidate(1, retiring=True, scale_down_at=AT), active(2, **NEW), observed=LATE),
        False,
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_old_version_is_kept(name):
    state, kept = KEPT[name]
    assert (decided(state).record.numbered(1).stage is not Stage.ARCHIVED) is kept


def test_wakes_up_when_the_old_version_is_drained():
    state = world(legacy(1, **LEFT), active(2, **NEW, routed_at=NOW), spec=DRAINS)
    assert decided(state).wake_at == NOW + 20 * SECOND


def test_no_delay_at_all_still_drains():
    app = deployed(manual(scale_down_delay_seconds=0, drain_seconds=20))
    app.push("2")
    app.settle()
    app.merge()
    app.settle()
    assert (app.live, app.pods[digest(1)].replicas) == ("2", 3)
    app.later(seconds=20)
    app.settle()
    assert app.pods[digest(1)].replicas == 0

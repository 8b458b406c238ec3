"""Records of older releases: their fields on versions, and what followed from version numbers, become an order and
holds.
"""

from dataclasses import replace

import pytest

from gitops_bg.core.model.record import Cause, Hold, Lift
from gitops_bg.core.transitions.record.upgrade import upgraded
from gitops_bg.core.world import World
from tests.core.worlds import EARLIER, NOW, SECOND, active, archived, candidate, digest, legacy, world

OLD = {"activations": (), "moves": 0}


def older(*versions, **record) -> World:
    return world(*versions, record={**OLD, **record})


def test_record_of_this_release_is_left_as_it_is():
    state = world(active(1), candidate(2))
    assert upgraded(state) is state


def test_app_that_never_served_has_nothing_to_upgrade():
    state = older(candidate(1), traffic="", preview="")
    assert upgraded(state) is state


def test_versions_came_forward_in_the_order_of_their_numbers_after_those_that_are_forgotten():
    state = older(legacy(1), active(2), candidate(3), past_digests=(digest(9), digest(1)))
    routing = upgraded(state).record.routing
    assert (routing.activations, routing.past_digests) == ((digest(9), digest(1), digest(2)), ())


def test_what_served_and_is_forgotten_is_remembered_where_nothing_else_served():
    state = older(candidate(1), traffic="", preview="", past_digests=(digest(9),))
    assert upgraded(state).record.routing.activations == (digest(9),)


def test_versions_arrived_in_the_order_in_which_traffic_left_them_the_live_one_last():
    gone = archived(3, left_at=EARLIER), legacy(2, left_at=EARLIER + 60 * SECOND)
    record = upgraded(older(active(1), *reversed(gone))).record
    assert {one.number: one.arrived for one in record.versions} == {3: 1, 2: 2, 1: 3}
    assert record.routing.moves == 3


def test_version_that_traffic_never_left_arrived_when_it_was_activated():
    served = archived(2, left_at=None, activated_at=EARLIER), legacy(1, left_at=NOW)
    record = upgraded(older(*reversed(served), active(3))).record
    assert {one.number: one.arrived for one in record.versions} == {2: 1, 1: 2, 3: 3}


def test_candidate_has_not_arrived_and_movements_are_not_forgotten():
    record = upgraded(older(active(1), candidate(2), moves=7)).record
    assert (record.numbered(2).arrived, record.routing.moves) == (0, 7)


BAD = {"rolled_back": True}
FACTS = {
    "no hold: one that was passed over": ((), (), ((Cause.ROLLED_BACK, Lift.PASSED_OVER),)),
    "a hold without a cause": ((Hold(digest(2), "bad", NOW),), (Cause.ROLLED_BACK,), ()),
    "a hold with another cause": ((Hold(digest(2), "bad", NOW, Cause.ABORTED),), (Cause.ABORTED,), ()),
}


@pytest.mark.parametrize("name", FACTS)
def test_version_that_was_rolled_back_has(name):
    holds, causes, lifted = FACTS[name]
    record = upgraded(older(active(1), legacy(2, **BAD), holds=holds)).record
    assert tuple(hold.cause for hold in record.holds) == causes
    assert tuple((hold.cause, hold.lifted) for hold in record.past_holds) == lifted
    assert not record.numbered(2).rolled_back


def test_hold_of_a_version_that_was_not_rolled_back_keeps_its_cause():
    record = upgraded(older(active(1), legacy(2), holds=(Hold(digest(2), "late", NOW),))).record
    assert [hold.cause for hold in record.holds] == [Cause.UNKNOWN]


@pytest.mark.parametrize(
    ("left_at", "since"), [(NOW, NOW), (None, EARLIER)], ids=["when traffic left it", "when its rollout began"]
)
def test_hold_that_was_passed_over_is_as_old_as(left_at, since):
    version = replace(legacy(2, **BAD), left_at=left_at)
    (hold,) = upgraded(older(active(1), version)).record.past_holds
    assert hold.since == since

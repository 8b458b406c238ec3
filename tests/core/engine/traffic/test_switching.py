"""Moving live traffic: what is decided, when it is true, and the holds that a rollback leaves."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.actions import SwitchTraffic
from gitops_bg.core.model.observed import GitView, PromotionBranch
from gitops_bg.core.model.record import Event, Switch, SwitchKind
from gitops_bg.core.model.statements import Cause, Hold, Override, Says
from gitops_bg.core.model.version import Retirement, Stage
from gitops_bg.core.world import World
from tests.core.worlds import (
    NOW,
    active,
    archived,
    candidate,
    decided,
    digest,
    legacy,
    pods,
    primary,
    service,
    source,
    world,
)

BACK = Override(digest(2), digest(1), "5xx", "ada", NOW)
KINDS = {
    "the first: nothing served yet": (world(candidate(1), names_=1), SwitchKind.FIRST),
    "forward: a candidate": (world(active(1), candidate(2), names_=2), SwitchKind.PROMOTION),
    "forward: a version that served and is newer": (world(active(1), legacy(2), names_=2), SwitchKind.PROMOTION),
    "forward: an older one that never served": (world(candidate(1), active(2), names_=1), SwitchKind.PROMOTION),
    "back: an older one that served": (world(legacy(1), active(2), names_=1), SwitchKind.ROLLBACK),
    "back: whatever an override asks for": (
        world(active(1), legacy(2), record={"override": replace(BACK, from_digest=digest(1), to_digest=digest(2))}),
        SwitchKind.ROLLBACK,
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_kind_of_switch(name):
    state, kind = KINDS[name]
    (move,) = (action for action in decided(state).actions if isinstance(action, SwitchTraffic))
    assert (move.switch_kind, move.digest) == (kind, state.incoming.digest)


CHANGED = primary(2).changed_by
WHY = {
    "of a commit: it, its author and its subject": (
        world(active(1), candidate(2), names_=2),
        Switch(
            digest(1), digest(2), SwitchKind.PROMOTION, NOW, CHANGED.commit, CHANGED.author, CHANGED.subject, pods=3
        ),
    ),
    "without Git: the person and the reason": (
        world(legacy(1), active(2), names_=2, record={"override": BACK}),
        Switch(digest(2), digest(1), SwitchKind.ROLLBACK, NOW, "", "ada", "5xx", pods=3),
    ),
}


@pytest.mark.parametrize("name", WHY)
def test_what_is_written_down_of_a_switch(name):
    state, switch = WHY[name]
    assert decided(state).record.routing.switch == switch


DECIDED = Switch(digest(1), digest(2), SwitchKind.PROMOTION, NOW.replace(hour=1))
OTHER = replace(DECIDED, to_digest=digest(3))
GONE = replace(DECIDED, withdrawn=True)
UP_AND_DOWN = (pods(1), pods(2, 3, 1))
KEPT = {
    "one that was decided already stays as it is": (DECIDED, {"names_": 2}, DECIDED),
    "one that is not wanted any more is withdrawn": (DECIDED, {"names_": 1}, GONE),
    "one whose gates have shut is withdrawn": (DECIDED, {"names_": 2, "sets": UP_AND_DOWN}, GONE),
    "one to another version is withdrawn first": (OTHER, {"names_": 2}, replace(OTHER, withdrawn=True)),
}


@pytest.mark.parametrize("name", KEPT)
def test_switch(name):
    before, more, after = KEPT[name]
    assert decided(world(active(1), candidate(2), record={"switch": before}, **more)).record.routing.switch == after


def test_a_rollback_holds_what_it_leaves_before_it_can_move_and_clears_the_deadline_of_where_it_goes():
    record = decided(world(legacy(1), active(2), names_=1, sets=(pods(1, 3, 0), pods(2)))).record
    assert [(hold.digest, hold.reason) for hold in record.holds] == [(digest(2), "promote 1")]
    assert record.numbered(1).retirement is None
    assert record.routing.switch is None
    (entry,) = record.ledger
    assert (entry.event, entry.by, entry.reason) == (Event.HELD, "Ada <ada@example.com>", "promote 1")


def test_a_rollback_commit_without_a_subject_is_named_by_its_id():
    silent = {"primary": primary(1, subject="")}
    record = decided(world(legacy(1), active(2), names_=1, desired=silent)).record
    assert record.holds[0].reason == "rolled back by 00000001aa"


FIRST = {
    "offered, where main refuses": (1, "protected", {}, True),
    "another one is offered": (2, "protected", {}, False),
    "nothing is offered yet": (0, "protected", {}, False),
    "main does not refuse": (1, "", {}, False),
    "the app left main": (1, "protected", {"in_git": False}, False),
    "main names it": (1, "protected", {"primary": primary(1)}, True),
}


@pytest.mark.parametrize("name", FIRST)
def test_the_first_version_serves_without_main_only_when_it_is(name):
    offered, refused, desired, serves = FIRST[name]
    branch = PromotionBranch(digest(offered), "") if offered else None
    git = GitView(promotion=branch, main_refused=refused)
    state = world(candidate(1), desired=desired, observed={"git": git})
    assert (decided(state).record.routing.switch is not None) is serves


# --- when it is true ---


def settling(**record: object) -> World:
    """The Service selects version 2, to which a switch is decided."""
    return world(
        active(1),
        candidate(2),
        names_=2,
        observed={"active_service": service("web", 2)},
        record={"switch": DECIDED, "traffic": digest(1), **record},
    )


NOT_TRUE = {
    "without a Service": replace(settling(), observed=replace(settling().observed, active_service=None)),
    "while the Service selects another": replace(
        settling(), observed=replace(settling().observed, active_service=service("web", 1))
    ),
    "while its selector is wiped": replace(
        settling(), observed=replace(settling().observed, active_service=service("web", 0))
    ),
    "where nobody knows its version": world(
        active(1),
        observed={"active_service": service("web", 9)},
        record={"switch": replace(DECIDED, to_digest=digest(9))},
    ),
    "where none is decided": settling(switch=None),
}


@pytest.mark.parametrize("name", NOT_TRUE)
def test_a_switch_is_not_true(name):
    record = decided(NOT_TRUE[name]).record
    assert (record.routing.traffic, record.ledger) == (digest(1), ())


def test_a_switch_that_came_true_moves_traffic_and_both_stages_and_says_so_once():
    record = decided(settling()).record
    old, new = record.numbered(1), record.numbered(2)
    assert (record.routing.traffic, record.routing.switch) == (digest(2), None)
    assert (new.stage, new.activated_at, new.left_at, new.arrived) == (Stage.ACTIVE, NOW, None, 1)
    assert (old.stage, old.left_at, old.retirement) == (Stage.LEGACY, NOW, Retirement(NOW))
    assert record.routing.activations == (digest(1), digest(2))
    assert record.objection(digest(1)) is None
    (entry,) = record.ledger
    assert (entry.event, entry.from_version, entry.to_version) == ("promoted", 1, 2)
    assert (entry.from_digest, entry.to_digest, entry.source_commit) == (digest(1), digest(2), source(2).commit)


SETTLES = {
    SwitchKind.FIRST: ("deployed", False),
    SwitchKind.PROMOTION: ("promoted", False),
    SwitchKind.ROLLBACK: ("rolled-back", True),
}


@pytest.mark.parametrize("kind", SETTLES)
def test_the_ledger_says_why_traffic_moved(kind):
    record = decided(settling(switch=replace(DECIDED, switch_kind=kind))).record
    event, bad = SETTLES[kind]
    assert (event in [entry.event for entry in record.ledger], record.held(digest(1)) is not None) == (True, bad)


def test_a_version_promoted_again_is_good_again():
    bad = Hold(digest(2), "5xx", NOW, Cause.ROLLED_BACK, Says.NAMED)
    again = settling(past_holds=(bad,))
    record = decided(again.with_version(replace(again.record.numbered(2), failure="late"))).record
    assert (record.objection(digest(2)), record.numbered(2).failure) == (None, "")


def test_a_switch_that_starts_and_ends_at_one_version_leaves_it_active():
    after = decided(settling(switch=replace(DECIDED, from_digest=digest(2)))).record.numbered(2)
    assert (after.stage, after.retiring) == (Stage.ACTIVE, False)


FORWARD_AGAIN = Switch(digest(2), digest(1), SwitchKind.PROMOTION, NOW)
BACK_AGAIN = replace(FORWARD_AGAIN, switch_kind=SwitchKind.ROLLBACK)
FIRST_OF_ALL = Switch("", digest(1), SwitchKind.FIRST, NOW)
CAME_FORWARD = {
    "the first": ((candidate(1),), FIRST_OF_ALL, (1,)),
    "one that is promoted again: it is the newest": ((legacy(1), active(2)), FORWARD_AGAIN, (2, 1)),
    "one that traffic goes back to: that changes nothing": ((legacy(1), active(2)), BACK_AGAIN, (1, 2)),
}


@pytest.mark.parametrize("name", CAME_FORWARD)
def test_in_which_order_versions_came_forward_after(name: str) -> None:
    versions, switch, order = CAME_FORWARD[name]
    state = world(*versions, observed={"active_service": service("web", 1)}, record={"switch": switch})
    assert decided(state).record.routing.activations == tuple(map(digest, order))


# --- where a rollback leads ---

BAD = Hold(digest(2), "5xx", NOW, Cause.ROLLED_BACK, Says.PASSED_OVER)
THREE = (archived(1), legacy(2), active(3))
LAST_GOOD = {
    "the one that served last": (world(*THREE), 2),
    "not the newest number": (world(legacy(1, arrived=3), archived(2, arrived=2), active(3, arrived=4)), 1),
    "none that is on hold": (world(*THREE, record={"holds": (Hold(digest(2), "", NOW),)}), 1),
    "none that was rolled back from": (world(*THREE, record={"past_holds": (BAD,)}), 1),
    "none that never served": (world(candidate(2), active(3), wants=2), None),
    "none whose snapshot is lost": (
        world(archived(1), legacy(2, snapshot=replace(legacy(2).snapshot, text="")), active(3), sets=(pods(3),)),
        1,
    ),
    "none where there is only one": (world(active(1)), None),
}


@pytest.mark.parametrize("name", LAST_GOOD)
def test_last_good_version_is(name):
    state, number = LAST_GOOD[name]
    assert (state.rollback_target.number if state.rollback_target else None) == number


# --- a switch that is withdrawn ---

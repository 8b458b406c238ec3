"""Moving live traffic: which lane, what is decided, when it is true, and the holds that a rollback leaves."""

from dataclasses import replace

import pytest

from gitops_bg.core.invariants import InvariantBroken, check, violations
from gitops_bg.core.model.actions import MarkService, ScaleReplicaSet, SwitchTraffic
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.observed import GitView, PromotionBranch
from gitops_bg.core.model.record import Cause, Event, Hold, Lift, Override, Switch, SwitchKind
from gitops_bg.core.model.version import Stage
from gitops_bg.core.plan.services import keep_active, keep_preview, mark_services, switch_traffic
from gitops_bg.core.transitions.traffic.switching import decide_switch, end_withdrawn, settle_switch
from gitops_bg.core.world import World
from tests.core.simulation import manual
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
    rising,
    service,
    source,
    world,
)

BACK = Override(digest(2), digest(1), "5xx", "ada", NOW)
LANES = {
    "first: nothing served yet": (world(rising(1), names_=1), SwitchKind.FIRST),
    "forward: a candidate": (world(active(1), candidate(2), names_=2), SwitchKind.PROMOTION),
    "forward: a version that served and is newer": (world(active(1), legacy(2), names_=2), SwitchKind.PROMOTION),
    "forward: an older one that never served": (world(candidate(1), active(2), names_=1), SwitchKind.PROMOTION),
    "back: an older one that served": (world(legacy(1), active(2), names_=1), SwitchKind.ROLLBACK),
    "back: whatever an override asks for": (
        world(active(1), legacy(2), record={"override": replace(BACK, to_digest=digest(2))}),
        SwitchKind.ROLLBACK,
    ),
}


@pytest.mark.parametrize("name", LANES)
def test_lane(name):
    state, switch_kind = LANES[name]
    assert state.switch_kind is switch_kind


def test_a_switch_is_decided_with_its_commit_person_and_reason():
    switch = decide_switch(world(active(1), candidate(2), names_=2)).record.routing.switch
    changed = primary(2).changed_by
    assert switch == Switch(
        digest(1), digest(2), SwitchKind.PROMOTION, NOW, changed.commit, changed.author, changed.subject, pods=3
    )


def test_a_rollback_without_git_is_decided_with_its_person_and_reason_and_no_commit():
    switch = decide_switch(world(legacy(1), active(2), names_=2, record={"override": BACK})).record.routing.switch
    assert switch == Switch(digest(2), digest(1), SwitchKind.ROLLBACK, NOW, "", "ada", "5xx", pods=3)


DECIDED = Switch(digest(1), digest(2), SwitchKind.PROMOTION, NOW.replace(hour=1))
OTHER = replace(DECIDED, to_digest=digest(3))
KEPT = {
    "one that was decided already stays as it is": (
        world(active(1), candidate(2), names_=2, record={"switch": DECIDED}),
        DECIDED,
    ),
    "one that is not wanted any more is withdrawn": (
        world(active(1), candidate(2), names_=1, record={"switch": DECIDED}),
        replace(DECIDED, withdrawn=True),
    ),
    "one whose gates have shut is withdrawn": (
        world(active(1), candidate(2), names_=2, sets=(pods(1), pods(2, 3, 1)), record={"switch": DECIDED}),
        replace(DECIDED, withdrawn=True),
    ),
    "one to another version is withdrawn first": (
        world(active(1), candidate(2), names_=2, record={"switch": OTHER}),
        replace(OTHER, withdrawn=True),
    ),
    "one that is withdrawn stays so, also where it is wanted again": (
        world(active(1), candidate(2), names_=2, record={"switch": replace(DECIDED, withdrawn=True)}),
        replace(DECIDED, withdrawn=True),
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_switch(name):
    state, expected = KEPT[name]
    switch = decide_switch(state).record.routing.switch
    assert switch
    assert (switch.to_digest, switch.decided_at, switch.withdrawn) == (
        expected.to_digest,
        expected.decided_at,
        expected.withdrawn,
    )


def test_a_rollback_holds_what_it_leaves_before_it_can_move_and_clears_the_deadline_of_where_it_goes():
    record = decide_switch(world(legacy(1), active(2), names_=1, sets=(pods(1, 3, 0), pods(2)))).record
    assert [(hold.digest, hold.reason) for hold in record.holds] == [(digest(2), "promote 1")]
    assert (record.numbered(1).retiring, record.numbered(1).scale_down_at) == (False, None)
    assert record.routing.switch is None


def test_a_rollback_commit_without_a_subject_is_named_by_its_id():
    silent = {"primary": primary(1, subject="")}
    record = decide_switch(world(legacy(1), active(2), names_=1, desired=silent)).record
    assert record.holds[0].reason == "rolled back by 00000001aa"


FIRST = {
    "offered, where main refuses": ("1", "protected", {}, True),
    "another one is offered": ("2", "protected", {}, False),
    "nothing is offered yet": ("", "protected", {}, False),
    "main does not refuse": ("1", "", {}, False),
    "the app left main": ("1", "protected", {"in_git": False}, False),
    "main names it": ("1", "protected", {"primary": primary(1)}, True),
}


@pytest.mark.parametrize("name", FIRST)
def test_the_first_version_serves_without_main_only_when_it_is(name):
    offered, refused, desired, serves = FIRST[name]
    branch = PromotionBranch(digest(int(offered)), "") if offered else None
    git = GitView(promotion=branch, main_refused=refused)
    state = world(candidate(1), desired=desired, observed={"git": git})
    assert (decide_switch(state).record.routing.switch is not None) is serves


# --- settling ---


def settling(**changes):
    return world(
        active(1),
        candidate(2),
        names_=2,
        observed={"active_service": service("web", 2)},
        record={"switch": DECIDED, "traffic": digest(1), **changes.pop("record", {})},
        **changes,
    )


UNSETTLED = {
    "without a Service": settling().observed.__class__(app_uid="5eed"),
    "while the Service selects another": replace(settling().observed, active_service=service("web", 1)),
    "while its selector is wiped": replace(settling().observed, active_service=service("web", 0)),
}


@pytest.mark.parametrize("name", UNSETTLED)
def test_a_switch_is_not_true(name):
    state = replace(settling(), observed=UNSETTLED[name])
    assert settle_switch(state) == state


def test_a_switch_to_a_version_nobody_knows_is_never_true():
    state = settling(record={"switch": replace(DECIDED, to_digest=digest(9))})
    state = replace(state, observed=replace(state.observed, active_service=service("web", 9)))
    assert settle_switch(state) == state


def test_nothing_is_settled_without_a_switch():
    state = settling(record={"switch": None})
    assert settle_switch(state) == state


def test_a_settled_switch_moves_traffic_and_both_stages_and_says_so_once():
    record = settle_switch(settling()).record
    old, new = record.numbered(1), record.numbered(2)
    assert (record.routing.traffic, record.routing.switch) == (digest(2), None)
    assert (new.stage, new.activated_at, new.left_at, new.arrived) == (Stage.ACTIVE, NOW, None, 1)
    assert (old.stage, old.left_at, old.retiring) == (Stage.LEGACY, NOW, True)
    assert (record.routing.activations, record.routing.moves) == ((digest(1), digest(2)), 1)
    assert record.objection(digest(1)) is None
    assert (old.scale_down_at - NOW).total_seconds() == 300
    (entry,) = record.ledger
    assert (entry.event, entry.from_version, entry.to_version) == ("promoted", 1, 2)
    assert (entry.from_digest, entry.to_digest, entry.source_commit) == (digest(1), digest(2), source(2).commit)


@pytest.mark.parametrize(
    ("switch_kind", "event", "bad"),
    [
        (SwitchKind.FIRST, "deployed", False),
        (SwitchKind.PROMOTION, "promoted", False),
        (SwitchKind.ROLLBACK, "rolled-back", True),
    ],
)
def test_the_ledger_says_why_traffic_moved(switch_kind, event, bad):
    record = settle_switch(settling(record={"switch": replace(DECIDED, switch_kind=switch_kind)})).record
    assert (record.ledger[-1].event, record.held(digest(1)) is not None) == (event, bad)


def test_a_version_promoted_again_is_good_again():
    again = settling()
    bad = Hold(digest(2), "5xx", NOW, Cause.ROLLED_BACK, Lift.NAMED)
    again = again.with_record(replace(again.record, past_holds=(bad,)))
    again = again.with_version(replace(again.record.numbered(2), failure="late"))
    record = settle_switch(again).record
    assert (record.objection(digest(2)), record.numbered(2).failure) == (None, "")


def test_a_switch_that_starts_and_ends_at_one_version_leaves_it_active():
    record = settle_switch(settling(record={"switch": replace(DECIDED, from_digest=digest(2))})).record
    assert record.numbered(2).stage is Stage.ACTIVE
    assert not record.numbered(2).retiring


# --- where a rollback leads ---

BAD = Hold(digest(2), "5xx", NOW, Cause.ROLLED_BACK, Lift.PASSED_OVER)
LAST_GOOD = {
    "the one that served last": (world(archived(1), legacy(2), active(3)), 2),
    "not the newest number": (
        world(legacy(1, arrived=3), archived(2, arrived=2), active(3, arrived=4)),
        1,
    ),
    "none that is on hold": (
        world(archived(1), legacy(2), active(3), record={"holds": (Hold(digest(2), "", NOW),)}),
        1,
    ),
    "none that was rolled back from": (world(archived(1), legacy(2), active(3), record={"past_holds": (BAD,)}), 1),
    "none that never served": (world(candidate(2), active(3), wants=2), None),
    "none whose snapshot is lost": (
        world(
            archived(1),
            replace(legacy(2), snapshot=replace(legacy(2).snapshot, text="")),
            active(3),
            sets=(pods(3),),
        ),
        1,
    ),
    "none where there is only one": (world(active(1)), None),
}


@pytest.mark.parametrize("name", LAST_GOOD)
def test_last_good_version_is(name):
    state, number = LAST_GOOD[name]
    assert (state.rollback_target.number if state.rollback_target else None) == number


# --- the Services ---

THEIRS = service("web", 1, ours=False, owner="theirs")
S1, S2 = short(digest(1)), short(digest(2))
ROUTED = {
    "nothing while both are right": (world(active(1)), []),
    "a missing active Service": (
        world(active(1), observed={"active_service": None}),
        [f"apply the active Service web -> {S1}: it does not exist"],
    ),
    "a wiped selector": (
        world(active(1), observed={"active_service": service("web", 0)}),
        [f"lead the active Service web back to {S1}: somebody changed its selector"],
    ),
    "a selector that somebody pointed elsewhere": (
        world(active(1), candidate(2), observed={"active_service": service("web", 2)}),
        [f"lead the active Service web back to {S1}: somebody changed its selector"],
    ),
    "ports that differ from Git": (
        world(active(1), observed={"active_service": service("web", 1, drifted=True)}),
        [f"apply the active Service web -> {S1}: it differs from what Git asks for"],
    ),
    "a wiped selector and ports that differ, the selector first": (
        world(active(1), observed={"active_service": service("web", 0, drifted=True)}),
        [
            f"lead the active Service web back to {S1}: somebody changed its selector",
            f"apply the active Service web -> {S1}: it differs from what Git asks for",
        ],
    ),
    "somebody else's active Service is left alone": (world(active(1), observed={"active_service": THEIRS}), []),
    "somebody else's is left alone, also with a switch decided": (
        world(active(1), candidate(2), observed={"active_service": THEIRS}, record={"switch": DECIDED}),
        [],
    ),
    "a switch to a version nobody knows is no write": (
        world(active(1), record={"switch": replace(DECIDED, to_digest=digest(9))}),
        [],
    ),
    "a switch": (
        world(active(1), candidate(2), names_=2, record={"switch": DECIDED}),
        [f"switch live traffic from v1 ({S1}) to v2 ({S2})"],
    ),
    "no active Service before anything serves": (world(rising(1)), []),
    "a missing preview Service": (
        world(active(1), observed={"preview_service": None}),
        [f"apply the preview Service web-preview -> {S1}: it does not exist"],
    ),
    "a preview that moves": (
        world(active(1), candidate(2), record={"preview": digest(2)}),
        [f"point the preview Service web-preview to {S2}"],
    ),
    "a preview that moves and differs": (
        world(
            active(1),
            candidate(2),
            record={"preview": digest(2)},
            observed={"preview_service": service("web-preview", 1, drifted=True)},
        ),
        [
            f"point the preview Service web-preview to {S2}",
            f"apply the preview Service web-preview -> {S2}: it differs from what Git asks for",
        ],
    ),
    "a preview of a version that nobody knows any more": (
        world(active(1), record={"preview": digest(9)}, observed={"preview_service": None}),
        [f"apply the preview Service web-preview -> {short(digest(9))}: it does not exist"],
    ),
    "a preview whose selector was wiped": (
        world(active(1), observed={"preview_service": service("web-preview", 0)}),
        [f"point the preview Service web-preview to {S1}"],
    ),
    "somebody else's preview Service is left alone": (
        world(active(1), candidate(2), record={"preview": digest(2)}, observed={"preview_service": THEIRS}),
        [],
    ),
    "no preview Service where none is asked for": (
        world(active(1), spec=manual(preview_service=None), observed={"preview_service": None}),
        [],
    ),
}


@pytest.mark.parametrize("name", ROUTED)
def test_route(name):
    state, said = ROUTED[name]
    assert [str(action) for action in (*switch_traffic(state), *keep_active(state), *keep_preview(state))] == said


def test_a_switch_compares_and_swaps_on_the_selector_it_was_decided_on():
    (move,) = (
        action
        for action in decided(world(active(1), candidate(2), names_=2, record={"preview": digest(2)})).actions
        if hasattr(action, "switch_kind")
    )
    assert move.expected_selector == service("web", 1).selector
    assert (move.needs_available, move.create) == (3, False)


def test_a_missing_active_service_is_created_by_the_switch():
    state = world(candidate(1), names_=1)
    moves = [action for action in decided(state).actions if hasattr(action, "switch_kind")]
    assert [(move.create, move.expected_selector) for move in moves] == [(True, ())]


def test_an_answer_that_breaks_an_invariant_is_not_given():
    state = world(active(1), candidate(2), names_=2, record={"switch": DECIDED}, sets=(pods(1), pods(2, 3, 1)))
    with pytest.raises(InvariantBroken, match="I1"):
        check(state, (*switch_traffic(state), *keep_active(state), *keep_preview(state)))


def test_what_traffic_is_about_to_move_to_is_not_made_smaller_and_what_is_left_may_be():
    state = world(
        active(1), legacy(2), candidate(3), names_=3, record={"switch": replace(DECIDED, to_digest=digest(3))}
    )
    moves = switch_traffic(state)
    assert [said.partition(":")[0] for said in violations(state, (*moves, smaller(3)))] == ["I2"]
    assert list(violations(state, (*moves, smaller(2)))) == []


def smaller(number: int) -> ScaleReplicaSet:
    return ScaleReplicaSet(digest(number), number, 3, 1, "bug")


ON_ITS_WAY = Switch(digest(1), digest(2), SwitchKind.PROMOTION, NOW)


def test_a_switch_that_is_not_wanted_any_more_is_withdrawn_and_the_services_say_so() -> None:
    """Who stands still between the record and the Service is refused when it goes on: the Service is another one."""
    state = decided(world(active(1), candidate(2), names_=1, record={"switch": ON_ITS_WAY}))
    assert (state.record.routing.switch, state.record.withdrawn) == (replace(ON_ITS_WAY, withdrawn=True), "5eed-1")
    assert [action for action in state.actions if isinstance(action, MarkService)] == [
        MarkService("web", service("web", 1).selector, "5eed-1")
    ]
    assert not [action for action in state.actions if isinstance(action, SwitchTraffic)]


def marked(number: int = 1, **changes: object) -> dict[str, object]:
    return {"active_service": service("web", number, **changes)}


def withdrawn(number: int | None = 1, names_: int = 1, **changes: object) -> World:
    """The switch from 1 to 2 is withdrawn; the Service selects ``number``."""
    record = {"switch": replace(ON_ITS_WAY, withdrawn=True), "withdrawals": 1}
    seen = {"active_service": None} if number is None else marked(number, **changes)
    return world(active(1), candidate(2), names_=names_, record=record, observed=seen)


ENDS = {
    "it may still be on its way": (withdrawn(), ["5eed-1"], False),
    "one of an earlier mark": (withdrawn(withdrawn="5eed-0"), ["5eed-1"], False),
    "somebody changed the selector meanwhile": (withdrawn(0), ["5eed-1"], False),
    "it can only come too late": (withdrawn(withdrawn="5eed-1"), [], True),
    "the Service is somebody else's by now": (withdrawn(ours=False), [], True),
    "there is no Service": (withdrawn(None), [], True),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_withdrawn_switch_ends_once_no_write_of_it_can_come_through(name: str) -> None:
    state, marks, ends = ENDS[name]
    assert (end_withdrawn(settle_switch(state)).record.routing.switch is None) is ends
    decision = decided(state)
    assert [action.withdrawn for action in decision.actions if isinstance(action, MarkService)] == marks
    assert decision.record.routing.traffic == digest(1)


def test_a_withdrawn_switch_that_came_through_before_the_mark_is_a_movement_and_is_taken_back() -> None:
    """Nobody can stop a request that is on its way; but each movement of traffic has its entry and its reason."""
    decision = decided(withdrawn(2))
    assert [entry.event for entry in decision.record.ledger] == [Event.PROMOTED, Event.HELD]
    assert decision.record.routing.switch
    assert (decision.record.routing.switch.to_digest, decision.record.routing.switch.switch_kind) == (
        digest(1),
        SwitchKind.ROLLBACK,
    )


def test_another_switch_is_decided_once_the_withdrawn_one_is_over() -> None:
    assert decided(withdrawn(names_=2)).record.routing.switch == replace(ON_ITS_WAY, withdrawn=True)
    over = decided(withdrawn(names_=2, withdrawn="5eed-1"))
    assert over.record.routing.switch
    assert not over.record.routing.switch.withdrawn
    assert [action.digest for action in over.actions if isinstance(action, SwitchTraffic)] == [digest(2)]


MARKS = {
    "nothing was withdrawn": (world(active(1), record={"withdrawals": 0}), []),
    "nothing was withdrawn since the record began anew: an older mark stays": (
        world(active(1), observed=marked(withdrawn="dead-2")),
        [],
    ),
    "nothing serves, and no switch is on its way": (
        world(rising(1), live=0, record={"withdrawals": 2}, observed=marked(0)),
        [],
    ),
    "it does not say so yet": (world(active(1), record={"withdrawals": 2}), ["5eed-2"]),
    "it says so": (world(active(1), record={"withdrawals": 2}, observed=marked(withdrawn="5eed-2")), []),
    "it says so of an earlier one": (
        world(active(1), record={"withdrawals": 2}, observed=marked(withdrawn="5eed-1")),
        ["5eed-2"],
    ),
    "it says so in a former life of the record": (
        world(active(1), record={"withdrawals": 2}, observed=marked(withdrawn="dead-2")),
        ["5eed-2"],
    ),
    "another switch is decided, and changes it": (
        world(active(1), candidate(2), record={"withdrawals": 2, "switch": ON_ITS_WAY}),
        [],
    ),
    "somebody changed its selector: that is repaired first": (
        world(active(1), record={"withdrawals": 2}, observed=marked(0)),
        [],
    ),
    "it is somebody else's": (world(active(1), record={"withdrawals": 2}, observed=marked(ours=False)), []),
    "there is none": (world(active(1), record={"withdrawals": 2}, observed={"active_service": None}), []),
}


@pytest.mark.parametrize("name", MARKS)
def test_mark_of_a_withdrawn_switch(name: str) -> None:
    state, marks = MARKS[name]
    assert [action.withdrawn for action in mark_services(state)] == marks


def decided_on(switch: Switch) -> dict[str, dict[str, Switch]]:
    return {"record": {"switch": switch}}


FORWARD_AGAIN = Switch(digest(2), digest(1), SwitchKind.PROMOTION, NOW)
BACK_AGAIN = replace(FORWARD_AGAIN, switch_kind=SwitchKind.ROLLBACK)
FIRST_OF_ALL = Switch("", digest(1), SwitchKind.FIRST, NOW)
SHOWS_1 = {"active_service": service("web", 1)}
CAME_FORWARD = {
    "the first": (world(candidate(1), observed=SHOWS_1, **decided_on(FIRST_OF_ALL)), (1,)),
    "one that is promoted": (settling(), (1, 2)),
    "one that is promoted again: it is the newest": (
        world(legacy(1), active(2), observed=SHOWS_1, **decided_on(FORWARD_AGAIN)),
        (2, 1),
    ),
    "one that traffic goes back to: that changes nothing": (
        world(legacy(1), active(2), observed=SHOWS_1, **decided_on(BACK_AGAIN)),
        (1, 2),
    ),
}


@pytest.mark.parametrize("name", CAME_FORWARD)
def test_in_which_order_versions_came_forward_after(name: str) -> None:
    state, order = CAME_FORWARD[name]
    assert settle_switch(state).record.routing.activations == tuple(map(digest, order))


def test_the_hold_of_a_rollback_says_who_made_it_and_why() -> None:
    (entry,) = decide_switch(world(legacy(1), active(2), names_=1)).record.ledger
    assert (entry.event, entry.by, entry.reason) == (Event.HELD, "Ada <ada@example.com>", "promote 1")

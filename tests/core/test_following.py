"""Decisions that people make in Git: a changed `primary.yaml`, a reverted target; and what ends an emergency."""

from dataclasses import replace

import pytest

from gitops_bg.core.desired import Missing
from gitops_bg.core.observed import GitView
from gitops_bg.core.record import Cause, Hold, Override
from gitops_bg.core.traffic.following import follow_primary, follow_target_revert, note_divergence, override
from tests.core.simulation import deployed, manual
from tests.core.worlds import (
    NOW,
    SECOND,
    active,
    archived,
    candidate,
    digest,
    legacy,
    primary,
    rising,
    source,
    target,
    world,
)


def held(*numbers: int) -> tuple[Hold, ...]:
    return tuple(Hold(digest(number), "5xx", NOW) for number in numbers)


def saw(number: int, **more) -> dict[str, object]:
    """The record saw this number in primary.yaml last."""
    return {"primary": digest(number), **more}


HOLDS = {
    "a promotion taken back before traffic moved is held": (
        world(active(1), rising(2), names_=1, record=saw(2)),
        {2},
    ),
    "a promotion overtaken by another is not": (
        world(active(1), rising(2), candidate(3), names_=3, record=saw(2)),
        set(),
    ),
    "a rollback taken back before traffic moved holds nothing": (
        world(legacy(1), active(2), names_=2, record=saw(1, holds=held(2))),
        set(),
    ),
    "a revert of the revert lifts the hold": (
        world(active(1), legacy(2), names_=2, record=saw(1, holds=held(2))),
        set(),
    ),
    "what primary.yaml goes on naming changes nothing": (
        world(active(1), legacy(2), names_=1, record=saw(1, holds=held(2))),
        {2},
    ),
    "a primary.yaml that was removed changes nothing": (
        world(active(1), legacy(2), desired={"primary": Missing.ABSENT}, record=saw(1, holds=held(2))),
        {2},
    ),
    "what a new record finds in primary.yaml is not on hold": (
        world(rising(1), names_=1, record={"primary": "", "holds": held(1)}),
        set(),
    ),
    "what a new record finds in primary.yaml puts nothing on hold": (
        world(active(1), rising(2), names_=1, record={"primary": ""}),
        set(),
    ),
}


@pytest.mark.parametrize("name", HOLDS)
def test_holds(name):
    state, numbers = HOLDS[name]
    record = follow_primary(state).record
    assert {hold.digest for hold in record.holds} == {digest(number) for number in numbers}


ROLLOUTS = {
    "a candidate goes on with its own": (world(active(1), candidate(2), names_=2, record=saw(1)), 2, False),
    "a superseded candidate begins a new one": (
        world(active(1), candidate(2, retiring=True), names_=2, wants=1, record=saw(1)),
        2,
        True,
    ),
    "a version promoted again begins a new one": (world(active(1), legacy(2), names_=2, record=saw(1)), 2, True),
    "an older version that served does not need one": (world(legacy(1), active(2), names_=1, record=saw(2)), 1, False),
    "an older version that never served does": (
        world(archived(1, activated_at=None), active(2), names_=1, record=saw(2)),
        1,
        True,
    ),
    "what is live does not need one": (world(active(1), names_=1), 1, False),
    "one that nobody knows is registered with one": (world(active(1), names_=2, wants=1, record=saw(1)), 2, True),
}


@pytest.mark.parametrize("name", ROLLOUTS)
def test_rollout_of_what_primary_names(name):
    state, number, is_new = ROLLOUTS[name]
    record = follow_primary(state).record
    assert (record.rollout > state.record.rollout) is is_new
    assert not record.numbered(number).retiring


# --- emergencies ---

BACK = Override(digest(2), digest(1), "5xx", "ada", NOW)
ENDS = {
    "not while main still names what was left": (world(active(1), legacy(2), names_=2), BACK, False),
    "not before traffic has arrived": (world(legacy(1), active(2), names_=1, record=saw(2)), BACK, False),
    "once main names where traffic went": (world(active(1), legacy(2), names_=1, record=saw(2)), BACK, True),
    "once main names a third version": (world(active(1), legacy(2), candidate(3), names_=3, record=saw(2)), BACK, True),
    "not when primary.yaml is removed": (
        world(active(1), legacy(2), desired={"primary": Missing.ABSENT}, record=saw(2)),
        BACK,
        False,
    ),
}


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("diverged", [True, False])
def test_an_override_ends(name, diverged):
    state, made, ends = ENDS[name]
    state = state.with_record(replace(state.record, override=replace(made, diverged=diverged)))
    record = follow_primary(state).record
    assert (record.override is None) is ends
    assert ("converged" in [entry.event.value for entry in record.ledger]) is (ends and diverged)


@pytest.mark.parametrize(
    ("names", "reason"),
    [(1, "primary.yaml follows live traffic again"), (3, "primary.yaml names another version")],
)
def test_the_ledger_says_how_a_divergence_ended(names, reason):
    diverged = replace(BACK, diverged=True)
    state = world(active(1), legacy(2), candidate(3), names_=names, record=saw(2, override=diverged))
    assert follow_primary(state).record.ledger[0].reason == reason


REFUSED = {"git": GitView(main_refused="protected branch")}
DIVERGED = {
    "main refuses the commit": (
        world(active(1), legacy(2), names_=2, observed=REFUSED, record={"override": BACK}),
        True,
    ),
    "main takes it": (world(active(1), legacy(2), names_=2, record={"override": BACK}), False),
    "traffic has not moved yet": (
        world(legacy(1), active(2), names_=2, observed=REFUSED, record={"override": BACK}),
        False,
    ),
    "the ledger knows already": (
        world(active(1), legacy(2), names_=2, observed=REFUSED, record={"override": replace(BACK, diverged=True)}),
        False,
    ),
    "there is no emergency": (world(active(1), observed=REFUSED), False),
}


@pytest.mark.parametrize("name", DIVERGED)
def test_ledger_says_diverged_when(name):
    state, said = DIVERGED[name]
    assert [entry.event.value for entry in note_divergence(state).record.ledger] == ["diverged"] * said


def test_an_override_to_where_git_and_traffic_are_is_none():
    state = world(active(1), legacy(2), names_=1)
    assert override(state, state.record.numbered(1), cause=Cause.ABORTED, reason="", by="").record.override is None


# --- a reverted target ---

REVERT = {"reverts": (source(2).commit,), "commit": "e" * 40}


def reverted(*versions, to: int = 1, **changes):
    """The target's newest commit says it reverts the one that brought version 2."""
    spec = replace(manual(), rollback_window_revisions=changes.pop("window", None))
    record, named = changes.pop("record", {}), changes.pop("primary", primary(2))
    desired = {"primary": named, "target": target(to, **{**REVERT, **changes})}
    return world(*versions, spec=spec, record=record, desired=desired)


REVERTS = {
    "marker and content: traffic goes back": (reverted(legacy(1), active(2)), 1),
    "also to one that is archived": (reverted(archived(1), active(2)), 1),
    "content without marker: never": (reverted(legacy(1), active(2), reverts=()), None),
    "a marker for another commit: never": (reverted(legacy(1), active(2), reverts=("d" * 40,)), None),
    "a marker with content that never served: never": (reverted(active(2), candidate(3), to=3), None),
    "a marker with content that nobody knows: never": (reverted(active(2), to=7), None),
    "content that is on hold: never": (
        reverted(legacy(1), active(2), record={"holds": held(1)}),
        None,
    ),
    "once carried out: not again": (
        reverted(legacy(1), active(2), record={"target_revert": "e" * 40}),
        None,
    ),
    "an active version whose commit nobody knows: never": (
        reverted(legacy(1), active(2, source=source(2, commit="")), reverts=("",)),
        None,
    ),
    "a newer version that served is not older": (reverted(active(2), legacy(3), to=3), None),
    "what main asks for already: it needs no emergency": (
        reverted(legacy(1), active(2), primary=primary(1), record=saw(1)),
        None,
    ),
    "within the window": (reverted(legacy(1), active(2), window=1), 1),
    "outside the window": (reverted(archived(0), legacy(1), active(2), to=0, window=1), None),
    "within a window of two": (reverted(archived(0), legacy(1), active(2), to=0, window=2), 0),
    "candidates do not count in the window": (
        reverted(archived(0), archived(1, activated_at=None), active(2), to=0, window=1),
        0,
    ),
}


@pytest.mark.parametrize("name", REVERTS)
def test_target_revert(name):
    state, number = REVERTS[name]
    made = follow_target_revert(state).record.override
    assert (made.to_digest if made else None) == (None if number is None else digest(number))


SEEN_AT_ONCE = {"a merge, then a revert of the target": (SECOND, "1"), "a revert, then a merge": (-SECOND, "2")}


@pytest.mark.parametrize("name", SEEN_AT_ONCE)
def test_the_later_of_two_decisions_counts_where_both_are_seen_at_once(name):
    after, live = SEEN_AT_ONCE[name]
    sim = deployed(manual())
    sim.push("2")
    sim.settle()
    brought = sim.target_source.commit
    sim.set_primary("2")
    sim.now += after
    sim.push("1", reverts=brought)
    sim.now -= after
    sim.settle()
    assert sim.live == live


def test_a_commit_without_a_date_overrules_a_revert_of_the_target():
    state = world(
        legacy(1),
        active(2),
        names_=2,
        desired={"target": target(1, **REVERT), "primary": primary(2, date=None)},
        record=saw(1),
    )
    assert follow_primary(state).record.target_revert == "e" * 40

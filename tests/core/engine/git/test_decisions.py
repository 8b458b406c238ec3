"""Decisions that people make in Git: a changed `primary.yaml`, a reverted target; and what ends an emergency."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.observed import GitView
from gitops_bg.core.model.statements import Hold, Override
from tests.core.records import overriding
from tests.core.worlds import NOW, active, archived, candidate, decided, digest, legacy, rising, world


def held(*numbers: int) -> tuple[Hold, ...]:
    return tuple(Hold(digest(number), "5xx", NOW) for number in numbers)


def saw(number: int, **more) -> dict[str, object]:
    """The record saw this number in primary.yaml last."""
    return {"primary": digest(number), **more}


HOLDS = {
    "a promotion taken back before traffic moved is held": (world(active(1), rising(2), names_=1, record=saw(2)), {2}),
    "a promotion overtaken by another is not": (
        world(active(1), rising(2), candidate(3), names_=3, record=saw(2)),
        set(),
    ),
    "a rollback taken back before traffic moved holds nothing": (
        world(legacy(1), active(2), names_=2, record=saw(1, holds=held(2))),
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
    record = decided(state).record
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
    record = decided(state).record
    before, after = state.record.numbered(number), record.numbered(number)
    assert (before is None or after.rollout > before.rollout) is is_new
    assert not after.retiring


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
    seen = state.record.with_part(replace(state.record.git, named=(digest(2),)))
    record = decided(state.with_record(overriding(seen, replace(made, diverged=diverged)))).record
    assert (record.override is None) is ends
    assert ("converged" in [entry.event.value for entry in record.ledger]) is (ends and diverged)


@pytest.mark.parametrize(
    ("names", "reason"), [(1, "primary.yaml follows live traffic again"), (3, "primary.yaml names another version")]
)
def test_the_ledger_says_how_a_divergence_ended(names, reason):
    diverged = replace(BACK, diverged=True)
    state = world(active(1), legacy(2), candidate(3), names_=names, record=saw(2, override=diverged))
    assert decided(state).record.ledger[0].reason == reason


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
    assert ("diverged" in [entry.event for entry in decided(state).record.ledger]) is said


def test_the_hold_on_a_promotion_that_was_taken_back_names_the_commit():
    (hold,) = decided(world(active(1), rising(2), names_=1, record=saw(2))).record.holds
    assert hold.reason == "its promotion was taken back by 00000001aa"

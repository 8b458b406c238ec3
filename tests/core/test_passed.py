"""What was promoted and taken back between two looks: primary.yaml ends where it was, and somebody decided twice."""

from dataclasses import replace

import pytest

from gitops_bg.core.record import Cause
from gitops_bg.core.traffic.following import asks_what_passed, follow_primary
from tests.core.simulation import automatic, deployed, manual, template
from tests.core.worlds import active, candidate, digest, legacy, primary, world

LATER = "f" * 40


def looked_again(*versions, passed=None, **changes):
    """The same version is named, by a later commit."""
    named = primary(changes.pop("names_", 1), commit=LATER)
    return world(*versions, desired={"primary": named, "passed": passed}, **changes)


@pytest.mark.parametrize("spec", [automatic(auto_promotion_seconds=600), manual()], ids=["automatic", "manual"])
@pytest.mark.parametrize("known", [True, False], ids=["known", "pushed since, too"])
def test_a_promotion_that_was_taken_back_between_two_looks_is_held(spec, known) -> None:
    """Found so: the agent promoted by itself what somebody had just taken back."""
    sim = deployed(spec)
    sim.push("2")
    if known:
        sim.settle()
    sim.branch = None
    sim.set_primary("2")
    sim.set_primary("1", "revert the promotion")
    sim.settle()
    sim.later(seconds=3600)
    sim.settle()
    assert (sim.live, sim.primary, sim.held, sim.branch) == ("1", "1", {"2"}, None)
    assert sim.record.held(template("2").digest).cause is Cause.TAKEN_BACK
    assert sim.recorded_moves() == [("", template("1").digest)]
    sim.set_primary("2")
    sim.settle()
    assert sim.live == "2", "who promotes it again is heard"


def test_what_else_changes_primary_yaml_holds_nothing() -> None:
    sim = deployed(automatic(auto_promotion_seconds=600))
    sim.push("2")
    sim.settle()
    sim.set_primary("1", "a comment")
    sim.settle()
    sim.later(seconds=601)
    sim.settle()
    assert (sim.live, sim.held) == ("2", set())


@pytest.mark.parametrize("seen", [True, False], ids=["promotion seen", "promotion not seen"])
def test_a_retry_that_is_older_than_the_revert_does_not_lift_its_hold(seen) -> None:
    """Found by exploration: retry, promotion and revert were read at once, and the retry was heard last."""
    sim = deployed(manual())
    sim.push("2")
    sim.settle()
    sim.pods_fail("2")
    sim.bad_tags.add("2")
    if seen:
        sim.set_primary("2")
        sim.settle()
    sim.retry()
    if not seen:
        sim.set_primary("2")
    sim.set_primary("1", "revert the promotion")
    sim.settle()
    assert (sim.live, sim.held, sim.record.retry) == ("1", {"2"}, 1)
    sim.retry()
    sim.settle()
    assert sim.held == set(), "one after it does"


def test_it_is_asked_only_where_the_same_is_named_by_another_commit() -> None:
    same = looked_again(active(1), candidate(2))
    record = same.record
    assert asks_what_passed(same.desired, record)
    assert not asks_what_passed(replace(same.desired, primary=primary(1)), record)
    assert not asks_what_passed(replace(same.desired, primary=primary(2)), record)
    assert not asks_what_passed(same.desired, replace(record, primary_by="")), "a record of the code of before"


CASES = {
    "a candidate": (looked_again(active(1), candidate(2), passed=(template("2"),)), {digest(2)}, LATER),
    "nothing": (looked_again(active(1), candidate(2), passed=()), set(), LATER),
    "what served before": (
        looked_again(legacy(1), active(2), names_=2, passed=(template("1"),)),
        set(),
        LATER,
    ),
    "what nobody knows": (looked_again(active(1), candidate(2), passed=(template("9"),)), set(), LATER),
    "nobody can tell: asked again": (looked_again(active(1), candidate(2)), set(), primary(1).changed_by.commit),
}


@pytest.mark.parametrize("name", CASES)
def test_what_passed(name) -> None:
    state, held, by = CASES[name]
    record = follow_primary(state).record
    assert {hold.digest for hold in record.holds} == held
    assert record.primary_by == by

"""What was promoted and taken back between two looks: primary.yaml ends where it was, and somebody decided twice."""

from dataclasses import replace

import pytest

from gitops_bg.core.desired import LedgerMemory
from gitops_bg.core.looks import Awaited
from gitops_bg.core.record import Cause, Hold, Lift, Record
from gitops_bg.core.status.memory import restore_memory
from gitops_bg.core.traffic.following import asks_what_passed, follow_primary
from gitops_bg.core.traffic.holds import lift_all
from gitops_bg.core.world import World
from tests.core.simulation import automatic, deployed, manual, template
from tests.core.worlds import NOW, active, candidate, digest, legacy, primary, target, world

LATER = "f" * 40


def looked_again(*versions, passed=None, **changes):
    """The same version is named, by a later commit."""
    named = primary(changes.pop("names_", 1), commit=LATER)
    before = {"primary_by": primary(1).changed_by.commit, **changes.pop("record", {})}
    return world(*versions, desired={"primary": named, "passed": passed}, record=before, **changes)


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


def rolled_back():
    """Version 2 was live, and its promotion was reverted."""
    sim = deployed(manual())
    sim.push("2")
    sim.settle()
    sim.set_primary("2")
    sim.settle()
    sim.set_primary("1", "revert the promotion")
    sim.settle()
    assert (sim.live, sim.held) == ("1", {"2"})
    return sim


@pytest.mark.parametrize("seen", [True, False], ids=["seen", "not seen"])
def test_a_promotion_says_that_its_version_is_wanted_whether_anybody_looked_or_not(seen) -> None:
    """Found by exploration: 2 stayed on hold, and the revert of the push of 3 was not followed."""
    sim = rolled_back()
    sim.set_primary("2")
    if seen:
        sim.settle()
    sim.push("3")
    sim.set_primary("3")
    sim.settle()
    assert (sim.live, sim.held) == ("3", set())
    sim.revert_target("2")
    sim.settle()
    assert (sim.live, sim.primary, sim.held) == ("2", "2", {"3"})


def test_a_lost_record_learns_from_the_ledger_since_when_main_answers_its_holds() -> None:
    sim = rolled_back()
    record = sim.record
    memory = LedgerMemory(holds=record.holds, active_digests=record.activations, primary_by=record.primary_by)
    restored = restore_memory(World(sim.spec, replace(sim.desired(), memory=memory), sim.observed(), Record(), sim.now))
    assert restored.record.primary_by == record.primary_by != ""


def test_what_the_target_itself_names_is_not_passed_over() -> None:
    """Somebody said so for it: a record that has forgotten the version does not forget that."""
    said = Hold(digest(2), "5xx", NOW, Cause.ROLLED_BACK, Lift.NAMED)
    other = replace(said, digest=digest(3))
    state = lift_all(world(active(1), desired={"target": target(2)}, record={"past_holds": (said, other)}))
    assert {hold.digest: hold.lifted for hold in state.record.past_holds} == {
        digest(2): Lift.NAMED,
        digest(3): Lift.PASSED_OVER,
    }


def test_it_is_asked_only_where_it_counts() -> None:
    same = looked_again(active(1), candidate(2))
    record = same.record
    held = (Hold(digest(3), "5xx", NOW),)
    onward = replace(same.desired, primary=primary(2))
    assert not asks_what_passed(onward, record), "a promotion, as most are"
    assert not asks_what_passed(onward, replace(record, traffic=digest(3)))
    assert asks_what_passed(replace(onward, primary=primary(2, commit=LATER)), replace(record, holds=held))
    back = replace(same.desired, primary=primary(1, commit=LATER))
    assert asks_what_passed(back, replace(record, primary=digest(2))), "one that was on its way is taken back"
    assert asks_what_passed(same.desired, record)
    assert not asks_what_passed(replace(same.desired, primary=primary(1)), record)
    assert not asks_what_passed(replace(same.desired, primary=primary(2)), record)
    assert not asks_what_passed(same.desired, replace(record, primary_by="")), "a record of the code of before"


HELD = Hold(digest(2), "5xx", NOW, Cause.ROLLED_BACK)
CASES = {
    "a candidate": (looked_again(active(1), candidate(2), passed=(template("2"),)), {digest(2)}, LATER),
    "nothing": (looked_again(active(1), candidate(2), passed=()), set(), LATER),
    "what served before": (
        looked_again(legacy(1), active(2), names_=2, passed=(template("1"),)),
        set(),
        LATER,
    ),
    "what nobody knows": (looked_again(active(1), candidate(2), passed=(template("9"),)), set(), LATER),
    "on hold, and another one took its place": (
        looked_again(active(1), legacy(2), names_=3, passed=(template("2"),), record={"holds": (HELD,)}),
        set(),
        LATER,
    ),
    "on hold by a decision that waits for a look": (
        looked_again(
            active(1),
            legacy(2),
            names_=3,
            passed=(template("2"),),
            record={"holds": (replace(HELD, awaits=Awaited()),)},
        ),
        {digest(2)},
        LATER,
    ),
    "on hold, and nobody can tell": (
        looked_again(active(1), legacy(2), names_=3, record={"holds": (HELD,)}),
        {digest(2)},
        primary(1).changed_by.commit,
    ),
    "nobody can tell: asked again": (looked_again(active(1), candidate(2)), set(), primary(1).changed_by.commit),
}


@pytest.mark.parametrize("name", CASES)
def test_what_passed(name) -> None:
    state, held, by = CASES[name]
    record = follow_primary(state).record
    assert {hold.digest for hold in record.holds} == held
    assert record.primary_by == by

"""Requests of operators name what their writer saw: late, repeated, or beside others, they do that and nothing else."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.record import MOST_ANSWERED, OperatorState
from gitops_bg.core.model.version import Stabilization
from tests.core.engine.analysis.notation import OPEN, PLAN, POST, analysed, analysing, measure
from tests.core.simulation import Simulation, automatic, deployed, manual, template
from tests.core.stories import ask, coming, merge, promote, promoted, push, wait
from tests.core.worlds import NOW, active, candidate, decided, digest, legacy, rising, world

ABORT, FULL = OperatorCommand.ABORT, OperatorCommand.PROMOTE_FULL
NEW, A_DAY = Stabilization(3, NOW), timedelta(days=1)


def proven(tag: str = "2") -> Simulation:
    """Version 2 serves and has proven itself; version 1 is still warm."""
    sim = deployed(manual(scale_down_delay_seconds=3600))
    promote(sim, tag)
    wait(sim, seconds=700)
    assert (sim.live, sim.held) == (tag, set())
    return sim


def asking(verb: OperatorCommand, *tags: str, live: str = "", number: str = "r") -> Request:
    about = tuple(template(tag).digest for tag in tags)
    return Request(number, verb, "ada", NOW, "because", about=about, live=template(live).digest if live else "")


# --- abort ---


def test_a_second_abort_of_the_same_candidate_leaves_live_traffic_alone():
    sim = proven()
    push(sim, "3")
    sim.ask(ABORT)
    ask(sim, ABORT)
    sim.later(seconds=5)
    sim.ask(ABORT)  # by a release that names nothing, too: there is nothing to name
    sim.settle()
    assert (sim.live, sim.held) == ("2", {"3"})


def test_a_second_abort_of_what_was_just_promoted_leaves_the_version_that_traffic_went_back_to():
    sim = proven()
    promote(sim, "3")
    sim.ask(ABORT)
    ask(sim, ABORT)
    assert (sim.live, sim.held) == ("2", {"3"})


@pytest.mark.parametrize("pushed", ["4", "2"])
def test_an_abort_that_meets_a_push_holds_the_version_it_names_and_moves_nothing(pushed):
    """The fix of what is aborted, or the push taken back, is seen in the same pass."""
    sim = proven()
    push(sim, "3")
    sim.ask(ABORT)
    push(sim, pushed)
    assert sim.live == "2"
    push(sim, "3")
    assert sim.held == {"3"}


def test_an_aborted_version_that_was_superseded_meanwhile_does_not_go_live_later_by_itself():
    sim = coming(automatic(auto_promotion_seconds=600))
    sim.ask(ABORT)
    push(sim, "3", "2")
    wait(sim, seconds=700)
    assert sim.live == "1"


TWO_SEEN = {"about": (digest(2),), "live": digest(2)}
NAMED = {
    "the live version that its writer saw live is left, also where it has proven itself since": (
        world(legacy(1), active(2)),
        TWO_SEEN,
        ({2}, 1),
    ),
    "one that its writer saw on its way, and that is live and not proven, is left": (
        world(legacy(1), active(2, stabilization=NEW)),
        {"about": (digest(2),), "live": digest(1)},
        ({2}, 1),
    ),
    "one that its writer saw on its way, and that has proven itself since, keeps serving": (
        world(legacy(1), active(2)),
        {"about": (digest(2),), "live": digest(1)},
        (set(), None),
    ),
    "an unproven version that it does not name keeps serving": (
        world(legacy(1), active(2, stabilization=NEW), candidate(3)),
        {"about": (digest(3),), "live": digest(1)},
        ({3}, None),
    ),
    "a candidate that it does not name goes on": (
        world(active(1), candidate(2), candidate(3)),
        {"about": (digest(2),), "live": digest(1)},
        ({2}, None),
    ),
    "a promotion on its way that it does not name goes on": (
        world(active(1), candidate(2), rising(3), names_=3),
        {"about": (digest(2),), "live": digest(1)},
        ({2}, None),
    ),
    "a version that traffic left since is held, and traffic stays": (
        world(active(1), legacy(2)),
        TWO_SEEN,
        ({2}, None),
    ),
    "a version that nobody knows any more: nothing happens": (
        world(legacy(1), active(2, stabilization=NEW)),
        {"about": (digest(7),), "live": digest(2)},
        (set(), None),
    ),
    "the version that a rollback under way leads to is not held": (
        world(legacy(1), active(2), names_=1, record={"primary": digest(2)}),
        {"about": (digest(1),), "live": digest(3)},
        ({2}, None),
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_an_abort_is_about_the_versions_it_names(name):
    state, said, (held, goes_to) = NAMED[name]
    request = Request("r", ABORT, "ada", NOW, "because", **said)
    record = decided(replace(state, observed=replace(state.observed, requests=(request,)))).record
    assert {hold.digest for hold in record.holds} == {digest(number) for number in held}
    override = record.override
    assert (override.to_digest if override else None) == (digest(goes_to) if goes_to else None)


# --- promote ---


def test_promote_full_applies_to_the_version_it_names_only():
    sim = analysing(pre=PLAN)
    asked = asking(FULL, "2", live="1")
    push(sim, "3")
    sim.requests = (asked,)
    sim.settle()
    assert (sim.live, sim.record.operator.promote_full) == ("1", None)


def test_promote_full_that_meets_a_push_leaves_the_analysis_of_what_serves():
    sim = analysed(manual(), post=PLAN)
    for tag in "23":
        push(sim, tag)
        if tag == "2":
            merge(sim)
    sim.ask(FULL)
    push(sim, "4")
    run = sim.record.run(POST)
    assert run is not None
    assert (sim.live, run.running) == ("2", True)


def test_promote_full_that_comes_after_the_switch_ends_the_analysis_of_the_version_it_names():
    sim = analysed(post=PLAN)
    sim.push("2")
    asked = asking(FULL, "2", live="1")
    sim.settle()
    assert (sim.live, sim.record.run(POST).running) == ("2", True)
    sim.requests = (asked,)
    sim.settle()
    assert (sim.live, sim.record.run(POST)) == ("2", None)


@pytest.mark.parametrize(("tag", "running"), [("2", True), ("3", False)])
def test_promote_measures_the_version_it_names_again(tag, running):
    sim = analysed(manual(), post=PLAN)
    promote(sim, "2")
    measure(sim, OPEN)
    assert sim.record.run(POST).paused
    sim.requests = (asking(OperatorCommand.PROMOTE, tag, live="2"),)
    sim.settle()
    assert sim.record.run(POST).running is running


# --- several, again, late ---


def test_requests_of_several_people_are_all_carried_out_in_their_order():
    sim = coming()
    sim.ask(ABORT)
    sim.ask(OperatorCommand.PROMOTE)
    assert len(sim.requests) == 2
    merge(sim)
    assert (sim.live, sim.held) == ("1", {"2"})
    assert all(sim.record.operator.has_answered(request.id) for request in sim.requests)


def test_an_answered_request_that_somebody_puts_back_is_not_carried_out_again():
    sim = promoted(manual(scale_down_delay_seconds=3600))
    sim.ask(OperatorCommand.ROLLBACK, 1)
    old = sim.requests
    sim.settle()
    promote(sim, "3")
    ask(sim, OperatorCommand.PROMOTE)
    sim.requests = old
    sim.settle()
    assert sim.live == "3"


def test_a_record_remembers_more_answered_requests_than_can_wait_at_once():
    state = OperatorState(("the last",))
    ids = [str(number) for number in range(MOST_ANSWERED - 1)]
    for each in ids:
        state = state.answering(each)
    assert all(map(state.has_answered, ["the last", *ids]))
    assert not state.answering("new").has_answered("the last")


@pytest.mark.parametrize(("late", "held"), [(timedelta(), {2}), (A_DAY, {2}), (A_DAY + timedelta(seconds=1), set())])
def test_a_request_that_waited_for_too_long_is_answered_and_not_carried_out(late, held):
    request = Request("r", ABORT, "ada", NOW - late, "because", about=(digest(2),), live=digest(1))
    state = world(active(1), candidate(2), observed={"requests": (request,)})
    record = decided(state).record
    assert record.operator.has_answered("r")
    assert {hold.digest for hold in record.holds} == {digest(number) for number in held}

"""What a closed and a reopened pull request do to the version that it offered (decision 31)."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.journal import AwaitsPoll, PullState, offer_of
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.spec import Retry
from gitops_bg.core.model.statements import Cause
from tests.core.simulation import Simulation, deployed, manual, template
from tests.core.stories import ask, merge, name, push, retry
from tests.core.worlds import active, candidate, decided, digest, world


def offered(tag: str = "2") -> Simulation:
    """Version 1 serves, version 2 is on the promotion branch and its pull request is open."""
    sim = deployed(manual())
    push(sim, tag)
    assert sim.branch == tag
    sim.pull_is(PullState.OPEN)
    sim.settle()
    return sim


def hold_on(sim: Simulation, tag: str):
    return sim.record.held(template(tag).digest)


def test_closing_the_pull_request_holds_what_it_offered_and_keeps_the_branch() -> None:
    sim = offered()
    sim.pull_is(PullState.CLOSED)
    sim.settle()
    hold = hold_on(sim, "2")
    assert (hold.cause, hold.reason) == (Cause.CLOSED, "ada closed pull request #7; reopening it lifts this, too")
    assert sim.branch == "2", "it can be reopened only while the branch is there"
    assert sim.events()[-1:] == ["held"]
    assert sim.entries()[-1].by == "ada"
    assert sim.live == "1"


def test_reopening_it_lifts_the_hold_and_the_version_comes_up_again() -> None:
    sim = offered()
    sim.pull_is(PullState.CLOSED)
    sim.settle()
    sim.pull_is(PullState.OPEN)
    sim.settle()
    assert (sim.held, sim.branch) == (set(), "2")
    sim.pull_is(PullState.CLOSED)
    sim.settle()
    assert sim.held == {"2"}, "and closing it once more says no once more"


def test_a_pull_request_that_offers_something_else_lifts_nothing() -> None:
    sim = offered()
    sim.pull_is(PullState.CLOSED)
    sim.settle()
    sim.pull_is(PullState.OPEN)
    sim.pull = replace(sim.pull, offer="v1:other@-#0")
    sim.settle()
    assert sim.held == {"2"}


def test_a_closing_counts_only_once_main_was_looked_at_since() -> None:
    """Or a version that somebody has just merged by hand, and whose branch is gone, would be held."""
    sim = offered()
    sim.pull_is(PullState.CLOSED)
    seen_at = AwaitsPoll((("simulation", sim.looks + 1),))
    sim.pull = replace(sim.pull, seen_at=seen_at)
    sim.step()
    assert sim.held == set()
    sim.step()
    assert sim.held == {"2"}


def test_what_was_promoted_before_the_closing_was_seen_is_not_held() -> None:
    sim = offered()
    sim.merge()
    sim.pull_is(PullState.CLOSED)
    sim.settle()
    assert (sim.live, sim.held) == ("2", set())
    assert "held" not in sim.events()


def test_who_promotes_what_was_closed_is_heard() -> None:
    sim = offered()
    sim.pull_is(PullState.CLOSED)
    sim.settle()
    name(sim, "2")
    assert (sim.live, sim.held) == ("2", set())


def test_a_closing_that_is_seen_after_a_retry_is_no_answer_to_it() -> None:
    sim = offered()
    before = sim.pull
    sim.retry()
    sim.pull = replace(before, state=PullState.CLOSED)
    sim.settle()
    assert sim.held == set()
    assert sim.branch == "2"


def test_a_retry_after_the_closing_offers_it_anew() -> None:
    sim = offered()
    sim.pull_is(PullState.CLOSED)
    sim.settle()
    retry(sim)
    assert (sim.held, sim.branch) == (set(), "2"), "the closed one is an answer to the offer before"


def test_while_a_newer_version_comes_up_the_branch_stays_for_its_pull_request() -> None:
    sim = offered()
    sim.push("3")
    sim.step()
    sim.step()
    assert sim.branch == "2", "deleting it would close the pull request"
    sim.settle()
    assert (sim.branch, sim.live) == ("3", "1")


def test_without_a_pull_request_what_is_superseded_is_withdrawn_at_once() -> None:
    sim = offered()
    sim.pull = None
    sim.push("3")
    sim.step()
    sim.step()
    assert sim.branch is None


def test_what_is_superseded_goes_where_its_successor_is_given_up() -> None:
    sim = offered()
    sim.push("3")
    sim.step()
    ask(sim, OperatorCommand.ABORT)
    assert sim.branch is None


def test_a_new_version_ends_the_hold_and_the_same_pushed_again_is_asked_for_anew() -> None:
    sim = offered()
    sim.pull_is(PullState.CLOSED)
    sim.settle()
    push(sim, "3")
    assert (sim.held, sim.branch) == (set(), "3")
    push(sim, "2")
    assert (sim.held, sim.branch) == (set(), "2"), "somebody asks for it in a new commit"


@pytest.mark.parametrize("verb", [OperatorCommand.ROLLBACK, OperatorCommand.ABORT])
def test_going_back_is_not_in_the_way_of_a_closed_pull_request(verb: OperatorCommand) -> None:
    sim = offered()
    merge(sim)
    push(sim, "3")
    sim.pull_is(PullState.CLOSED)
    ask(sim, verb)
    assert sim.live == "1"


def test_an_open_one_lifts_no_other_hold() -> None:
    sim = offered()
    sim.ask(OperatorCommand.ABORT)
    sim.pull_is(PullState.OPEN)
    sim.settle()
    assert hold_on(sim, "2").cause is Cause.ABORTED


def test_what_was_closed_may_still_be_gone_back_to_by_name() -> None:
    sim = offered()
    sim.pull_is(PullState.CLOSED)
    sim.settle()
    assert sim.record.past_holds == ()
    assert not Cause.CLOSED.is_bad


def closed_world(**changes):
    two = candidate(2)
    pull = changes.pop("pull", {})
    made = world(active(1), two)
    sim = offered()
    told = replace(sim.pull, state=PullState.CLOSED, offer=offer_of(two, made.spec), seen_at=AwaitsPoll((("a", 0),)))
    git = replace(made.observed.git, pull=replace(told, **pull))
    desired = replace(made.desired, looks=replace(made.desired.looks, process="a", seen=1, begun=1), **changes)
    return replace(made, observed=replace(made.observed, git=git), desired=desired)


CASES = {
    "closed": ({}, True),
    "nobody asked the forge in this process": ({"pull": {"seen_at": None}}, False),
    "its text does not say what it offers": ({"pull": {"offer": ""}}, False),
    "it offered another version": ({"pull": {"offer": "v1:ff@1#0"}}, False),
    "merged": ({"pull": {"state": PullState.MERGED}}, False),
    "main was rewritten": ({"history_rewritten": "f" * 40}, False),
}


@pytest.mark.parametrize(("changes", "held"), CASES.values(), ids=CASES.keys())
def test_when_a_closing_holds(changes, held) -> None:
    record = decided(closed_world(**changes)).record
    assert (record.held(digest(2)) is not None) == held


def test_an_offer_is_told_from_a_later_one_of_the_same_version() -> None:
    spec, two = manual(), candidate(2)
    again = replace(two, source=replace(two.source, commit="e" * 40))
    retried = replace(spec, retry=Retry(two.digest, 1, "ada"))
    other = replace(spec, retry=Retry(digest(1), 1, "ada"))
    assert offer_of(two, spec) == offer_of(two, other) == offer_of(replace(two, rollout=9), spec)
    assert len({offer_of(two, spec), offer_of(again, spec), offer_of(two, retried)}) == 3

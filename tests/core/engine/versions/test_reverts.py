"""A reverted push: what counts as one, its effect before and after traffic moved, what undoes it (gitops.md §3)."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.journal import NO_LOOKS, AwaitsPoll, PollCount, Targeted
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.statements import Cause, Hold, Says
from gitops_bg.core.model.version import short
from tests.core.engine.versions.reverting import ELSEWHERE, LATER, TWO, UNDOING, held, reverted
from tests.core.simulation import Simulation, automatic, deployed, manual, template
from tests.core.worlds import (
    EARLIER,
    NOW,
    active,
    archived,
    candidate,
    decided,
    digest,
    legacy,
    primary,
    rising,
    source,
)

TAKES_2 = Targeted(commits=("2" * 40,), taken_back=(template("2"),))
TAKING_BACK_2 = (source(3, landed=LATER - 1), TAKES_2)
ANSWERED = source(3, landed=2)
"""It came into main with the last change of primary.yaml."""
BACK_TO_2 = reverted(legacy(1), legacy(2), active(3), names_=2)
"""Main sends traffic back to version 2, the target to version 1."""
NAMES_3 = {"primary": primary(3)}
NOT_OF_2 = "which did not bring 2 (v2)"
CHANGED = "primary.yaml was changed after commit eeeeeeeeee, by 00000002aa"
BAD = {"past_holds": (Hold(digest(1), "5xx", NOW, Cause.ANALYSIS_FAILED, Says.PASSED_OVER),)}
CLEARED = {"past_holds": (replace(BAD["past_holds"][0], lifted=Says.CLEARED),)}
# Where traffic goes, or why it does not (`why_not_back`); empty where the target did not go back.
REVERTS = {
    "marker and content: traffic goes back": (reverted(*TWO), 1),
    "also to one that is archived": (reverted(archived(1), active(2)), 1),
    "one of several that it takes back": (reverted(*TWO, takes_back=(3, 2)), 1),
    "several reverts in a row, each of one of them": (reverted(*TWO, takes_back=(3,), before=(TAKING_BACK_2,)), 1),
    "one that was answered before it": (
        reverted(*TWO, takes_back=(3,), before=((ANSWERED, TAKES_2),)),
        NOT_OF_2,
    ),
    "one before it that nobody knows the place of": (
        reverted(*TWO, takes_back=(3,), before=((replace(ANSWERED, landed=None), TAKES_2),)),
        NOT_OF_2,
    ),
    "content without marker: never": (
        reverted(*TWO, takes_back=()),
        "commit eeeeeeeeee does not say that it reverts a commit",
    ),
    "a marker for another commit: never": (reverted(*TWO, takes_back=(7,)), NOT_OF_2),
    "a marker for what main never had: never": (
        reverted(*TWO, takes_back=(), named=("#12",), missing=("#12",)),
        "#12, which main did not have before it",
    ),
    "a marker with content that never served: never": (reverted(active(2), candidate(3), to=3), ""),
    "a marker with content that nobody knows: never": (reverted(active(2), to=7), ""),
    "content that is on hold: never": (reverted(*TWO, record=held(1)), "is on hold (unknown): 5xx"),
    "content that was bad: never": (
        reverted(*TWO, record=BAD),
        "1 (v1) was bad on 2026-01-01 (analysis-failed), and did not serve since: 5xx",
    ),
    "unless somebody cleared it": (reverted(*TWO, record=CLEARED), 1),
    "content on hold that never served: never": (
        reverted(active(2), candidate(3), to=3, record=held(3)),
        "never carried live traffic",
    ),
    "once carried out: not again": (
        reverted(*TWO, record={"target_revert": "e" * 40}),
        "was followed before, and somebody decided otherwise since",
    ),
    "a newer version that served is not older": (
        reverted(active(2), legacy(3), to=3),
        f"3 (v3) came forward after {short(digest(2))}, which serves now",
    ),
    "what main asks for already: it needs no emergency": (
        reverted(*TWO, desired={"primary": primary(1)}, record={"primary": digest(1)}),
        "",
    ),
    "a commit that nobody can read: never": (
        reverted(*TWO, targeted=((UNDOING, Targeted(unread="it is gone")),)),
        "nobody can tell what brought it: it is gone",
    ),
    "as nobody asked Git: never": (reverted(*TWO, targeted=()), ""),
    "within the window": (reverted(*TWO, window=1), 1),
    "outside the window": (
        reverted(archived(0), *TWO, to=0, window=1),
        "is outside rollbackWindow: 1 versions served between it and 2 (v2)",
    ),
    "within a window of two": (reverted(archived(0), *TWO, to=0, window=2), 0),
    "the window counts from the version that it leads to": (
        reverted(archived(0), archived(1), legacy(2), active(3), takes_back=(3,), window=2, desired=NAMES_3),
        1,
    ),
    "candidates do not count in the window": (
        reverted(archived(0), archived(1, activated_at=None), active(2), to=0, window=1),
        0,
    ),
    "primary.yaml was changed later": (
        reverted(*TWO, source=replace(UNDOING, landed=4)),
        CHANGED,
    ),
    "primary.yaml came with it: it says where traffic goes": (
        reverted(*TWO, source=replace(UNDOING, landed=5)),
        CHANGED,
    ),
    "an order that nobody knows is none": (
        reverted(*TWO, source=replace(UNDOING, landed=None)),
        "nobody can tell whether commit eeeeeeeeee is older than the last change of primary.yaml",
    ),
    "the very push that a way back, not begun, leads to: it is cancelled": (BACK_TO_2, 1),
    "another push of what a way back leads to: it goes on": (
        replace(BACK_TO_2, desired=replace(BACK_TO_2.desired, primary=replace(primary(2), source=source(9)))),
        "",
    ),
    "primary.yaml cannot be read": (
        reverted(*TWO, desired={"primary": Missing.UNREADABLE}),
        "primary.yaml is unreadable: nobody can tell whether it was changed after commit eeeeeeeeee",
    ),
    "an older author's date is no order": (reverted(*TWO, source=replace(UNDOING, date=EARLIER.replace(2020))), 1),
}


@pytest.mark.parametrize("name", REVERTS)
def test_target_revert(name):
    state, expected = REVERTS[name]
    made = decided(state).record.override
    assert (made.to_digest if made else None) == (digest(expected) if isinstance(expected, int) else None)


def test_a_revert_does_not_overrule_somebody_who_sent_traffic_elsewhere():
    three = (legacy(1), legacy(2), active(3))
    state = reverted(*three, takes_back=(2,), desired=NAMES_3, record={"override": ELSEWHERE})
    assert decided(state).record.override == ELSEWHERE


def promoted(*tags: str, spec=None) -> Simulation:
    sim = deployed(spec or manual())
    for tag in tags:
        sim.push(tag)
        sim.settle()
        sim.merge()
        sim.settle()
    return sim


SEEN_AT_ONCE = {"a merge, then a revert of the target": (True, "1"), "a revert, then a merge": (False, "2")}


@pytest.mark.parametrize("name", SEEN_AT_ONCE)
def test_the_later_in_main_of_two_decisions_counts_where_both_are_seen_at_once(name):
    """Whatever their dates are: rebase and cherry-pick keep those of the author."""
    revert_last, live = SEEN_AT_ONCE[name]
    sim = deployed(manual())
    brought, now = sim.push("2"), sim.now
    sim.settle()
    if revert_last:
        sim.set_primary("2")
    sim.now = now.replace(year=now.year + (-1 if revert_last else 1))
    sim.push("1", reverts=brought)
    sim.now = now
    if not revert_last:
        sim.set_primary("2")
    sim.settle()
    assert sim.live == live


def test_push_reverted_after_its_merge_and_before_traffic_moved_moves_nothing():
    sim = deployed(manual())
    sim.bad_tags.add("2")
    brought = sim.push("2")
    sim.settle()
    sim.set_primary("2")
    sim.settle()
    moves = list(sim.moves)

    sim.push("1", reverts=brought)
    sim.settle()

    assert (sim.live, sim.primary, sim.moves) == ("1", "1", moves)
    assert sim.held == {"2"}
    assert sim.record.override is None


def test_push_merge_and_revert_of_the_push_seen_at_once_move_nothing():
    sim = deployed(manual())
    moves = list(sim.moves)
    brought = sim.push("2")
    sim.set_primary("2")
    sim.push("1", reverts=brought)
    sim.settle()
    assert (sim.live, sim.primary, sim.moves) == ("1", "1", moves)


def test_reverts_of_two_pushes_seen_at_once_lead_to_the_last_content():
    """`git revert A..B`: only the last of its commits brings the final content."""
    sim = deployed(manual())
    second = sim.push("2")
    sim.settle()
    sim.merge()
    sim.settle()
    third = sim.push("3")
    sim.settle()
    sim.merge()
    sim.settle()
    sim.push("2", reverts=third)
    sim.push("1", reverts=second)
    sim.settle()
    assert (sim.live, len(sim.moves)) == ("1", 4)


def test_revert_of_the_second_push_of_a_version_goes_back():
    sim = promoted("2")
    sim.revert_target("1")
    sim.settle()
    again = sim.push("2")
    sim.settle()
    sim.retry()
    sim.settle()
    sim.merge()
    sim.settle()
    assert sim.live == "2"
    sim.push("1", reverts=again)
    sim.settle()
    assert (sim.live, sim.primary) == ("1", "1")


@pytest.mark.parametrize("spec", [manual(), automatic()], ids=["manual", "automatic"])
def test_revert_of_the_revert_of_a_push_lifts_the_hold_and_goes_through_the_gates(spec):
    sim = promoted("2", spec=spec)
    undoing = sim.revert_target("1")
    sim.settle()
    assert (sim.live, sim.held) == ("1", {"2"})

    redoing = sim.push("2", reverts=undoing)
    sim.settle()
    assert sim.held == set()
    sim.merge()
    sim.settle()
    assert sim.live == "2"

    sim.push("1", reverts=redoing)
    sim.settle()
    assert sim.live == "1"


def test_promotion_taken_back_after_the_revert_of_a_revert_is_held_where_all_of_it_is_seen_at_once():
    sim = promoted("2")
    undoing = sim.revert_target("1")
    sim.settle()
    sim.set_primary("2")
    sim.push("2", reverts=undoing)
    sim.set_primary("1")
    sim.settle()
    assert (sim.live, sim.held, sim.branch) == ("1", {"2"}, None)


def test_revert_of_a_revert_lifts_its_hold_once():
    """What is on hold for another reason later stays so, as long as nobody says anything new."""
    sim = promoted("2")
    undoing = sim.revert_target("1")
    sim.settle()
    sim.push("2", reverts=undoing)
    sim.settle()
    assert sim.held == set()
    sim.ask(OperatorCommand.ABORT)
    sim.settle()
    assert sim.held == {"2"}


def test_revert_of_an_ordinary_push_lifts_no_hold():
    state = reverted(active(1), legacy(2), to=2, takes_back=(1,), desired={"primary": primary(1)}, record=held(2))
    assert decided(state).record.holds == state.record.holds


def test_rollback_by_an_operator_is_not_undone_by_the_revert_that_came_before_it():
    sim = promoted("2")
    sim.revert_target("1")
    sim.settle()
    sim.reachable = False
    sim.ask(OperatorCommand.ROLLBACK, 2, force=True)
    sim.settle()
    sim.reachable = True
    sim.settle()
    assert sim.live == "2"


REVERT_OF_REVERT = source(2, commit="e" * 40, landed=6)
IN_ORDER = {
    "before a change of primary.yaml that is news: it lifts the hold of before": (5, 7, "f" * 40, set()),
    "before one that was followed: its hold is a later decision": (5, 7, "", {2}),
    "after it: it lifts its hold": (8, 7, "", set()),
}


@pytest.mark.parametrize("name", IN_ORDER)
def test_revert_of_a_revert_lifts_no_hold_of_a_later_change_of_primary_yaml(name: str) -> None:
    """Found so: a promotion that the agent itself had taken back was offered again, for an older revert of a revert."""
    landed, changed, seen, held_after = IN_ORDER[name]
    state = reverted(
        active(1),
        candidate(2),
        to=2,
        takes_back=(1,),
        source=replace(REVERT_OF_REVERT, landed=landed),
        reverts=("d" * 40,),
        desired={"primary": primary(1, landed=changed)},
        record={**held(2), "target_revert": "d" * 40, **({"primary_by": seen} if seen else {})},
    )
    after = decided(state).record
    assert {hold.digest for hold in after.holds} == {digest(number) for number in held_after}


AWAITED = {
    "the first look after the abort shows it: it is no answer": (PollCount("agent", 4, 4), {2}),
    "it came after that look": (None, set()),
}


@pytest.mark.parametrize("name", AWAITED)
def test_revert_of_a_revert_that_nobody_had_seen_does_not_lift_the_hold_of_an_abort(name: str) -> None:
    """Found so by exploration: it was let in before somebody aborted, and was taken for an answer to that."""
    looks, held_after = AWAITED[name]
    hold = Hold(digest(2), "5xx", NOW, Cause.ABORTED, awaits=AwaitsPoll((("agent", 3),)) if looks else None)
    state = reverted(
        active(1),
        legacy(2),
        to=2,
        takes_back=(1,),
        source=replace(REVERT_OF_REVERT, landed=8),
        reverts=("d" * 40,),
        desired={"primary": primary(1, landed=7), "looks": looks or NO_LOOKS},
        record={"holds": (hold,), "target_revert": "d" * 40},
    )
    after = decided(state).record
    assert {hold.digest for hold in after.holds} == {digest(number) for number in held_after}


@pytest.mark.parametrize(("takes_back", "noted"), [((2,), "e" * 40), ((), "")])
def test_a_later_decision_about_traffic_overrules_the_revert_that_the_target_says(takes_back, noted) -> None:
    """One that says nothing is not noted: its own revert would be taken for the revert of a revert."""
    back = Request("1", OperatorCommand.ROLLBACK, "ada", NOW, "5xx", to_version=1, live=digest(2))
    after = decided(reverted(*TWO, takes_back=takes_back, observed={"requests": (back,)})).record
    assert after.override.by == "ada"
    assert after.git.target_revert == noted


HELD_AT_ONCE = {
    "what serves": (reverted(*TWO), {2}),
    "that, and what main named, while traffic has not followed": (
        reverted(legacy(1), active(2), rising(3), takes_back=(2, 3), desired={"primary": primary(3)}, names_=3),
        {2, 3},
    ),
    "not a version that was to be gone back to: nothing speaks against it": (BACK_TO_2, {3}),
}


@pytest.mark.parametrize("name", HELD_AT_ONCE)
def test_revert_holds(name: str) -> None:
    state, numbers = HELD_AT_ONCE[name]
    record = decided(state).record
    assert {hold.digest for hold in record.holds} == {digest(number) for number in numbers}
    assert record.git.target_revert == "e" * 40
    assert record.override.to_digest == digest(1)
    assert record.override.awaits is None, "whatever comes later in main is newer"
    left = short(state.desired_digest)
    assert record.override.reason == f"eeeeeeeeee reverts the target commit that brought {left}"


def test_the_end_of_a_hold_names_the_revert_of_the_revert() -> None:
    state = reverted(
        active(1),
        legacy(2),
        to=2,
        takes_back=(1,),
        reverts=("d" * 40,),
        desired={"primary": primary(1)},
        record={**held(2), "target_revert": "d" * 40},
    )
    (entry,) = [each for each in decided(state).record.ledger if each.event == "hold-lifted"]
    assert (entry.event, entry.reason) == ("hold-lifted", "eeeeeeeeee reverts the revert of its push")
